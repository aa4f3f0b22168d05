//! The rules that the host holds the events of a module to. Shared by the tests of the modules.

use firstfault_plugin::Event;

/// Fails unless the host would take all of them.
pub(crate) fn assert_kept(events: &[Event], hits: usize) {
    assert!(events.len() <= 1024);
    for event in events {
        assert!(
            (1..=64).contains(&event.hits.len()) && event.hits.iter().all(|hit| (*hit as usize) < hits),
            "{event:?}"
        );
        let word = |w: &str| {
            !w.is_empty()
                && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_-".contains(&b))
        };
        assert!(event.symptom.len() <= 128 && event.symptom.split('.').all(word), "{event:?}");
        for pairs in [&event.place, &event.facts] {
            assert!(pairs.len() <= 64, "{event:?}");
            for (i, (key, value)) in pairs.iter().enumerate() {
                let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.".contains(&b);
                assert!((1..=64).contains(&key.len()) && key.bytes().all(fits), "{event:?}");
                assert!(!pairs[..i].iter().any(|(other, _)| other == key), "{key} twice: {event:?}");
                assert!(value.len() <= 8 << 10, "{key} has {} bytes", value.len());
            }
        }
        for (key, value) in &event.place {
            assert!(!value.is_empty() && !value.chars().any(char::is_control), "{key}: {event:?}");
            match key.as_str() {
                "rank" | "gpu_index" => assert!(value.parse::<u32>().is_ok(), "{event:?}"),
                "gpu" => assert!(
                    value.len() >= 10 && value.bytes().all(|b| b.is_ascii_hexdigit() || b":.".contains(&b)),
                    "{event:?}"
                ),
                "node" | "process" | "component" | "link" | "port" | "peer_node" => {}
                other => panic!("{other} is no place"),
            }
        }
        for (key, value) in &event.facts {
            match key.as_str() {
                "before_ms" | "peer_rank" => assert!(value.parse::<u64>().is_ok(), "{event:?}"),
                "caused_by" => assert!(value.split('.').all(word), "{event:?}"),
                _ => {}
            }
        }
    }
}
