//! The evidence of one attempt: all that the engine works from.

use firstfault_model::context::ExecutionContext;
use firstfault_model::diagnosis::{LimitReached, NotRead, PluginRef};
use firstfault_model::hit::{Hit, ProgressMark};
use firstfault_model::source::Source;
use firstfault_model::stream::Stream;

/// The evidence of one attempt, in canonical order.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// What ran.
    pub context: ExecutionContext,
    /// What was read.
    pub streams: Vec<Stream>,
    /// What was matched.
    pub hits: Vec<Hit>,
    /// How far it came.
    pub marks: Vec<ProgressMark>,
    /// Limits that were reached.
    pub limits: Vec<LimitReached>,
    /// What was given and not read.
    pub not_read: Vec<NotRead>,
    /// The plugins that ran, with their status.
    pub plugins: Vec<PluginRef>,
    /// Who collected it.
    pub collector: String,
}

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
        let mut best = NodeCoverage::Missing;
        let mut lines = 0;
        for stream in &self.streams {
            // A system log holds the kernel's lines too.
            let fits = stream.name.source == *source || (*source == Source::Kernel && stream.name.source == Source::Syslog);
            if !fits || stream.name.node.as_deref() != Some(node) {
                continue;
            }
            lines += stream.stats.lines;
            let whole = stream.stats.error.is_none() && stream.stats.loss_markers == 0 && stream.stats.dropped == 0;
            if stream.stats.lines > 0 {
                best = best.max(if whole { NodeCoverage::Complete } else { NodeCoverage::Partial });
            }
        }
        (best, lines)
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
