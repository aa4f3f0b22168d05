//! What was seen of each source.

use std::collections::{BTreeMap, BTreeSet};

use firstfault_model::diagnosis::{Coverage, CoverageStatus, Window};
use firstfault_model::ranges::format_nodes;
use firstfault_model::source::Source;
use firstfault_model::stream::Stream;
use firstfault_model::time::HOUR;

use crate::case::Case;

/// Most errors listed for one source.
const MAX_ERRORS: usize = 8;

/// Coverage by source: those that were read, and those that nobody asked for.
#[must_use]
pub fn coverage(case: &Case) -> Vec<Coverage> {
    let mut by_source: BTreeMap<&Source, Vec<&Stream>> = BTreeMap::new();
    for stream in &case.streams {
        by_source.entry(&stream.name.source).or_default().push(stream);
    }
    let usual = [Source::Kernel, Source::FabricManager, Source::Scheduler, Source::App, Source::Metric];
    let unstated = by_source.contains_key(&Source::Unstated);
    for source in &usual {
        // A file of no stated kind may be the job's output.
        if !(unstated && *source == Source::App) {
            by_source.entry(source).or_default();
        }
    }
    by_source.into_iter().map(|(source, streams)| one(case, source, &streams)).collect()
}

fn one(case: &Case, source: &Source, streams: &[&Stream]) -> Coverage {
    let per_node = matches!(
        source,
        Source::Kernel | Source::App | Source::Syslog | Source::Slurmd | Source::FabricManager
    );
    let expected: Vec<&str> =
        if per_node { case.context.nodes.iter().map(|n| n.name.as_str()).collect() } else { Vec::new() };
    let seen: BTreeSet<&str> =
        streams.iter().filter(|s| s.stats.lines > 0).filter_map(|s| s.name.node.as_deref()).collect();
    let missing: Vec<&str> = expected.iter().copied().filter(|n| !seen.contains(n)).collect();
    let strangers = seen.iter().any(|n| !case.context.nodes.is_empty() && case.context.node(n).is_none());
    let sum = |of: fn(&Stream) -> u64| streams.iter().map(|s| of(s)).sum::<u64>();
    let lines = sum(|s| s.stats.lines);
    let lossy = sum(|s| s.stats.dropped + s.stats.loss_markers) > 0;
    let mut errors: Vec<String> = streams
        .iter()
        .filter_map(|s| s.stats.error.as_ref().map(|e| format!("{}: {e}", s.name.name)))
        .collect();
    let failed = errors.len();
    if errors.len() > MAX_ERRORS {
        errors.truncate(MAX_ERRORS);
        errors.push(format!("and {} more", failed - MAX_ERRORS));
    }
    let status = if streams.is_empty() {
        CoverageStatus::NotConfigured
    } else if failed == streams.len() {
        CoverageStatus::Failed
    } else if lines == 0 {
        CoverageStatus::Empty
    } else if failed > 0 || lossy || !missing.is_empty() {
        CoverageStatus::Partial
    } else {
        CoverageStatus::Ok
    };
    let document = &case.context.document;
    let asked =
        (!streams.is_empty() && (document.start.is_some() || document.end.is_some())).then(|| Window {
            from: document.start.map(|t| if *source == Source::Kernel { t.shifted(-24 * HOUR) } else { t }),
            to: document.end.map(|t| t.shifted(HOUR / 4)),
        });
    Coverage {
        collector: if streams.is_empty() { String::new() } else { case.collector.clone() },
        source: source.name().to_owned(),
        nodes_expected: u32::try_from(expected.len()).unwrap_or(u32::MAX),
        nodes_seen: u32::try_from(seen.len()).unwrap_or(u32::MAX),
        nodes_missing: if streams.is_empty() { String::new() } else { format_nodes(missing) },
        status,
        window_asked: asked,
        first: streams.iter().filter_map(|s| s.stats.first).min(),
        last: streams.iter().filter_map(|s| s.stats.last).max(),
        lines,
        bytes: sum(|s| s.stats.bytes),
        matched: sum(|s| s.stats.matched),
        dropped: sum(|s| s.stats.dropped),
        loss_markers: sum(|s| s.stats.loss_markers),
        join: if strangers { "unmatched" } else { "ok" }.to_owned(),
        errors,
    }
}
