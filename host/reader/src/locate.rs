//! From what a line says of its writer to a place. Names of different kinds meet only through a recorded map.

use std::collections::BTreeMap;

use firstfault_model::context::ExecutionContext;
use firstfault_model::place::Place;
use firstfault_model::stream::StreamName;

use crate::prefix::Peeled;

/// The place of a line: the stream's, refined by its prefixes and by what the pattern captured.
#[must_use]
pub fn place(
    stream: &StreamName,
    peeled: &Peeled,
    rules: &BTreeMap<String, String>,
    captures: &BTreeMap<String, String>,
    context: &ExecutionContext,
) -> Place {
    let mut place = Place::default();
    let mut captured_local = None;
    for (field, capture) in rules {
        let Some(value) = captures.get(capture).filter(|v| !v.is_empty()) else { continue };
        if field == "local_rank" {
            captured_local = value.parse::<u32>().ok();
        } else {
            // A value that is not of its kind is left out: the line then says less, not something else.
            _ = place.set(field, value);
        }
    }
    place.node = match place.node.take() {
        Some(named) => Some(node_name(&named, context)),
        None => writer_node(stream, peeled, context),
    };
    if place.rank.is_none() {
        let local = captured_local.or(peeled.identity.local_rank);
        let mapped = local.and_then(|l| {
            let node = context.node(place.node.as_deref()?)?;
            node.ranks.get(l as usize).copied()
        });
        let lone_group_rank = peeled.group_rank.filter(|_| local.is_none());
        // A captured local rank is another process's: the writer is its launcher.
        place.rank = if captured_local.is_some() {
            mapped
        } else {
            peeled.identity.rank.or(stream.rank).or(mapped).or(lone_group_rank)
        };
    }
    if place.node.is_none() {
        place.node = place.rank.and_then(|r| context.node_of_rank(r)).map(|n| n.name.clone());
    }
    place
}

fn writer_node(stream: &StreamName, peeled: &Peeled, context: &ExecutionContext) -> Option<String> {
    let host = peeled.identity.host.as_deref();
    let label = peeled.identity.label.as_deref();
    let by_rank = || peeled.identity.rank.and_then(|r| context.node_of_rank(r)).map(|n| n.name.clone());
    host.and_then(|h| context.node_named(h))
        // Only the context makes a host of what stands before a colon.
        .or_else(|| label.and_then(|l| context.node_named(l)))
        .map(str::to_owned)
        .or_else(by_rank)
        .or_else(|| stream.node.clone())
        .or_else(|| host.map(|h| node_name(h, context)))
}

/// The scheduler's name of a node that a line names; the line's own, where the context does not know it.
#[must_use]
pub fn node_name(named: &str, context: &ExecutionContext) -> String {
    context.node_named(named).unwrap_or(named).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prefix::peel;
    use firstfault_model::source::Source;

    fn context() -> ExecutionContext {
        ExecutionContext::parse(
            r#"{"nodes": [{"name": "n1", "ranks": [8, 9]}, {"name": "n2", "ranks": [10, 11]}]}"#,
        )
        .unwrap()
    }

    fn stream(node: Option<&str>) -> StreamName {
        StreamName { source: Source::App, node: node.map(str::to_owned), name: "x".into(), rank: None }
    }

    fn of(line: &str, node: Option<&str>) -> (Option<String>, Option<u32>) {
        let place =
            place(&stream(node), &peel(line.as_bytes()), &BTreeMap::new(), &BTreeMap::new(), &context());
        (place.node, place.rank)
    }

    #[test]
    fn local_ranks_need_a_node_to_become_global() {
        assert_eq!(of("[default1]:x", Some("n1")), (Some("n1".into()), Some(9)));
        assert_eq!(of("[default1]:x", None), (None, None));
    }

    #[test]
    fn a_global_rank_tells_its_node() {
        assert_eq!(of("[rank11]: x", None), (Some("n2".into()), Some(11)));
        assert_eq!(of("[rank11]: x", Some("n1")), (Some("n2".into()), Some(11)));
    }

    #[test]
    fn a_launcher_that_names_a_local_rank_speaks_of_another_process() {
        let rules = BTreeMap::from([("local_rank".to_owned(), "local".to_owned())]);
        let captures = BTreeMap::from([("local".to_owned(), "1".to_owned())]);
        let place = place(&stream(Some("n2")), &peel(b"[rank10]: failed"), &rules, &captures, &context());
        assert_eq!((place.node.as_deref(), place.rank), (Some("n2"), Some(11)));
    }
}
