//! The digest of the evidence: all that the finding can depend on besides the rules.

use firstfault_model::canonical::{Digester, to_canonical_json};

use crate::case::Case;

/// Digest of a case's canonical evidence. Folders, order of arrival and threads are not in it.
#[must_use]
pub fn evidence_digest(case: &Case) -> String {
    let mut digester = Digester::new("firstfault.evidence/1");
    let json = to_canonical_json(&case.context.document).unwrap_or_default();
    digester.part(json.as_bytes());
    digester.number(case.streams.len() as u64);
    for stream in &case.streams {
        let name = &stream.name;
        for part in [name.source.name(), name.node.as_deref().unwrap_or("\0"), &name.name] {
            digester.part(part.as_bytes());
        }
        digester.part(format!("{:?} {:?}", name.rank, stream.trust).as_bytes());
        let stats = &stream.stats;
        for number in [stats.lines, stats.bytes, stats.matched, stats.dropped, stats.loss_markers] {
            digester.number(number);
        }
        digester.part(stats.error.as_deref().unwrap_or("").as_bytes());
    }
    digester.number(case.hits.len() as u64);
    for hit in &case.hits {
        for number in
            [u64::from(hit.first.stream), hit.first.offset, hit.last.offset, hit.count, hit.line_number]
        {
            digester.number(number);
        }
        digester.part(hit.text.as_bytes());
        for (key, value) in hit.place.attributes() {
            digester.part(key.as_bytes());
            digester.part(value.as_bytes());
        }
        for (key, value) in &hit.captures {
            digester.part(key.as_bytes());
            digester.part(value.as_bytes());
        }
        for stamp in [hit.first_time, hit.last_time] {
            digester.number(stamp.map_or(u64::MAX, |s| s.time.0.cast_unsigned()));
            digester.number(stamp.map_or(0, |s| s.uncertainty.cast_unsigned()));
            digester.part(stamp.map_or("", |s| s.source.name()).as_bytes());
        }
    }
    for mark in &case.marks {
        digester.part(format!("{mark:?}").as_bytes());
    }
    for limit in &case.limits {
        digester.part(format!("{limit:?}").as_bytes());
    }
    for skipped in &case.not_read {
        digester.part(skipped.path.as_bytes());
        digester.part(skipped.reason.as_bytes());
    }
    for plugin in &case.plugins {
        for part in [&plugin.name, &plugin.version, &plugin.digest, &plugin.status] {
            digester.part(part.as_bytes());
        }
    }
    digester.finish()
}
