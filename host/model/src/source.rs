//! Sources: what kind of record a line comes from.

use std::fmt;

/// The source of a stream. The order is the canonical one: the nearer to the hardware, the earlier.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// Kernel ring buffer or kernel messages of the journal.
    Kernel,
    /// NVIDIA fabric manager.
    FabricManager,
    /// System log of a node that is more than its kernel.
    Syslog,
    /// Slurm's node daemon.
    Slurmd,
    /// Scheduler: controller log, accounting, events.
    Scheduler,
    /// Output of the workload.
    App,
    /// Metric samples.
    Metric,
    /// Collective flight recorder dumps.
    FlightRecorder,
    /// Earlier attempts and faults.
    History,
    /// A file of no stated kind: a job's log that may hold anything.
    Unstated,
    /// A site's own.
    Other(String),
}

impl Source {
    /// From the name used in labels, packs and file names.
    #[must_use]
    pub fn parse(name: &str) -> Self {
        match name {
            "kernel" | "dmesg" => Self::Kernel,
            "fabric_manager" | "fabricmanager" => Self::FabricManager,
            "syslog" | "messages" | "journal" => Self::Syslog,
            "slurmd" => Self::Slurmd,
            "scheduler" | "slurmctld" => Self::Scheduler,
            "app" => Self::App,
            "metric" => Self::Metric,
            "flight_recorder" => Self::FlightRecorder,
            "history" => Self::History,
            "unstated" | "" => Self::Unstated,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The name used in labels, packs and the diagnosis.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Kernel => "kernel",
            Self::FabricManager => "fabric_manager",
            Self::Syslog => "syslog",
            Self::Slurmd => "slurmd",
            Self::Scheduler => "scheduler",
            Self::App => "app",
            Self::Metric => "metric",
            Self::FlightRecorder => "flight_recorder",
            Self::History => "history",
            Self::Unstated => "unstated",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How far a source can be believed. Assigned by the host from the operator's grant, never by a plugin, a body or a
/// file name.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    serde::Serialize,
    serde::Deserialize,
    schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Trust {
    /// Nobody vouches for where it came from: a bare file.
    Unverified,
    /// The workload wrote it.
    Workload,
    /// The node or the scheduler wrote it, and the operator says so.
    Host,
}
