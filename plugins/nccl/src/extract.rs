//! From hits to events, one each. The captures of the signatures hold all that is needed.

use firstfault_plugin::{Event, Facts, Hit, get};

/// Events of a batch.
#[must_use]
pub fn events(hits: &[Hit]) -> Vec<Event> {
    (0_u32..).zip(hits).filter_map(|(index, hit)| event(index, hit)).collect()
}

fn event(index: u32, hit: &Hit) -> Option<Event> {
    let (mut place, mut facts) = (Facts::new(), Facts::new());
    let symptom = match hit.signature.as_str() {
        "watchdog_timeout" => watchdog_timeout(hit, &mut facts),
        "counters" => counters(hit, &mut facts),
        "ib_completion" => completion(hit, &mut place, &mut facts),
        "ib_async" => ib_async(hit, &mut place, &mut facts)?,
        "peer_closed" => {
            facts.set_some("peer_node", capture(hit, "peer").map(host));
            "nccl.peer_closed"
        }
        _ => return None,
    };
    Some(Event { hits: vec![index], symptom: symptom.to_owned(), place: place.into(), facts: facts.into() })
}

fn watchdog_timeout(hit: &Hit, facts: &mut Facts) -> &'static str {
    for key in ["op", "group"] {
        facts.set_some(key, capture(hit, key));
    }
    for key in ["seq", "numel_in", "numel_out", "timeout_ms"] {
        facts.set_some(key, number(hit, key));
    }
    // It waited at least the time-out, also where the line is cut before it says how long.
    facts.set_some("before_ms", number(hit, "ran_ms").or_else(|| number(hit, "timeout_ms")));
    "nccl.watchdog_timeout"
}

fn counters(hit: &Hit, facts: &mut Facts) -> &'static str {
    for key in ["seq", "enqueued", "completed"] {
        facts.set_some(key, capture(hit, key));
    }
    if capture(hit, "completed") == Some("-1") {
        facts.set("note", "this group never completed a collective");
    }
    "nccl.counters"
}

/// A work request ended with an error. Flushed ones only say that their queue pair failed before.
fn completion(hit: &Hit, place: &mut Facts, facts: &mut Facts) -> &'static str {
    let status = capture(hit, "status").unwrap_or_default();
    facts.set("status", status);
    facts.set_some("status_name", status_name(status));
    facts.set_some("vendor_error", capture(hit, "vendor"));
    facts.set_some("peer_node", capture(hit, "peer").map(host));
    place.set_some("port", port(hit));
    if status == "5" { "nccl.ib_flush" } else { "nccl.ib_completion" }
}

/// The adapter itself reports: always of the node that writes the line.
fn ib_async(hit: &Hit, place: &mut Facts, facts: &mut Facts) -> Option<&'static str> {
    let what = capture(hit, "what").or_else(|| capture(hit, "fatal"))?.trim();
    facts.set("what", what);
    place.set_some("port", port(hit));
    Some(if what.starts_with("port error") { "nccl.ib_async_port_error" } else { "nccl.ib_async_fatal" })
}

/// Names of the completion states of the verbs interface.
fn status_name(status: &str) -> Option<&'static str> {
    Some(match status {
        "1" => "local length error",
        "2" => "local queue pair operation error",
        "4" => "local protection error",
        "5" => "work request flushed",
        "6" => "memory window bind error",
        "7" => "bad response",
        "8" => "local access error",
        "9" => "remote invalid request",
        "10" => "remote access error",
        "11" => "remote operation error",
        "12" => "transport retry count exceeded",
        "13" => "receiver-not-ready retry count exceeded",
        "14" => "local reliable datagram violation",
        "15" => "remote invalid reliable datagram request",
        "16" => "remote aborted",
        "19" => "fatal error",
        "20" => "response time-out",
        "21" => "general error",
        _ => return None,
    })
}

/// A peer as the library prints it, without the brackets and the zone of IPv6.
fn host(peer: &str) -> &str {
    let peer = peer.trim_matches(['[', ']']);
    peer.split_once('%').map_or(peer, |(address, _)| address)
}

/// A port as it is named on its node.
fn port(hit: &Hit) -> Option<&str> {
    capture(hit, "port")
        .filter(|port| port.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':')))
}

/// A number that is one: damage makes others, and what is computed with must be read everywhere.
fn number<'a>(hit: &'a Hit, name: &str) -> Option<&'a str> {
    capture(hit, name).filter(|digits| digits.parse::<u64>().is_ok())
}

fn capture<'a>(hit: &'a Hit, name: &str) -> Option<&'a str> {
    get(&hit.captures, name).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(signature: &str, captures: &[(&str, &str)]) -> Option<Event> {
        let hit = Hit {
            signature: signature.to_owned(),
            text: String::new(),
            captures: captures.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
            place: Vec::new(),
            source: "app".to_owned(),
            count: 1,
            first: None,
            last: None,
        };
        events(&[hit]).pop()
    }

    #[test]
    fn time_outs_are_back_dated() {
        let captures = [
            ("seq", "7"),
            ("op", "ALLREDUCE"),
            ("numel_in", "1"),
            ("timeout_ms", "600000"),
            ("ran_ms", "600037"),
        ];
        let event = one("watchdog_timeout", &captures).unwrap();
        assert_eq!(event.symptom, "nccl.watchdog_timeout");
        assert_eq!((get(&event.facts, "seq"), get(&event.facts, "before_ms")), (Some("7"), Some("600037")));
        let cut = one("watchdog_timeout", &[("op", "BARRIER"), ("timeout_ms", "1800000")]).unwrap();
        assert_eq!((get(&cut.facts, "seq"), get(&cut.facts, "before_ms")), (None, Some("1800000")));
    }

    #[test]
    fn completions_name_their_state_and_peer() {
        let event = one(
            "ib_completion",
            &[("peer", "gpu-0659"), ("status", "12"), ("port", "mlx5_0"), ("vendor", "129")],
        )
        .unwrap();
        assert_eq!(event.symptom, "nccl.ib_completion");
        assert_eq!(get(&event.facts, "peer_node"), Some("gpu-0659"));
        assert_eq!(get(&event.facts, "status_name"), Some("transport retry count exceeded"));
        assert_eq!(get(&event.place, "port"), Some("mlx5_0"));
        let flushed = one("ib_completion", &[("status", "5"), ("vendor", "249")]).unwrap();
        assert_eq!((flushed.symptom.as_str(), get(&flushed.facts, "peer_node")), ("nccl.ib_flush", None));
    }

    #[test]
    fn the_adapters_own_reports() {
        let port = one("ib_async", &[("port", "mlx5_0:1"), ("what", "port error")]).unwrap();
        assert_eq!(
            (port.symptom.as_str(), get(&port.place, "port")),
            ("nccl.ib_async_port_error", Some("mlx5_0:1"))
        );
        let fatal = one("ib_async", &[("fatal", "local access violation work queue error")]).unwrap();
        assert_eq!((fatal.symptom.as_str(), get(&fatal.place, "port")), ("nccl.ib_async_fatal", None));
        assert_eq!(one("ib_async", &[]), None);
    }

    #[test]
    fn peers_and_counters() {
        let closed = one("peer_closed", &[("peer", "[fe80::ce1%ib0]")]).unwrap();
        assert_eq!(get(&closed.facts, "peer_node"), Some("fe80::ce1"));
        let counters = one("counters", &[("seq", "8"), ("enqueued", "9"), ("completed", "-1")]).unwrap();
        assert_eq!(counters.symptom, "nccl.counters");
        assert!(get(&counters.facts, "note").is_some());
        assert_eq!(one("other", &[]), None);
    }
}
