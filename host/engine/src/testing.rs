//! Small cases for tests: a pack of a few symptoms, and events at places and times.

use std::collections::BTreeMap;

use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::Finding;
use firstfault_model::event::EventDraft;
use firstfault_model::hit::{Hit, Position, Stamp, TimeSource};
use firstfault_model::place::{PciBusId, Place};
use firstfault_model::source::{Source, Trust};
use firstfault_model::stream::{Stream, StreamName, StreamStats};
use firstfault_model::time::{MILLI, SECOND, Timestamp};
use firstfault_rules::load::load;
use firstfault_rules::ruleset::RuleSet;

use crate::case::Case;
use crate::graph::Graph;

const PACK: &str = r#"
[pack]
name = "test"
version = "1.0.0"

[[symptom]]
id = "gpu.lost"
role = "cause"
domain = "hardware"
sub_domain = "gpu_bus"
title = "GPU lost"
lasting = true
[[symptom]]
id = "gpu.fault"
role = "either"
domain = "hardware"
sub_domain = "gpu"
title = "GPU fault"
over = ["gpu.fine"]
[[symptom]]
id = "gpu.fine"
role = "benign"
title = "GPU is fine again"
[[symptom]]
id = "gpu.advice"
role = "advice"
title = "advice"
[[symptom]]
id = "kernel.group"
role = "advice"
title = "control group"
[[symptom]]
id = "app.exception"
role = "cause"
domain = "application"
sub_domain = "exception"
title = "exception"
fatal = true
[[symptom]]
id = "app.error"
role = "either"
domain = "application"
sub_domain = "exception"
title = "error"
fatal = true
[[symptom]]
id = "app.device"
role = "either"
domain = "hardware"
sub_domain = "gpu_memory"
title = "the workload tells a fault of a device"
[[symptom]]
id = "comm.timeout"
role = "effect"
sub_domain = "hang"
title = "timed out"
[[symptom]]
id = "comm.peer_lost"
role = "effect"
sub_domain = "peer_lost"
title = "peer lost"
[[symptom]]
id = "sched.limit"
role = "cause"
domain = "scheduler"
sub_domain = "time_limit"
title = "time limit"
terminal = "timeout"

[[signature]]
symptom = "gpu.lost"
sources = ["kernel"]
pattern = 'gpu lost'
[[signature]]
symptom = "gpu.fault"
sources = ["kernel"]
pattern = 'gpu fault'
[[signature]]
symptom = "gpu.advice"
sources = ["kernel"]
pattern = 'gpu advice'
[[signature]]
symptom = "app.exception"
sources = ["app"]
pattern = 'exception'
[[signature]]
symptom = "app.error"
sources = ["app"]
pattern = 'error'
[[signature]]
symptom = "app.device"
sources = ["app"]
pattern = 'device'
[[signature]]
symptom = "comm.timeout"
sources = ["app"]
pattern = 'timed out'
[[signature]]
symptom = "comm.peer_lost"
sources = ["app"]
pattern = 'peer lost'
[[signature]]
symptom = "sched.limit"
sources = ["scheduler"]
pattern = 'time limit'

[[cause]]
effect = "comm.*"
by = ["gpu.*", "app.*"]
where = "any_rank_of_job"
within = { before = "15m", after = "30s" }
[[cause]]
effect = "comm.peer_lost"
by = ["gpu.*", "app.*"]
where = "named_peer"
[[cause]]
effect = ["app.error", "app.device"]
by = ["gpu.*", "app.device"]
where = "any_rank_of_job"
[[cause]]
effect = "gpu.fault"
by = ["gpu.lost"]
where = "same_gpu"
"#;

/// A case of two nodes with two ranks and GPUs each; times are seconds after its start, and it ends after an hour.
pub(crate) struct Small {
    pub(crate) rules: RuleSet,
    pub(crate) case: Case,
    drafts: Vec<EventDraft>,
}

/// The start of the attempt.
pub(crate) fn start() -> Timestamp {
    Timestamp::parse("2026-11-02T20:00:00Z").unwrap()
}

impl Small {
    pub(crate) fn new() -> Self {
        Self::ended("failed")
    }

    pub(crate) fn ended(state: &str) -> Self {
        let context = format!(
            r#"{{"start": "2026-11-02T20:00:00Z", "end": "2026-11-02T21:00:00Z", "terminal": {{"state": "{state}"}},
            "nodes": [{{"name": "n0", "ranks": [0, 1], "gpus": [{{"index": 0, "pci_bus_id": "0000:10:00", "ranks": [0]}}, {{"index": 1, "pci_bus_id": "0000:11:00", "ranks": [1]}}]}},
                      {{"name": "n1", "ranks": [2, 3], "gpus": [{{"index": 0, "pci_bus_id": "0000:10:00", "ranks": [2]}}, {{"index": 1, "pci_bus_id": "0000:11:00", "ranks": [3]}}]}}]}}"#
        );
        let mut small = Self {
            rules: RuleSet::new(vec![load("test", PACK, None).unwrap()]).unwrap(),
            case: Case { context: ExecutionContext::parse(&context).unwrap(), ..Case::default() },
            drafts: Vec::new(),
        };
        for source in [Source::Kernel, Source::App] {
            for node in ["n0", "n1"] {
                small.stream(source.clone(), Some(node));
            }
        }
        small.stream(Source::Scheduler, None);
        small
    }

    fn stream(&mut self, source: Source, node: Option<&str>) {
        let name = StreamName { source, node: node.map(str::to_owned), name: "log".into(), rank: None };
        let stats = StreamStats {
            lines: 100,
            bytes: 10_000,
            last: Some(start().shifted(3600 * SECOND)),
            ..StreamStats::default()
        };
        self.case.streams.push(Stream { name, trust: Trust::Host, stats });
    }

    /// Takes the log of a source away from a node.
    pub(crate) fn without(mut self, source: &Source, node: &str) -> Self {
        for stream in &mut self.case.streams {
            if stream.name.source == *source && stream.name.node.as_deref() == Some(node) {
                stream.stats = StreamStats::default();
            }
        }
        self
    }

    /// An event in the log of a source on a node.
    pub(crate) fn event(
        mut self,
        symptom: &str,
        source: &Source,
        node: &str,
        place: &[(&str, &str)],
        at: i64,
    ) -> Self {
        self.add(symptom, source, node, place, Some(at), &[]);
        self
    }

    /// An event without a time of its own.
    pub(crate) fn untimed(
        mut self,
        symptom: &str,
        source: &Source,
        node: &str,
        place: &[(&str, &str)],
    ) -> Self {
        self.add(symptom, source, node, place, None, &[]);
        self
    }

    /// An event with facts.
    pub(crate) fn with_facts(
        mut self,
        symptom: &str,
        source: &Source,
        node: &str,
        place: &[(&str, &str)],
        at: i64,
        facts: &[(&str, &str)],
    ) -> Self {
        self.add(symptom, source, node, place, Some(at), facts);
        self
    }

    fn add(
        &mut self,
        symptom: &str,
        source: &Source,
        node: &str,
        place: &[(&str, &str)],
        at: Option<i64>,
        facts: &[(&str, &str)],
    ) {
        let found = self.case.streams.iter().position(|s| {
            s.name.source == *source && (s.name.node.is_none() || s.name.node.as_deref() == Some(node))
        });
        let stream = u32::try_from(found.unwrap()).unwrap();
        let index =
            self.rules.matcher().signatures().iter().position(|s| s.spec.symptom.as_deref() == Some(symptom));
        let mut spot = Place::default();
        if *source != Source::Scheduler {
            spot.node = Some(node.to_owned());
        }
        for (key, value) in place {
            spot.set(key, value).unwrap();
        }
        let offset = 100 * (self.case.hits.len() as u64 + 1);
        let position = Position { stream, offset };
        let stamp = at.map(|s| Stamp {
            time: start().shifted(s * SECOND),
            uncertainty: MILLI,
            source: TimeSource::Line,
        });
        self.case.hits.push(Hit {
            signature: u32::try_from(index.unwrap_or(0)).unwrap(),
            first: position,
            last: position,
            count: 1,
            place: spot.clone(),
            captures: BTreeMap::new(),
            text: format!("{symptom} on {node}"),
            cut: false,
            line_number: offset / 100,
            kernel: *source == Source::Kernel,
            not_after: None,
            first_time: stamp,
            last_time: stamp,
        });
        self.drafts.push(EventDraft {
            hits: vec![u32::try_from(self.case.hits.len() - 1).unwrap()],
            symptom: symptom.to_owned(),
            place: spot,
            facts: facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        });
    }

    /// Time-outs of ranks, reported ten minutes after their onset.
    pub(crate) fn timeouts(self, ranks: &[u32], onset: i64) -> Self {
        self.timeouts_of("1", ranks, onset)
    }

    /// The same of one collective.
    pub(crate) fn timeouts_of(mut self, seq: &str, ranks: &[u32], onset: i64) -> Self {
        for rank in ranks {
            let node = if *rank < 2 { "n0" } else { "n1" };
            let rank = rank.to_string();
            self = self.with_facts(
                "comm.timeout",
                &Source::App,
                node,
                &[("rank", &rank)],
                onset + 600,
                &[("before_ms", "600000"), ("seq", seq)],
            );
        }
        self
    }

    /// The events before a graph is made of them.
    pub(crate) fn events(&self) -> Vec<crate::event::Event> {
        let resolve = |draft| crate::event::Event::resolve(draft, &self.case, &self.rules);
        self.drafts.iter().filter_map(resolve).collect()
    }

    pub(crate) fn graph(&self) -> Graph {
        Graph::new(&self.drafts, &self.case, &self.rules).finish(&self.rules)
    }

    pub(crate) fn finding(&self) -> Finding {
        let mut graph = self.graph();
        let judged = crate::judge(&mut graph, &self.case, &self.rules);
        crate::conclude(judged, &graph, &self.case, &self.rules)
    }
}

/// The GPU of rank 2.
pub(crate) const GPU: (&str, &str) = ("gpu", "0000:10:00");

#[test]
fn the_pack_is_sound() {
    Small::new().rules.matcher().check().unwrap();
    assert!(PciBusId::parse(GPU.1).is_some());
}
