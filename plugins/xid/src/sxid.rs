//! The shape of an SXid line (NVSwitch). One error writes up to three records of one number: what happened, where in the
//! engine, and registers. Only the first is an event.

use firstfault_plugin::{Attributes, Tables, get};

use crate::line::pci_address;

/// An SXid record that says what happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SxidLine<'a> {
    /// Number of the switch on its node.
    pub switch: Option<u32>,
    /// PCI address of the switch, without the function.
    pub pci: &'a str,
    /// The number.
    pub number: u32,
    /// `fatal`, `nonfatal`, `correctable`; switch-wide records have none.
    pub severity: Option<&'static str>,
    /// The port of the switch.
    pub link: Option<u32>,
    /// What happened.
    pub text: &'a str,
    /// The first error that its unit latched.
    pub first: bool,
}

/// Finds an SXid record that says what happened.
#[must_use]
pub fn parse(text: &str) -> Option<SxidLine<'_>> {
    let (before, rest) = text.split_once("SXid (")?;
    let (pci, rest) = rest.split_once("):")?;
    let pci = pci_address(pci.trim())?;
    let (number, rest) = rest.trim_start().split_once(',').unwrap_or((rest.trim(), ""));
    let number = number.parse().ok().filter(|_| number.len() == 5)?;
    let switch =
        before.rsplit_once("nvswitch").and_then(|(_, rest)| rest.trim_end_matches([':', ' ']).parse().ok());
    let body = rest.trim();
    if body.starts_with("Severity ") || body.starts_with("Data ") {
        return None;
    }
    let (severity, body) = match body.split_once(',') {
        Some(("Fatal", rest)) => (Some("fatal"), rest.trim_start()),
        Some(("Non-fatal", rest)) => (Some("nonfatal"), rest.trim_start()),
        Some(("Correctable", rest)) => (Some("correctable"), rest.trim_start()),
        _ => (None, body),
    };
    let (link, body) = link(body);
    let (body, first) = body.strip_suffix("(First)").map_or((body, false), |body| (body.trim_end(), true));
    Some(SxidLine { switch, pci, number, severity, link, text: body, first })
}

/// Most meanings of one number.
const MEANINGS: u32 = 4;

/// The row of the table `sxid` that a record means. Later drivers gave some numbers another meaning: there the driver's own words
/// decide, and without them none is.
#[must_use]
pub fn meaning(line: &SxidLine<'_>, tables: &dyn Tables) -> Option<Attributes> {
    let first = tables.lookup("sxid", &line.number.to_string())?;
    let others = (2..=MEANINGS).map_while(|n| tables.lookup("sxid", &format!("{}.{n}", line.number)));
    let mut rows: Vec<Attributes> = std::iter::once(first).chain(others).collect();
    if let [_] = rows.as_slice() {
        return rows.pop();
    }
    let says = |row: &Attributes| {
        let texts = get(row, "text").unwrap_or_default();
        texts.split("; ").any(|text| !text.is_empty() && line.text.starts_with(text))
    };
    let mut meant = rows.into_iter().filter(says);
    meant.next().filter(|_| meant.next().is_none())
}

/// `Link NN` and what follows.
fn link(body: &str) -> (Option<u32>, &str) {
    let split = body.strip_prefix("Link ").map(|rest| rest.split_once(' ').unwrap_or((rest, "")));
    match split.and_then(|(number, rest)| Some((number.parse().ok()?, rest))) {
        Some((number, rest)) => (Some(number), rest.trim_start()),
        None => (None, body),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_two_meanings_are_told_apart_by_their_text() {
        use firstfault_plugin::testing::MemoryTables;
        let tables = MemoryTables::new()
            .row("sxid", "29006", &[("mnemonic", "OLD"), ("text", "Red TS crumbstore RTO")])
            .row("sxid", "29006.2", &[("mnemonic", "NEW"), ("text", "MC TS crumbstore MCTO; MC TS other")])
            .row("sxid", "20034", &[("mnemonic", "LTSSM")]);
        let mnemonic = |text: &str| {
            let line = format!("nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): {text}");
            meaning(&parse(&line)?, &tables).and_then(|row| get(&row, "mnemonic").map(str::to_owned))
        };
        assert_eq!(
            mnemonic("29006, Non-fatal, Link 28 MC TS crumbstore MCTO (First)").as_deref(),
            Some("NEW")
        );
        assert_eq!(mnemonic("29006, Non-fatal, Link 28 Red TS crumbstore RTO").as_deref(), Some("OLD"));
        assert_eq!(mnemonic("29006, Non-fatal, Link 28 something else"), None);
        assert_eq!(mnemonic("20034, Fatal, Link 30 whatever").as_deref(), Some("LTSSM"));
        assert_eq!(mnemonic("20035, Fatal, Link 30 LTSSM Fault Up"), None);
    }

    #[test]
    fn records_that_say_what_happened_are_read() {
        let line = "[111.111] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)";
        let expected = SxidLine {
            switch: Some(3),
            pci: "0000:05:00",
            number: 12028,
            severity: Some("nonfatal"),
            link: Some(32),
            text: "egress non-posted PRIV error",
            first: true,
        };
        assert_eq!(parse(line), Some(expected));
        let fatal = parse(
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error",
        )
        .unwrap();
        assert_eq!(
            (fatal.number, fatal.severity, fatal.link, fatal.first),
            (24007, Some("fatal"), Some(28), false)
        );
        let halted = parse("nvidia-nvswitch0: SXid (PCI:0004:00:00.0): 26006, SOE HALTED").unwrap();
        assert_eq!(
            (halted.number, halted.severity, halted.link, halted.text),
            (26006, None, None, "SOE HALTED")
        );
        let cut = parse("[38889.0] nvidia-nvswitch1: SXid (PCI:0000:06:00.0): 20009, Non-fatal, Li").unwrap();
        assert_eq!((cut.number, cut.severity, cut.link, cut.text), (20009, Some("nonfatal"), None, "Li"));
    }

    #[test]
    fn the_other_records_are_no_events() {
        for line in [
            "nvidia-nvswitch2: SXid (PCI:0000:07:00.0): 20034, Severity 1 Engine instance 60 Sub-engine instance 00",
            "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Data {0x10000000, 0x10000000, 0x00000000}",
            "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): abc, Fatal, Link 1 x",
            "nvidia-nvswitch0: SXid (PCI:0000:05): 20034, Fatal, Link 1 x",
            "NVRM: Xid (PCI:0000:05:00): 79, x",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }
}
