//! From hits to events, one each.

use firstfault_plugin::{Attributes, Event, Facts, Hit, Tables, get};

use crate::line::{self, XidLine};
use crate::{body, sxid};

/// Events of a batch. A hit that cannot be read in spite of its signature makes none.
#[must_use]
pub fn events(hits: &[Hit], tables: &dyn Tables) -> Vec<Event> {
    (0_u32..).zip(hits).filter_map(|(index, hit)| event(index, hit, tables)).collect()
}

fn event(index: u32, hit: &Hit, tables: &dyn Tables) -> Option<Event> {
    let (symptom, place, facts) = match hit.signature.as_str() {
        "xid" => xid(&line::parse(&hit.text)?, tables),
        "sxid" => switch(&sxid::parse(&hit.text)?, tables),
        "gpu_lost" | "gpu_lost_at_probe" => lost(&hit.text)?,
        _ => return None,
    };
    Some(Event { hits: vec![index], symptom, place: place.into(), facts })
}

fn xid(line: &XidLine<'_>, tables: &dyn Tables) -> (String, Facts, Attributes) {
    let body::Said { link, mut facts } = body::read(line, tables);
    let mut place = Facts::new();
    place.set("gpu", line::normalised(line.pci));
    place.set_some("process", line.pid.map(|pid| pid.to_string()));
    place.set_some("link", link.map(|link| link.to_string()));
    facts.set_some("pid", line.pid.map(|pid| pid.to_string()));
    facts.set_some("name", line.name);
    facts.set_some("gpu_instance", line.gpu_instance.map(|number| number.to_string()));
    facts.set_some("compute_instance", line.compute_instance.map(|number| number.to_string()));
    (format!("xid.{}", line.number), place, facts.into())
}

fn switch(line: &sxid::SxidLine<'_>, tables: &dyn Tables) -> (String, Facts, Attributes) {
    let (mut place, mut facts) = (Facts::new(), Facts::new());
    place.set_some("component", line.switch.map(|number| format!("nvswitch{number}")));
    place.set_some("link", line.link.map(|link| link.to_string()));
    facts.set("switch_pci", line::normalised(line.pci));
    facts.set_some("severity", line.severity);
    facts.set_some("text", Some(line.text).filter(|text| !text.is_empty()));
    facts.set_some("first", line.first.then_some("yes"));
    if let Some(row) = sxid::meaning(line, tables) {
        for column in ["mnemonic", "class", "role"] {
            facts.set_some(column, get(&row, column).map(str::to_owned));
        }
    }
    (format!("sxid.{}", line.number), place, facts.into())
}

/// The driver lost a card and wrote no Xid: on one line, or over three when it could not even be set up.
fn lost(text: &str) -> Option<(String, Facts, Attributes)> {
    let pci = text.match_indices("GPU ").find_map(|(at, marker)| {
        let word = text[at + marker.len()..].split_ascii_whitespace().find(|word| *word != "at")?;
        line::pci_address(word.trim_end_matches([':', ',']))
    })?;
    let (mut place, mut facts) = (Facts::new(), Facts::new());
    place.set("gpu", line::normalised(pci));
    facts.set("implied", "79");
    facts.set("note", "the card no longer answers on the PCI bus");
    Some(("kernel.gpu_lost".to_owned(), place, facts.into()))
}

#[cfg(test)]
mod tests {
    use firstfault_plugin::testing::MemoryTables;

    use super::*;

    fn hit(signature: &str, text: &str) -> Hit {
        Hit {
            signature: signature.to_owned(),
            text: text.to_owned(),
            captures: Vec::new(),
            place: Vec::new(),
            source: "kernel".to_owned(),
            count: 1,
            first: None,
            last: None,
        }
    }

    #[test]
    fn hits_become_events_and_what_cannot_be_read_is_left_out() {
        let hits = [
            hit(
                "xid",
                "NVRM: Xid (PCI:0000:B5:00): 149, pid=4242, name=python3, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x002505c6 0x0)",
            ),
            hit("xid", "NVRM: Xid error: no"),
            hit("sxid", "nvidia-nvswitch2: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"),
            hit("gpu_lost", "[1.0] NVRM: GPU 0000:91:00.0: GPU has fallen off the bus."),
            hit(
                "gpu_lost_at_probe",
                "NVRM: The NVIDIA GPU 0000:18:00.0\nNVRM: (PCI ID: 10de:2901) installed in this system has\nNVRM: fallen off the bus and is not responding to commands.",
            ),
            hit("gpu_lost", "NVRM: GPU at PCI:000f:9B:00: GPU has fallen off the bus."),
            hit("of another", "NVRM: Xid (PCI:0000:b5:00): 79, x"),
        ];
        let events = events(&hits, &MemoryTables::new());
        let seen: Vec<(&[u32], &str, Option<&str>)> = events
            .iter()
            .map(|event| (event.hits.as_slice(), event.symptom.as_str(), get(&event.place, "gpu")))
            .collect();
        let expected: [(&[u32], &str, Option<&str>); 5] = [
            (&[0], "xid.149", Some("0000:b5:00")),
            (&[2], "sxid.20034", None),
            (&[3], "kernel.gpu_lost", Some("0000:91:00")),
            (&[4], "kernel.gpu_lost", Some("0000:18:00")),
            (&[5], "kernel.gpu_lost", Some("000f:9b:00")),
        ];
        assert_eq!(seen, expected);
        assert_eq!(get(&events[0].place, "process"), Some("4242"));
        assert_eq!(get(&events[0].place, "link"), Some("9"));
        assert_eq!(get(&events[0].facts, "name"), Some("python3"));
        assert_eq!(get(&events[1].place, "component"), Some("nvswitch2"));
        assert_eq!(get(&events[1].facts, "switch_pci"), Some("0000:86:00"));
    }

    #[test]
    fn quoted_lines_are_read_like_others() {
        let quoted = hit(
            "xid",
            "[rank3]: dmesg says NVRM: Xid (PCI:0000:1a:00): 48, pid=9, name=x, An uncorrectable double bit error",
        );
        let events = events(&[quoted], &MemoryTables::new());
        assert_eq!(events.first().map(|event| event.symptom.as_str()), Some("xid.48"));
    }
}
