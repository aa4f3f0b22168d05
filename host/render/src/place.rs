//! Places and counts in words.

use firstfault_model::diagnosis::{GpuRef, PlaceFields, PortRef};
use firstfault_model::ranges::format_ranks;
use firstfault_model::taxonomy::Domain;

/// Everything that is known of a place: `gpu-0833  GPU 3 (0000:b5:00)  rank 27`.
pub(crate) fn full(place: &PlaceFields) -> String {
    let mut parts: Vec<String> = place.node.iter().cloned().collect();
    match place.gpus.as_slice() {
        [] => {}
        [one] => parts.push(gpu(one)),
        many => parts.push(format!("{} GPUs", many.len())),
    }
    if let Some(link) = &place.link {
        let remote = link.remote.as_ref().map(|r| format!(" to {r}")).unwrap_or_default();
        parts.push(format!("{} {}{remote}", link.kind, link.local).trim().to_owned());
    }
    parts.extend(place.port.as_ref().map(port));
    parts.extend(place.component.clone());
    parts.extend(ranks(&place.ranks));
    if let Some(process) = &place.process {
        let number = !process.is_empty() && process.bytes().all(|b| b.is_ascii_digit());
        parts.push(if number { format!("pid {process}") } else { process.clone() });
    }
    parts.join("  ")
}

/// What of a place fits into a column: its node and the narrowest part. Of a fault that is no device's, that is the rank.
pub(crate) fn short(place: &PlaceFields, domain: Domain) -> String {
    let of_device = matches!(domain, Domain::Hardware | Domain::Software | Domain::Network | Domain::Node);
    let part = match place.gpus.as_slice() {
        _ if !of_device && !place.ranks.is_empty() => ranks(&place.ranks),
        [one] => Some(one.index.map_or_else(|| gpu(one), |i| format!("GPU {i}"))),
        [] => place
            .port
            .as_ref()
            .map(|p| p.device.clone())
            .or_else(|| ranks(&place.ranks))
            .or_else(|| place.component.clone()),
        many => Some(format!("{} GPUs", many.len())),
    };
    place.node.iter().cloned().chain(part).collect::<Vec<_>>().join(" ")
}

/// `1 node`, `16 nodes`.
pub(crate) fn count(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

fn gpu(gpu: &GpuRef) -> String {
    let mig = gpu.mig.as_ref().map(|m| format!(" MIG {m}")).unwrap_or_default();
    match (&gpu.index, &gpu.pci_bus_id) {
        (Some(index), Some(bus)) => format!("GPU {index} ({bus}){mig}"),
        (Some(index), None) => format!("GPU {index}{mig}"),
        (None, Some(bus)) => format!("GPU {bus}{mig}"),
        (None, None) => format!(
            "GPU {}{mig}",
            gpu.uuid.as_deref().or(gpu.serial.as_deref()).unwrap_or("of unknown index")
        ),
    }
}

fn port(port: &PortRef) -> String {
    let number = port.number.map(|n| format!(" port {n}")).unwrap_or_default();
    let end = port.switch.as_ref().map(|s| {
        let there = port.switch_port.as_ref().map(|p| format!(" port {p}")).unwrap_or_default();
        format!(" (at {s}{there})")
    });
    format!("{}{number}{}", port.device, end.unwrap_or_default())
}

fn ranks(ranks: &[u32]) -> Option<String> {
    match ranks {
        [] => None,
        [one] => Some(format!("rank {one}")),
        many => Some(format!("ranks {}", format_ranks(many))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstfault_model::diagnosis::LinkRef;
    use firstfault_model::place::PciBusId;

    #[test]
    fn places_in_words() {
        let place = PlaceFields {
            node: Some("n1".into()),
            gpus: vec![GpuRef { index: Some(3), pci_bus_id: PciBusId::parse("b5:00"), ..GpuRef::default() }],
            ranks: vec![27],
            process: Some("4242".into()),
            link: Some(LinkRef { kind: "nvlink".into(), local: "9".into(), remote: None }),
            ..PlaceFields::default()
        };
        assert_eq!(full(&place), "n1  GPU 3 (0000:b5:00)  nvlink 9  rank 27  pid 4242");
        assert_eq!(short(&place, Domain::Hardware), "n1 GPU 3");
        assert_eq!(short(&place, Domain::Application), "n1 rank 27");
        let port = PortRef {
            device: "mlx5_0".into(),
            number: Some(1),
            switch: Some("leaf-1".into()),
            ..PortRef::default()
        };
        let place = PlaceFields { node: Some("n1".into()), port: Some(port), ..PlaceFields::default() };
        assert_eq!(full(&place), "n1  mlx5_0 port 1 (at leaf-1)");
        assert_eq!(short(&place, Domain::Network), "n1 mlx5_0");
        let ranks = PlaceFields { ranks: vec![1, 2, 3], ..PlaceFields::default() };
        assert_eq!(short(&ranks, Domain::Hardware), "ranks 1-3");
        assert_eq!(full(&PlaceFields::default()), "");
    }
}
