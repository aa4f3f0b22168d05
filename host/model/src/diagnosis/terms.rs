//! Enumerations of the document. They are open to consumers: expect names that are not known yet.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::taxonomy::names;

names! {
    /// What is concluded.
    Verdict {
        /// At least one root cause is shown.
        Attributed = "attributed",
        /// A failure is evident, its cause is not.
        Undetermined = "undetermined",
        /// It completed or runs on, and nothing seen is a fault.
        NoFault = "no_fault",
    }
}

names! {
    /// How an attempt ended.
    TerminalState {
        /// Ended by itself with success.
        Completed = "completed",
        /// Ended by itself without success.
        Failed = "failed",
        /// Ended by a person or a program on their behalf.
        Cancelled = "cancelled",
        /// Wall time used up.
        Timeout = "timeout",
        /// A deadline passed.
        Deadline = "deadline",
        /// Gave way to another workload.
        Preempted = "preempted",
        /// Put out by Kubernetes or Kueue.
        Evicted = "evicted",
        /// Deactivated in its queue.
        Deactivated = "deactivated",
        /// The scheduler lost a node.
        NodeFail = "node_fail",
        /// A node did not boot.
        BootFail = "boot_fail",
        /// The scheduler saw it run out of memory.
        OutOfMemory = "out_of_memory",
        /// It could not be launched.
        LaunchFailed = "launch_failed",
        /// It never started.
        NeverStarted = "never_started",
        /// Suspended.
        Suspended = "suspended",
        /// Still running.
        Running = "running",
        /// Not known.
        Unknown = "unknown",
    }
}

names! {
    /// How sure a root cause is; a rule decides, not a number.
    Confidence {
        /// Evidence that could contradict it is missing.
        Suspected = "suspected",
        /// Order and place fit, and the alternatives are covered.
        Probable = "probable",
        /// An explicit link in the text, or direct local evidence with every other node's same source complete.
        Established = "established",
    }
}

names! {
    /// How one root cause stands to the others.
    Relation {
        /// It has effects that the others do not explain, or it is the only one.
        Independent = "independent",
        /// It would explain the same effects as another one.
        Alternative = "alternative",
    }
}

names! {
    /// Why something is not the cause.
    RuledOut {
        /// Another event explains it.
        Explained = "explained",
        /// Not this attempt's node, GPU, process or time.
        OutOfScope = "out_of_scope",
        /// It can only be an effect.
        EffectOnly = "effect_only",
        /// It began after the cause.
        Later = "later",
        /// Harmless.
        Benign = "benign",
        /// A reset or reboot cleared it before the attempt.
        Cleared = "cleared",
        /// The attempt went on for long after it.
        Survived = "survived",
        /// The workload printed it; the log of whom it speaks does not have it, or nobody vouches for it.
        Quoted = "quoted",
    }
}

names! {
    /// Whose matter the failure is, in the coarsest terms.
    FaultClass {
        /// Hardware, node, network, storage, system software.
        Infrastructure = "infrastructure",
        /// The program or its resources.
        Application = "application",
        /// The scheduler.
        Scheduler = "scheduler",
        /// Outside.
        External = "external",
        /// Not known.
        Undetermined = "undetermined",
        /// No fault.
        None = "none",
    }
}

names! {
    /// What to do with an excluded place.
    ExcludeAction {
        /// Let nothing new run there.
        Drain = "drain",
        /// Reset the GPU.
        ResetGpu = "reset_gpu",
        /// Reboot the node.
        Reboot = "reboot",
        /// Have it looked at.
        Inspect = "inspect",
        /// Replace it.
        Replace = "replace",
    }
}

names! {
    /// How complete a source is on the nodes of the attempt.
    CoverageStatus {
        /// Read to its end on every expected node.
        Ok = "ok",
        /// Missing or lossy somewhere.
        Partial = "partial",
        /// Read, and nothing was in it.
        Empty = "empty",
        /// Could not be read.
        Failed = "failed",
        /// Nobody asked for it.
        NotConfigured = "not_configured",
        /// Cannot be seen from here.
        NotObservable = "not_observable",
    }
}

names! {
    /// Whether a revision is the last one.
    RevisionStatus {
        /// More evidence may come.
        Provisional = "provisional",
        /// All evidence that was waited for is in.
        Final = "final",
        /// No more is waited for, and some is missing.
        FinalIncomplete = "final_incomplete",
    }
}
