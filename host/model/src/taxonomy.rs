//! Domains and sub-domains of a diagnosis, with what follows from them by default.
//!
//! The list of domains is closed. A site's pack may add sub-domains under a domain; the shipped ones are here, each name used
//! once, ids never reused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! names {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$vdoc])* $variant,)* }
        impl $name {
            /// All values, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];
            /// The name in packs and documents.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
            /// By its name.
            #[must_use]
            pub fn parse(name: &str) -> Option<Self> {
                match name { $($text => Some(Self::$variant),)* _ => None }
            }
        }
    };
}
pub(crate) use names;

names! {
    /// Where a fault lies.
    Domain {
        /// A device or its firmware-independent part.
        Hardware = "hardware",
        /// A node as a whole, cause below it unknown.
        Node = "node",
        /// Links, switches, sockets, names.
        Network = "network",
        /// File systems and what lies on them.
        Storage = "storage",
        /// Drivers, firmware, libraries, operating system.
        Software = "software",
        /// Something ran out.
        Resource = "resource",
        /// The program that ran.
        Application = "application",
        /// An act of the scheduler or of a person through it.
        Scheduler = "scheduler",
        /// An outside service.
        External = "external",
        /// A failure whose cause is not shown.
        Undetermined = "undetermined",
    }
}

names! {
    /// Who acts.
    Owner {
        /// Those who repair devices.
        Hardware = "hardware",
        /// Those who run the nodes.
        Platform = "platform",
        /// Those who run the fabric.
        Network = "network",
        /// Those who run the file systems.
        Storage = "storage",
        /// Those who run the scheduler.
        Scheduler = "scheduler",
        /// Whoever submitted the workload.
        User = "user",
        /// An outside provider.
        Provider = "provider",
        /// Nobody yet.
        None = "none",
    }
}

names! {
    /// What a restart policy may do.
    Restart {
        /// Run again as it is.
        Retry = "retry",
        /// Run again after a while.
        RetryLater = "retry_later",
        /// Run again without what is excluded.
        RetryElsewhere = "retry_elsewhere",
        /// It will fail again until somebody changes something.
        FixFirst = "fix_first",
        /// It ended as intended.
        NoneNeeded = "none_needed",
        /// Not known.
        Unknown = "unknown",
    }
}

names! {
    /// What a scheduler may avoid.
    ExcludeScope {
        /// Nothing.
        None = "none",
        /// One GPU.
        Gpu = "gpu",
        /// One node.
        Node = "node",
        /// One port of an adapter.
        Port = "port",
        /// A network switch.
        Switch = "switch",
        /// All GPUs behind the same NVLink switches.
        NvlinkDomain = "nvlink_domain",
    }
}

/// Defaults of a sub-domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubDomain {
    /// Its domain.
    pub domain: Domain,
    /// Its name.
    pub name: &'static str,
    /// Who acts.
    pub owner: Owner,
    /// What to avoid.
    pub exclude: ExcludeScope,
    /// Whether to restart.
    pub restart: Restart,
}

/// Looks a shipped sub-domain up.
#[must_use]
pub fn sub_domain(name: &str) -> Option<&'static SubDomain> {
    SUB_DOMAINS.iter().find(|s| s.name == name)
}

const fn row(
    domain: Domain,
    name: &'static str,
    owner: Owner,
    exclude: ExcludeScope,
    restart: Restart,
) -> SubDomain {
    SubDomain { domain, name, owner, exclude, restart }
}

/// The shipped sub-domains.
pub static SUB_DOMAINS: &[SubDomain] = {
    use Domain as D;
    use ExcludeScope as X;
    use Owner as O;
    use Restart as R;
    &[
        row(D::Hardware, "gpu", O::Hardware, X::Gpu, R::RetryElsewhere),
        row(D::Hardware, "gpu_memory", O::Hardware, X::Gpu, R::RetryElsewhere),
        row(D::Hardware, "gpu_bus", O::Hardware, X::Node, R::RetryElsewhere),
        row(D::Hardware, "nvlink", O::Hardware, X::Gpu, R::RetryElsewhere),
        row(D::Hardware, "nvswitch", O::Hardware, X::NvlinkDomain, R::RetryElsewhere),
        row(D::Hardware, "nic", O::Hardware, X::Node, R::RetryElsewhere),
        row(D::Hardware, "dimm", O::Hardware, X::Node, R::RetryElsewhere),
        row(D::Hardware, "cpu_or_board", O::Hardware, X::Node, R::RetryElsewhere),
        row(D::Hardware, "local_disk", O::Hardware, X::Node, R::RetryElsewhere),
        row(D::Hardware, "power_thermal", O::Hardware, X::Node, R::RetryElsewhere),
        row(D::Hardware, "silent_corruption", O::Hardware, X::Gpu, R::RetryElsewhere),
        row(D::Hardware, "degraded", O::Hardware, X::Node, R::RetryElsewhere),
        row(D::Node, "lost", O::Platform, X::Node, R::RetryElsewhere),
        row(D::Node, "unexpected_reboot", O::Platform, X::Node, R::RetryElsewhere),
        row(D::Node, "agent_lost", O::Platform, X::Node, R::RetryElsewhere),
        row(D::Node, "set_down_by_operator", O::Platform, X::None, R::RetryElsewhere),
        row(D::Node, "health_check", O::Platform, X::Node, R::RetryElsewhere),
        row(D::Network, "rdma_link", O::Network, X::Port, R::RetryElsewhere),
        row(D::Network, "rdma_setup", O::Network, X::None, R::FixFirst),
        row(D::Network, "switch", O::Network, X::Switch, R::RetryElsewhere),
        row(D::Network, "tcp", O::Network, X::None, R::Retry),
        row(D::Network, "name_resolution", O::Platform, X::None, R::Retry),
        row(D::Network, "rendezvous", O::Network, X::None, R::Retry),
        row(D::Storage, "network_fs", O::Storage, X::None, R::RetryLater),
        row(D::Storage, "space", O::User, X::None, R::FixFirst),
        row(D::Storage, "stale_handle", O::Storage, X::None, R::Retry),
        row(D::Storage, "missing_file", O::User, X::None, R::FixFirst),
        row(D::Storage, "permission", O::User, X::None, R::FixFirst),
        row(D::Storage, "checkpoint", O::User, X::None, R::FixFirst),
        row(D::Software, "gpu_driver", O::Platform, X::Node, R::RetryElsewhere),
        row(D::Software, "gpu_firmware", O::Platform, X::Gpu, R::RetryElsewhere),
        row(D::Software, "fabric_manager", O::Platform, X::Node, R::RetryElsewhere),
        row(D::Software, "comm_library", O::User, X::None, R::FixFirst),
        row(D::Software, "environment", O::User, X::None, R::FixFirst),
        row(D::Software, "kernel", O::Platform, X::Node, R::RetryElsewhere),
        row(D::Software, "container_runtime", O::Platform, X::None, R::Retry),
        row(D::Resource, "host_out_of_memory", O::User, X::None, R::FixFirst),
        row(D::Resource, "shared_memory", O::User, X::None, R::FixFirst),
        row(D::Resource, "limits", O::User, X::None, R::FixFirst),
        row(D::Application, "exception", O::User, X::None, R::FixFirst),
        row(D::Application, "assertion", O::User, X::None, R::FixFirst),
        row(D::Application, "crash", O::User, X::None, R::FixFirst),
        row(D::Application, "gpu_out_of_memory", O::User, X::None, R::FixFirst),
        row(D::Application, "gpu_memory_access", O::User, X::None, R::FixFirst),
        row(D::Application, "gpu_assert", O::User, X::None, R::FixFirst),
        row(D::Application, "device_mismatch", O::User, X::None, R::FixFirst),
        row(D::Application, "collective_mismatch", O::User, X::None, R::FixFirst),
        row(D::Application, "straggler", O::User, X::None, R::Retry),
        row(D::Application, "numerics", O::User, X::None, R::FixFirst),
        row(D::Application, "arithmetic", O::User, X::None, R::FixFirst),
        row(D::Application, "data_worker", O::User, X::None, R::FixFirst),
        row(D::Application, "configuration", O::User, X::None, R::FixFirst),
        row(D::Application, "port_conflict", O::User, X::None, R::Retry),
        row(D::Scheduler, "preemption", O::Scheduler, X::None, R::Retry),
        row(D::Scheduler, "eviction", O::Scheduler, X::None, R::Retry),
        row(D::Scheduler, "time_limit", O::Scheduler, X::None, R::Retry),
        row(D::Scheduler, "cancelled", O::User, X::None, R::NoneNeeded),
        row(D::Scheduler, "requeue", O::Scheduler, X::None, R::Retry),
        row(D::Scheduler, "not_started", O::Platform, X::None, R::Retry),
        row(D::Scheduler, "control_plane", O::Platform, X::None, R::Retry),
        row(D::External, "service", O::Provider, X::None, R::RetryLater),
        row(D::Undetermined, "peer_lost", O::None, X::None, R::Unknown),
        row(D::Undetermined, "hang", O::None, X::None, R::Unknown),
        row(D::Undetermined, "killed", O::None, X::None, R::Unknown),
        row(D::Undetermined, "stopped_from_outside", O::None, X::None, R::Unknown),
        row(D::Undetermined, "insufficient_evidence", O::None, X::None, R::Unknown),
    ]
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_sub_domain_has_one_name() {
        let names: BTreeSet<&str> = SUB_DOMAINS.iter().map(|s| s.name).collect();
        assert_eq!(names.len(), SUB_DOMAINS.len());
        for domain in Domain::ALL {
            assert!(SUB_DOMAINS.iter().any(|s| s.domain == *domain), "{}", domain.name());
            assert_eq!(Domain::parse(domain.name()), Some(*domain));
        }
    }

    #[test]
    fn nothing_is_excluded_for_faults_of_the_program() {
        for sub in SUB_DOMAINS {
            if matches!(
                sub.domain,
                Domain::Application | Domain::Resource | Domain::Scheduler | Domain::External
            ) {
                assert_eq!(sub.exclude, ExcludeScope::None, "{}", sub.name);
            }
        }
    }
}
