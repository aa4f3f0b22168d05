//! The digest of the evidence: all that the finding can depend on besides the rules.

use firstfault_model::canonical::{Digester, to_canonical_json};
use firstfault_model::hit::{Hit, Stamp};
use firstfault_model::source::Trust;
use firstfault_model::stream::Stream;
use firstfault_model::time::Timestamp;

use crate::case::Case;

/// Digest of a case's canonical evidence. Folders, order of arrival and threads are not in it.
#[must_use]
pub fn evidence_digest(case: &Case) -> String {
    let mut digester = Digester::new("firstfault.evidence/1");
    match to_canonical_json(&case.context.document) {
        Ok(json) => digester.part(json.as_bytes()),
        // A number that canonical JSON has no form for still makes a difference.
        Err(_) => digester.part(format!("{:?}", case.context.document).as_bytes()),
    }
    digester.part(case.collector.as_bytes());
    optional(&mut digester, case.attempt.map(u64::from));
    digester.number(case.streams.len() as u64);
    for stream in &case.streams {
        of_stream(&mut digester, stream);
    }
    digester.number(case.hits.len() as u64);
    for hit in &case.hits {
        of_hit(&mut digester, hit);
    }
    digester.number(case.marks.len() as u64);
    for mark in &case.marks {
        digester.part(mark.probe.as_bytes());
        for number in [
            Some(u64::from(mark.completion)),
            Some(u64::from(mark.at.stream)),
            Some(mark.at.offset),
            mark.step,
            mark.step_ms,
        ] {
            optional(&mut digester, number);
        }
        of_stamp(&mut digester, mark.time);
    }
    digester.number(case.unknown.len() as u64);
    for line in &case.unknown {
        digester.number(u64::from(line.at.stream));
        digester.number(line.at.offset);
        digester.number(line.line_number);
        optional(&mut digester, line.behind.map(u64::from));
        digester.part(line.text.as_bytes());
        digester.part(line.node.as_deref().unwrap_or("\0").as_bytes());
        of_stamp(&mut digester, line.time);
    }
    digester.number(case.limits.len() as u64);
    for limit in &case.limits {
        digester.part(limit.what.as_bytes());
        digester.number(limit.cap);
        digester.number(limit.dropped);
    }
    digester.number(case.not_read.len() as u64);
    for skipped in &case.not_read {
        digester.part(skipped.path.as_bytes());
        digester.part(skipped.reason.as_bytes());
    }
    digester.number(case.plugins.len() as u64);
    for plugin in &case.plugins {
        for part in [&plugin.name, &plugin.version, &plugin.digest, &plugin.status] {
            digester.part(part.as_bytes());
        }
    }
    digester.finish()
}

fn optional(digester: &mut Digester, number: Option<u64>) {
    digester.number(u64::from(number.is_some()));
    digester.number(number.unwrap_or(0));
}

fn time(digester: &mut Digester, time: Option<Timestamp>) {
    optional(digester, time.map(|t| t.0.cast_unsigned()));
}

fn of_stamp(digester: &mut Digester, stamp: Option<Stamp>) {
    time(digester, stamp.map(|s| s.time));
    digester.number(stamp.map_or(0, |s| s.uncertainty.cast_unsigned()));
    digester.part(stamp.map_or("", |s| s.source.name()).as_bytes());
}

fn of_stream(digester: &mut Digester, stream: &Stream) {
    let name = &stream.name;
    let trust = match stream.trust {
        Trust::Unverified => "unverified",
        Trust::Workload => "workload",
        Trust::Host => "host",
    };
    for part in [name.source.name(), name.node.as_deref().unwrap_or("\0"), &name.name, trust] {
        digester.part(part.as_bytes());
    }
    optional(digester, name.rank.map(u64::from));
    let stats = &stream.stats;
    let flags = u64::from(stats.last_assumed) | u64::from(stats.kernel_lines) << 1;
    for number in [
        stats.lines,
        stats.bytes,
        stats.matched,
        stats.dropped,
        stats.loss_markers,
        u64::from(stats.behind_last),
        flags,
    ] {
        digester.number(number);
    }
    time(digester, stats.first);
    time(digester, stats.last);
    digester.part(stats.error.as_deref().unwrap_or("").as_bytes());
}

fn of_hit(digester: &mut Digester, hit: &Hit) {
    for number in [
        u64::from(hit.signature),
        u64::from(hit.first.stream),
        hit.first.offset,
        u64::from(hit.last.stream),
        hit.last.offset,
        hit.count,
        hit.line_number,
        u64::from(hit.cut) | u64::from(hit.kernel) << 1,
    ] {
        digester.number(number);
    }
    digester.part(hit.text.as_bytes());
    let place = hit.place.attributes();
    digester.number(place.len() as u64);
    for (key, value) in &place {
        digester.part(key.as_bytes());
        digester.part(value.as_bytes());
    }
    digester.number(hit.captures.len() as u64);
    for (key, value) in &hit.captures {
        digester.part(key.as_bytes());
        digester.part(value.as_bytes());
    }
    time(digester, hit.not_after.map(|s| s.time));
    of_stamp(digester, hit.first_time);
    of_stamp(digester, hit.last_time);
}
