//! Where something happened. The names of places are distinct types, so that a local rank is never taken for a global one.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The address of a PCI device without its function: `dddd:bb:dd`, lower case.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(try_from = "String", into = "String")]
pub struct PciBusId(String);

impl PciBusId {
    /// Reads the forms that kernels and tools print: `0000:1A:00`, `0000:1a:00.0`, `00000000:1A:00.0`, `1a:00.0`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (address, function) = text.split_once('.').unwrap_or((text, "0"));
        if function.len() != 1 || !function.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let parts: Vec<&str> = address.split(':').collect();
        let (domain, bus, device) = match *parts.as_slice() {
            [domain, bus, device] => (domain, bus, device),
            [bus, device] => ("0", bus, device),
            _ => return None,
        };
        if bus.len() != 2 || device.len() != 2 || domain.is_empty() || domain.len() > 8 {
            return None;
        }
        let domain = u32::from_str_radix(domain, 16).ok()?;
        let bus = u8::from_str_radix(bus, 16).ok()?;
        let device = u8::from_str_radix(device, 16).ok()?;
        Some(Self(format!("{domain:04x}:{bus:02x}:{device:02x}")))
    }

    /// Reads the one number that NCCL prints: domain, bus, device and function, the last three in 8, 8 and 4 bits (`b5000` is `0000:b5:00`).
    #[must_use]
    pub fn parse_packed(text: &str) -> Option<Self> {
        let number = u64::from_str_radix(text, 16).ok().filter(|n| *n >> 36 == 0)?;
        let (domain, bus, device) = (number >> 20, number >> 12 & 0xff, number >> 4 & 0xff);
        Some(Self(format!("{domain:04x}:{bus:02x}:{device:02x}")))
    }

    /// `dddd:bb:dd`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PciBusId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for PciBusId {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("'{text}' is not a PCI bus id such as 0000:1a:00"))
    }
}

impl From<PciBusId> for String {
    fn from(id: PciBusId) -> Self {
        id.0
    }
}

/// A place as far as it is known. What is `None` is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// As the scheduler names it.
    pub node: Option<String>,
    /// Global rank.
    pub rank: Option<u32>,
    /// The GPU by its PCI bus id.
    pub gpu: Option<PciBusId>,
    /// The GPU by its index on the node.
    pub gpu_index: Option<u32>,
    /// Process id on the host, or what the line calls the process.
    pub process: Option<String>,
    /// A part that is none of the others: a switch (`nvswitch2`), a mount, a server.
    pub component: Option<String>,
    /// NVLink number.
    pub link: Option<String>,
    /// HCA port (`mlx5_0:1`) or network interface.
    pub port: Option<String>,
}

impl Place {
    /// Sets a field by its name in the plugin interface; `Err` says what is wrong with the value.
    ///
    /// # Errors
    /// An unknown key, or a value that is not of its kind.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let number = || value.parse::<u32>().map_err(|_| format!("{key} '{value}' is not a number"));
        match key {
            "node" => self.node = Some(value.to_owned()),
            "rank" => self.rank = Some(number()?),
            "gpu" => self.gpu = Some(PciBusId::try_from(value.to_owned())?),
            "gpu_index" => self.gpu_index = Some(number()?),
            "process" => self.process = Some(value.to_owned()),
            "component" => self.component = Some(value.to_owned()),
            "link" => self.link = Some(value.to_owned()),
            "port" => self.port = Some(value.to_owned()),
            _ => {
                return Err(format!(
                    "'{key}' is not a place: node, rank, gpu, gpu_index, process, component, link or port"
                ));
            }
        }
        Ok(())
    }

    /// The known fields under their names in the plugin interface.
    #[must_use]
    pub fn attributes(&self) -> Vec<(String, String)> {
        let mut out = Vec::new();
        let mut push = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                out.push((key.to_owned(), value));
            }
        };
        push("node", self.node.clone());
        push("rank", self.rank.map(|r| r.to_string()));
        push("gpu", self.gpu.as_ref().map(PciBusId::to_string));
        push("gpu_index", self.gpu_index.map(|r| r.to_string()));
        push("process", self.process.clone());
        push("component", self.component.clone());
        push("link", self.link.clone());
        push("port", self.port.clone());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_that_nccl_prints() {
        for (text, id) in [
            ("b5000", "0000:b5:00"),
            ("e0000", "0000:e0:00"),
            ("1a030", "0000:1a:03"),
            ("901000", "0009:01:00"),
        ] {
            assert_eq!(PciBusId::parse_packed(text).unwrap().as_str(), id, "{text}");
        }
        for text in ["", "xyz", "1234567890abc", "0000:b5:00"] {
            assert_eq!(PciBusId::parse_packed(text), None, "{text}");
        }
    }

    #[test]
    fn bus_ids_are_normalised() {
        for text in ["0000:1A:00", "0000:1a:00.0", "00000000:1A:00.0", "1a:00.0", "1A:00"] {
            assert_eq!(PciBusId::parse(text).unwrap().as_str(), "0000:1a:00", "{text}");
        }
        assert_eq!(PciBusId::parse("000f:01:00").unwrap().as_str(), "000f:01:00");
        for text in ["", ":", "0000:1a", "0000:1a:00:00", "0000:zz:00", "0000:1a:00.", "0000:1a:00.10", "1a"]
        {
            assert_eq!(PciBusId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_place_goes_through_attributes() {
        let mut place = Place::default();
        for (key, value) in [("node", "gpu-1"), ("rank", "7"), ("gpu", "0000:1A:00"), ("link", "09")] {
            place.set(key, value).unwrap();
        }
        let mut again = Place::default();
        for (key, value) in place.attributes() {
            again.set(&key, &value).unwrap();
        }
        assert_eq!(place, again);
        assert!(place.set("rank", "-1").is_err());
        assert!(place.set("local_rank", "1").is_err());
    }
}
