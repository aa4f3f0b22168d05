//! Places, and who is blamed or suffered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::place::PciBusId;

/// A place, flat in the objects that have one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlaceFields {
    /// As the scheduler names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// GPUs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<GpuRef>,
    /// Global ranks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
    /// Process id on the host, or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<String>,
    /// Switch, mount, server, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<String>,
    /// NVLink.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkRef>,
    /// Adapter port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<PortRef>,
}

/// A GPU.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GpuRef {
    /// Index on the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// `dddd:bb:dd`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_bus_id: Option<PciBusId>,
    /// UUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Serial number of the board.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub serial: Option<String>,
    /// MIG instance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig: Option<String>,
    /// Model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A link.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LinkRef {
    /// `nvlink`, ...
    pub kind: String,
    /// This end.
    pub local: String,
    /// The other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// A port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PortRef {
    /// Device (`mlx5_0`) or interface.
    pub device: String,
    /// Port number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// GUID.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guid: Option<String>,
    /// Switch at its other end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch: Option<String>,
    /// Port of that switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub switch_port: Option<String>,
}

/// What a root cause blames.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Responsible {
    /// Nodes.
    pub nodes: Vec<String>,
    /// GPUs as `node/dddd:bb:dd`.
    pub gpus: Vec<String>,
    /// Ports as `node/device:number`.
    pub ports: Vec<String>,
    /// Switches.
    pub switches: Vec<String>,
}

/// Who suffered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Affected {
    /// Number of nodes.
    pub node_count: u32,
    /// Number of ranks.
    pub rank_count: u32,
    /// As a host list.
    pub nodes: String,
    /// As ranges.
    pub ranks: String,
}
