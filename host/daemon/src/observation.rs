//! Observations that clients push: JSON lines, streams of Loki, matrices of Prometheus; made into one form when they come in, so
//! that what is wrong is told at once.

use std::collections::BTreeMap;

use firstfault_model::source::Trust;
use firstfault_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest line.
const MOST_LINE: usize = 256 << 10;
/// How many rejections are told in words.
const TOLD: usize = 8;

/// Lines of one observation.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Batch {
    /// Who vouches for it.
    pub(crate) trust: Option<Trust>,
    pub(crate) lines: Vec<Line>,
    /// Answers of range queries.
    pub(crate) metrics: Vec<Value>,
    /// How much was rejected, and the first reasons.
    pub(crate) rejected: u64,
    pub(crate) reasons: Vec<String>,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Line {
    pub(crate) source: String,
    pub(crate) node: Option<String>,
    pub(crate) rank: Option<u32>,
    /// What it is sorted by, nanoseconds.
    pub(crate) order: Option<i64>,
    /// Whether `order` is when it was written, and not only which came first.
    pub(crate) dated: bool,
    pub(crate) text: String,
}

/// The forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A JSON object in each line.
    Lines,
    /// What is pushed to Loki.
    Loki,
    /// What Prometheus answers to a range query.
    Prometheus,
    /// Streams as launchers' agents send them: each line is JSON again, and stamps of the kernel are invented.
    Agent,
}

impl Form {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "lines" => Self::Lines,
            "loki" | "loki_streams" => Self::Loki,
            "prometheus" | "prometheus_matrix" => Self::Prometheus,
            "raw_loki_streams" => Self::Agent,
            "prometheus_metrics" => Self::Prometheus,
            _ => return None,
        })
    }
}

impl Batch {
    /// Reads a body. What is wrong with single lines is counted; an error is that it is not of the form at all.
    pub(crate) fn read(form: Form, body: &[u8]) -> Result<Self, String> {
        let mut batch = Self::default();
        match form {
            Form::Lines => {
                batch.json_lines(body);
                if batch.lines.is_empty() && batch.rejected > 0 {
                    return Err(batch.reasons.join("; "));
                }
            }
            Form::Loki | Form::Agent => {
                let value: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
                let streams = value.get("streams").unwrap_or(&value);
                let streams =
                    streams.as_array().ok_or("a list of streams is wanted, or an object with `streams`")?;
                for (i, stream) in streams.iter().enumerate() {
                    batch.stream(i, stream, form == Form::Agent);
                }
            }
            Form::Prometheus => {
                let value: Value = serde_json::from_slice(body).map_err(|e| e.to_string())?;
                if value.is_null() || value.is_string() || value.is_number() || value.is_boolean() {
                    return Err("an answer of a query is wanted, or a list of samples".to_owned());
                }
                batch.metrics.push(value);
            }
        }
        Ok(batch)
    }

    fn reject(&mut self, place: &str, why: &str) {
        self.rejected += 1;
        if self.reasons.len() < TOLD {
            self.reasons.push(format!("{place}: {why}"));
        }
    }

    fn json_lines(&mut self, body: &[u8]) {
        for (i, line) in body.split(|b| *b == b'\n').enumerate() {
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let place = format!("line {}", i + 1);
            // A list would be taken for the fields in their order.
            if !line.trim_ascii_start().starts_with(b"{") {
                self.reject(&place, "an object `{...}` is wanted");
                continue;
            }
            match serde_json::from_slice::<JsonLine>(line) {
                Err(e) => self.reject(&place, &e.to_string()),
                Ok(one) => {
                    let time = match &one.time {
                        None => None,
                        Some(time) => match nanoseconds(time) {
                            None => {
                                self.reject(&place, "`time` is neither RFC 3339 nor nanoseconds");
                                continue;
                            }
                            known => known,
                        },
                    };
                    let made = Line {
                        source: one.source.unwrap_or_default(),
                        node: one.node,
                        rank: one.rank,
                        order: time.or(one.order),
                        dated: time.is_some(),
                        text: one.line,
                    };
                    self.add(&place, made);
                }
            }
        }
    }

    fn stream(&mut self, number: usize, stream: &Value, agent: bool) {
        let labels: BTreeMap<&str, &str> = stream
            .get("stream")
            .and_then(Value::as_object)
            .map(|labels| labels.iter().filter_map(|(k, v)| Some((k.as_str(), v.as_str()?))).collect())
            .unwrap_or_default();
        let Some(values) = stream.get("values").and_then(Value::as_array) else {
            self.reject(&format!("stream {number}"), "`values` is missing");
            return;
        };
        let label = |names: &[&str]| names.iter().find_map(|name| labels.get(name)).map(|v| (*v).to_owned());
        let node = label(&["node", "hostname", "host", "nodename", "node_name"]);
        let source = label(&["source"]).or_else(|| label(&["app", "appname", "job"]).map(named_source));
        let rank = label(&["rank"]).and_then(|r| r.parse().ok());
        for (i, value) in values.iter().enumerate() {
            let place = format!("stream {number}, value {i}");
            let entry = value.as_array().map(Vec::as_slice);
            let Some([stamp, text, ..]) = entry else {
                self.reject(&place, "a pair of nanoseconds and a line is wanted");
                continue;
            };
            let (Some(order), Some(text)) = (nanoseconds(stamp), text.as_str()) else {
                self.reject(&place, "a pair of nanoseconds and a line is wanted, both strings");
                continue;
            };
            let mut line = Line {
                source: source.clone().unwrap_or_default(),
                node: node.clone(),
                rank,
                order: Some(order),
                dated: true,
                text: text.to_owned(),
            };
            if agent {
                unwrap_record(&mut line);
            }
            self.add(&place, line);
        }
    }

    /// Takes a line; one that holds several is several.
    fn add(&mut self, place: &str, line: Line) {
        if line.text.len() > MOST_LINE {
            self.reject(place, "the line has more than 256 KiB");
            return;
        }
        for text in line.text.split('\n') {
            self.lines.push(Line { text: text.to_owned(), ..line.clone() });
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonLine {
    source: Option<String>,
    node: Option<String>,
    rank: Option<u32>,
    time: Option<Value>,
    /// Which came first, among lines without a time.
    order: Option<i64>,
    line: String,
}

fn nanoseconds(time: &Value) -> Option<i64> {
    match time {
        Value::Number(number) => number.as_i64(),
        Value::String(text) => text.parse().ok().or_else(|| Timestamp::parse(text).map(|t| t.0)),
        _ => None,
    }
}

/// What a shipper's name of a stream means.
fn named_source(name: String) -> String {
    match name.as_str() {
        "kernel" | "kern" | "dmesg" => "kernel".to_owned(),
        "nv-fabricmanager" | "fabricmanager" | "nvidia-fabricmanager" => "fabric_manager".to_owned(),
        "slurmd" | "slurmstepd" => "slurmd".to_owned(),
        _ => "syslog".to_owned(),
    }
}

/// What a launcher's agent packs into a line.
fn unwrap_record(line: &mut Line) {
    let Ok(record) = serde_json::from_str::<Value>(&line.text) else { return };
    let Some(body) = record.get("body").and_then(Value::as_str) else { return };
    let attribute = |key: &str| record.get("attributes").and_then(|a| a.get(key)).and_then(Value::as_str);
    if let Some(host) = attribute("hostname").filter(|h| *h != "unknown") {
        line.node = Some(host.to_owned());
    }
    if let Some(app) = attribute("appname") {
        line.source = named_source(app.to_owned());
    }
    // Agents that know only the time since boot make one up that ends just before they collect.
    line.dated = line.source != "kernel";
    line.text = body.to_owned();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_and_what_is_wrong_is_counted() {
        let body = br#"{"source": "kernel", "node": "n1", "time": "2026-11-02T22:29:58Z", "line": "a\nb"}
not json

{"line": "c", "time": true}
{"line": "d", "lime": 1}
{"line": "e"}"#;
        let batch = Batch::read(Form::Lines, body).unwrap();
        assert_eq!(batch.lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(), ["a", "b", "e"]);
        assert_eq!((batch.rejected, batch.reasons.len()), (3, 3));
        assert!(batch.reasons[0].starts_with("line 2"), "{:?}", batch.reasons);
    }

    #[test]
    fn streams_have_their_node_and_source_from_labels() {
        let body = br#"{"streams": [{"stream": {"host": "n1", "job": "kern"}, "values": [["5", "x"], ["6", "y", {"k": "v"}], ["z"], 7]}, {}]}"#;
        let batch = Batch::read(Form::Loki, body).unwrap();
        assert_eq!(batch.lines.len(), 2);
        let line = &batch.lines[1];
        assert_eq!(
            (line.source.as_str(), line.node.as_deref(), line.order, line.dated),
            ("kernel", Some("n1"), Some(6), true)
        );
        assert_eq!(batch.rejected, 3);
        for wrong in [&b"7"[..], b"{}", b"[", b"\"x\""] {
            assert!(Batch::read(Form::Loki, wrong).is_err());
        }
    }

    #[test]
    fn invented_stamps_are_no_times() {
        let inner = r#"{"body": "NVRM: Xid", "severity": "err", "attributes": {"hostname": "n1", "appname": "kernel"}, "resources": {}}"#;
        let body = serde_json::json!([{"stream": {"job": "j", "app": "a", "hostname": "other"}, "values": [["9", inner], ["8", "plain"]]}]);
        let batch = Batch::read(Form::Agent, body.to_string().as_bytes()).unwrap();
        assert_eq!(batch.lines[0].text, "NVRM: Xid");
        assert_eq!((batch.lines[0].node.as_deref(), batch.lines[0].dated), (Some("n1"), false));
        assert_eq!((batch.lines[1].node.as_deref(), batch.lines[1].dated), (Some("other"), true));
    }
}
