//! The time of a line that is a JSON object: structured loggers, and objects of Kubernetes. The line is left whole.

use memchr::memmem;

use super::{Peeled, set_stamp};
use crate::stamp::{self, RawStamp};

/// Members that say when, the best first: of an event that repeats, its last time.
const MEMBERS: [&str; 12] = [
    "lastObservedTime",
    "lastTimestamp",
    "eventTime",
    "finishedAt",
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "asctime",
    "datetime",
    "firstTimestamp",
    "creationTimestamp",
];
/// Bytes in which they are looked for.
const REACH: usize = 8 * 1024;

/// Notes the time of a JSON object.
pub(super) fn peel(text: &[u8], out: &mut Peeled) {
    if !text.starts_with(b"{\"") {
        return;
    }
    let head = text.get(..text.len().min(REACH)).unwrap_or(text);
    if let Some(stamp) = MEMBERS.iter().find_map(|member| value(head, member)) {
        set_stamp(out, stamp);
    }
}

/// The time of a member, if it is one. `null` and the like are none.
fn value(head: &[u8], member: &str) -> Option<RawStamp> {
    let name = format!("\"{member}\"");
    memmem::find_iter(head, name.as_bytes()).find_map(|at| {
        let rest = head.get(at + name.len()..)?.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
        match rest.strip_prefix(b"\"") {
            Some(text) => stamp::iso(text).map(|(stamp, _)| stamp),
            None => stamp::seconds(rest),
        }
    })
}

#[cfg(test)]
mod tests {
    use firstfault_model::time::SECOND;

    use crate::prefix::peel;

    #[test]
    fn times_of_objects() {
        let time = |line: &str| {
            let peeled = peel(line.as_bytes());
            assert_eq!(peeled.rest, 0, "{line}");
            peeled.stamp.map(|s| (s.day, s.of_day / SECOND, s.offset))
        };
        for (line, wanted) in [
            (
                r#"{"level": "error", "timestamp": "2026-11-02T20:00:05.123Z", "message": "x"}"#,
                Some((2, 72_005, Some(0))),
            ),
            (r#"{"time":"2026-11-02 20:00:05,123","msg":"x"}"#, Some((2, 72_005, None))),
            (r#"{"ts":1793649605.25,"caller":"x.go:1","msg":"x"}"#, Some((2, 72_005, Some(0)))),
            (r#"{"ts":1793649605250,"msg":"x"}"#, Some((2, 72_005, Some(0)))),
            (
                r#"{"kind":"Event","firstTimestamp":"2026-11-02T19:00:00Z","lastTimestamp":null,"series":{"count":3,"lastObservedTime":"2026-11-02T20:00:05Z"},"eventTime":"2026-11-02T19:30:00Z"}"#,
                Some((2, 72_005, Some(0))),
            ),
            (
                r#"{"kind":"Event","firstTimestamp":null,"metadata":{"creationTimestamp":"2026-11-02T20:00:05Z"}}"#,
                Some((2, 72_005, Some(0))),
            ),
            (r#"{"time": 12, "timestamp": "soon", "message": "x"}"#, None),
            (r#"{"step": 12}"#, None),
        ] {
            assert_eq!(time(line), wanted, "{line}");
        }
    }
}
