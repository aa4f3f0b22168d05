//! The evidence of one attempt: all that the engine works from.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::{LimitReached, NotRead, PluginRef};
use firstfault_model::focus::UnknownLine;
use firstfault_model::hit::{Hit, ProgressMark};
use firstfault_model::source::Source;
use firstfault_model::stream::Stream;
use firstfault_model::time::MINUTE;

/// The evidence of one attempt, in canonical order.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// What ran.
    pub context: ExecutionContext,
    /// The attempt that is asked for, of several in the logs.
    pub attempt: Option<u32>,
    /// What was read.
    pub streams: Vec<Stream>,
    /// What was matched.
    pub hits: Vec<Hit>,
    /// How far it came.
    pub marks: Vec<ProgressMark>,
    /// Error-like lines that no rule knows, where it was looked for them.
    pub unknown: Vec<UnknownLine>,
    /// Limits that were reached.
    pub limits: Vec<LimitReached>,
    /// What was given and not read.
    pub not_read: Vec<NotRead>,
    /// The plugins that ran, with their status.
    pub plugins: Vec<PluginRef>,
    /// Who collected it.
    pub collector: String,
    /// Made when it is first asked for: coverage by source and node.
    pub index: CoverageIndex,
}

/// Coverage by source and node.
#[derive(Debug, Clone, Default)]
pub struct CoverageIndex(OnceLock<BTreeMap<(Source, String), (NodeCoverage, u64)>>);

/// How long a log may be silent at its end and still count as whole.
const QUIET: i64 = 30 * MINUTE;

/// How complete one source is on one node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeCoverage {
    /// No stream, or an empty one.
    Missing,
    /// Read with a gap, a limit or an error.
    Partial,
    /// Read to its end.
    Complete,
}

impl NodeCoverage {
    /// The name in the plugin interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Partial => "partial",
            Self::Complete => "complete",
        }
    }
}

impl Case {
    /// How complete a source is on a node, and how many lines it has.
    #[must_use]
    pub fn coverage_of(&self, source: &Source, node: &str) -> (NodeCoverage, u64) {
        let index = self.index.0.get_or_init(|| {
            let mut index: BTreeMap<(Source, String), (NodeCoverage, u64)> = BTreeMap::new();
            let end = self.context.document.end;
            for stream in self.streams.iter().filter(|s| s.stats.lines > 0) {
                let Some(node) = &stream.name.node else { continue };
                let stats = &stream.stats;
                // Without a line near the end it may have been cut off before.
                let to_the_end = match (end, stats.last) {
                    (Some(end), Some(last)) => stats.last_assumed || last >= end.shifted(-QUIET),
                    _ => true,
                };
                let whole =
                    stats.error.is_none() && stats.loss_markers == 0 && stats.dropped == 0 && to_the_end;
                let status = if whole { NodeCoverage::Complete } else { NodeCoverage::Partial };
                // A system log holds the kernel's lines too.
                let also =
                    (stream.name.source == Source::Syslog && stats.kernel_lines).then_some(Source::Kernel);
                for source in [Some(stream.name.source.clone()), also].into_iter().flatten() {
                    let entry = index.entry((source, node.clone())).or_insert((NodeCoverage::Missing, 0));
                    *entry = (entry.0.max(status), entry.1 + stream.stats.lines);
                }
            }
            index
        });
        index.get(&(source.clone(), node.to_owned())).copied().unwrap_or((NodeCoverage::Missing, 0))
    }

    /// Whether any stream of the source has lines.
    #[must_use]
    pub fn has_source(&self, source: &Source) -> bool {
        self.streams.iter().any(|s| s.name.source == *source && s.stats.lines > 0)
    }

    /// Nodes of the attempt, as the context names them; without a context, those that streams or lines name.
    #[must_use]
    pub fn node_names(&self) -> Vec<&str> {
        if !self.context.nodes.is_empty() {
            return self.context.nodes.iter().map(|n| n.name.as_str()).collect();
        }
        let named = self.streams.iter().filter_map(|s| s.name.node.as_deref());
        let hit = self.hits.iter().filter_map(|h| h.place.node.as_deref());
        named.chain(hit).collect::<std::collections::BTreeSet<_>>().into_iter().collect()
    }
}
