//! What the text after the number adds, number by number. Everything is optional: firmware writes texts of its own,
//! tools cut them, and some numbers have changed their meaning.

use firstfault_plugin::{Facts, Tables};

use crate::line::{XidLine, normalised, pci_address};
use crate::nvlink5;

/// Order within one GPU of a link that the far end took down: after the local faults and their direct effects. Symptoms
/// of the packs count in the same tens.
const RANK_OF_REMOTE_LINK: &str = "70";

/// What a body says.
#[derive(Debug, Default)]
pub struct Said {
    /// NVLink number.
    pub link: Option<u32>,
    /// Facts of the event.
    pub facts: Facts,
}

/// Reads the body of a line.
#[must_use]
pub fn read(line: &XidLine<'_>, tables: &dyn Tables) -> Said {
    let mut said = Said::default();
    if let Some(cause) = caused_by(line) {
        said.facts.set("caused_by", format!("xid.{cause}"));
        said.facts.set("note", format!("the driver says: caused by Xid {cause}"));
    }
    match line.number {
        13 => shader(line.body, &mut said),
        31 => mmu_fault(line.body, &mut said),
        63 | 64 => repair(line.body, &mut said),
        74 | 136 | 137 => old_link(line.body, &mut said),
        94 | 95 => containment(line.body, &mut said),
        119 => firmware_timeout(line, &mut said),
        144..=150 | 155 => link_record(line, tables, &mut said),
        154 => advice(line.body, &mut said),
        171 | 172 => {
            said.facts.set_some("unit", line.body.split_once(", Uncorrectable").map(|(unit, _)| unit.trim()));
        }
        _ => {}
    }
    said
}

/// `caused by previous Xid M`. A chain of one number says nothing.
fn caused_by(line: &XidLine<'_>) -> Option<u32> {
    let number = leading_number(after(line.body, "caused by previous Xid ")?)?;
    (number != line.number).then_some(number)
}

/// `Graphics SM Warp Exception on (GPC 1, TPC 0, SM 1): Out Of Range Address`.
fn shader(body: &str, said: &mut Said) {
    let Some((place, reason)) = after(body, " on (").and_then(|rest| rest.split_once(')')) else { return };
    for part in place.split(',') {
        match part.trim().split_once(' ') {
            Some(("GPC", number)) => said.facts.set("gpc", number),
            Some(("TPC", number)) => said.facts.set("tpc", number),
            Some(("SM", number)) => said.facts.set("sm", number),
            _ => {}
        }
    }
    let reason = reason.trim_start_matches(':').trim();
    said.facts.set_some("reason_text", Some(reason).filter(|reason| !reason.is_empty()));
}

/// `MMU Fault: ENGINE GRAPHICS GPC6 GPCCLIENT_T1_13 faulted @ 0x6f6f_320c2000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ`.
fn mmu_fault(body: &str, said: &mut Said) {
    if let Some((unit, rest)) = after(body, "ENGINE ").and_then(|rest| rest.split_once(" faulted @ ")) {
        let mut words = unit.split_ascii_whitespace();
        said.facts.set_some("engine", words.next());
        for word in words {
            match word.strip_prefix("GPC").filter(|number| number.bytes().all(|b| b.is_ascii_digit())) {
                Some(number) => said.facts.set("gpc", number),
                None => said.facts.set("client", word),
            }
        }
        said.facts.set_some("address", rest.split(['.', ' ']).next());
    }
    let kind = after(body, "of type ").unwrap_or(body);
    for word in kind.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')) {
        if word.starts_with("FAULT_") {
            said.facts.set("fault", word);
        } else if let Some(access) = word.strip_prefix("ACCESS_TYPE_") {
            said.facts.set("access", access);
        }
    }
}

/// Rows remapped and pages retired.
fn repair(body: &str, said: &mut Said) {
    let failed = body.contains("ail") || body.contains("unable") || body.contains("Fatal error");
    let row = body.contains("Row Remapper");
    let repair = match (row, failed) {
        (true, false) => "row_remap_pending",
        (true, true) => "row_remap_failed",
        (false, false) if body.contains("Page Retirement") => "page_retire_pending",
        (false, true) if body.contains("Page Retirement") => "page_retire_failed",
        _ => return,
    };
    said.facts.set("repair", repair);
    let note = match repair {
        "row_remap_pending" => "a memory row is marked for remapping, which a GPU reset completes",
        "row_remap_failed" => "a memory row could not be marked for remapping",
        "page_retire_pending" => "a memory page is retired from the next driver load on",
        _ => "a memory page could not be retired",
    };
    said.facts.set("note", note);
}

/// Xid 74, 136 and 137, before NVLink 5: `link 14(0x0, ...)`, `link 3 to remote PCI:0000:c3:00`, `links 0x3f(...)`.
fn old_link(body: &str, said: &mut Said) {
    said.link = after(body, " link ").and_then(leading_number);
    if let Some(mask) = after(body, " links 0x") {
        let end = mask.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(mask.len());
        said.facts.set("links_mask", format!("0x{}", &mask[..end]));
    }
    let remote =
        after(body, " to remote ").and_then(|rest| pci_address(rest.split_ascii_whitespace().next()?));
    said.facts.set_some("remote_gpu", remote.map(normalised));
    if body.contains("rain") {
        said.facts.set("phase", "training");
    }
}

/// `Contained: FB DED (0x9, 0x1). physAddr: 0x01a2b3c400 RST: No, D-RST: Yes`.
fn containment(body: &str, said: &mut Said) {
    let Some((kind, rest)) = body.split_once(": ") else { return };
    match kind {
        "Contained" => said.facts.set("contained", "yes"),
        "Uncontained" => said.facts.set("contained", "no"),
        _ => return,
    }
    let unit = rest.split(['(', '.']).next().unwrap_or_default().trim();
    said.facts.set_some("unit", Some(unit).filter(|unit| !unit.is_empty()));
    let flag = |name: &str| {
        let rest = after(body, name)?;
        if rest.starts_with("Yes") { Some("yes") } else { rest.starts_with("No").then_some("no") }
    };
    said.facts.set_some("reset_needed", flag(" RST: "));
    said.facts.set_some("drain_and_reset_needed", flag("D-RST: "));
}

/// `Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4).`
fn firmware_timeout(line: &XidLine<'_>, said: &mut Said) {
    let seconds = after(line.body, "Timeout after ")
        .and_then(|rest| rest.split_once('s'))
        .and_then(|(seconds, _)| seconds.parse::<u32>().ok());
    said.facts.set_some("before_ms", seconds.map(|seconds| (u64::from(seconds) * 1000).to_string()));
    let function = after(line.body, "Expected function ").and_then(|rest| rest.split(['(', ')']).nth(1));
    let named = |function: &&str| function.starts_with(|c: char| c.is_ascii_alphabetic());
    said.facts.set_some("function", function.filter(named));
    let waiting = match line.name {
        Some(name) => format!("{name} was waiting for the GPU's firmware when it gave no answer"),
        None => "the GPU's firmware gave no answer".to_owned(),
    };
    said.facts.set("note", waiting);
}

/// NVLink 5.
fn link_record(line: &XidLine<'_>, tables: &dyn Tables, said: &mut Said) {
    let Some(record) = nvlink5::parse(line.body) else { return };
    said.link = record.link;
    said.facts.set("sub", record.sub);
    said.facts.set("severity", if record.fatal { "fatal" } else { "nonfatal" });
    said.facts.set_some("status", record.status.map(|status| format!("0x{status:08x}")));
    said.facts.set_some("text", record.text);
    let Some(reason) = record.reason(line.number) else { return };
    let key = reason.to_string();
    let row = tables.lookup("nvlink5_reason", &key).unwrap_or_default();
    let meaning = firstfault_plugin::get(&row, "meaning");
    let side = firstfault_plugin::get(&row, "side");
    said.facts.set_some("reason_text", meaning);
    said.facts.set_some("reason_side", side);
    if side == Some("remote") {
        said.facts.set("rank_of", RANK_OF_REMOTE_LINK);
    }
    let note = match meaning {
        Some(meaning) => format!("link-down reason {key}: {meaning}"),
        None => format!("link-down reason {key}"),
    };
    said.facts.set("note", note);
    said.facts.set("reason", key);
}

/// Xid 154, `GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)`. The names differ between drivers, the codes do not.
fn advice(body: &str, said: &mut Said) {
    let code = |marker| {
        let digits = after(body, marker)?.strip_prefix("0x")?;
        let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
        u32::from_str_radix(&digits[..end], 16).ok()
    };
    said.facts.set_some("from_code", code("changed from ").map(|code| code.to_string()));
    let Some(code) = code(") to ") else { return };
    said.facts.set("action_code", code.to_string());
    let (action, note) = match code {
        0 => ("none", "the driver no longer asks for anything"),
        1 => ("reset_gpu", "the driver asks for a reset of the GPU"),
        2 => ("reboot", "the driver asks for a reboot of the node"),
        3 => ("drain_p2p", "the driver asks for peer-to-peer traffic to be drained"),
        4 => ("drain_and_reset", "the driver asks for the GPU to be drained and reset"),
        5 => ("recover_imex", "the driver asks for the IMEX domain to be recovered"),
        _ => return,
    };
    said.facts.set("action", action);
    said.facts.set("note", note);
}

/// What follows a marker.
fn after<'a>(text: &'a str, marker: &str) -> Option<&'a str> {
    text.split_once(marker).map(|(_, rest)| rest)
}

/// The decimal number that a text begins with.
fn leading_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    text[..end].parse().ok()
}

#[cfg(test)]
mod tests {
    use firstfault_plugin::testing::MemoryTables;

    use super::*;
    use crate::line::parse;

    fn said(text: &str) -> Said {
        let tables = MemoryTables::new()
            .row(
                "nvlink5_reason",
                "2",
                &[("meaning", "bit errors on this link's own signal path"), ("side", "local")],
            )
            .row("nvlink5_reason", "33", &[("meaning", "the peer disabled the link"), ("side", "remote")]);
        read(&parse(&format!("NVRM: Xid (PCI:0000:1b:00): {text}")).unwrap(), &tables)
    }

    fn check(text: &str, link: Option<u32>, facts: &[(&str, &str)]) {
        let said = said(text);
        assert_eq!(said.link, link, "{text}");
        for (key, value) in facts {
            let value = Some(*value).filter(|value| !value.is_empty());
            assert_eq!(said.facts.get(key), value, "{key} of {text}");
        }
    }

    #[test]
    fn causes_are_stated_unless_they_are_the_same() {
        check(
            "45, pid=4, name=python3, Ch 0000000c caused by previous Xid 145",
            None,
            &[("caused_by", "xid.145")],
        );
        check("45, Ch 0000000c caused by previous Xid 45", None, &[("caused_by", ""), ("note", "")]);
        check("45, Ch 0000000c caused by previous Xid ", None, &[("caused_by", "")]);
    }

    #[test]
    fn shaders_and_addresses() {
        check(
            "13, pid=2, name=a, Graphics SM Warp Exception on (GPC 1, TPC 10, SM 1): Illegal Instruction",
            None,
            &[("gpc", "1"), ("tpc", "10"), ("sm", "1"), ("reason_text", "Illegal Instruction")],
        );
        check("13, Graphics Exception: ESR 0x51fc30=0x224", None, &[("gpc", ""), ("reason_text", "")]);
        check(
            "31, pid=7, name=t, Ch 00000008, intr 0. MMU Fault: ENGINE GRAPHICS GPC6 GPCCLIENT_T1_13 faulted @ 0x6f6f_320c2000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
            None,
            &[
                ("engine", "GRAPHICS"),
                ("gpc", "6"),
                ("client", "GPCCLIENT_T1_13"),
                ("address", "0x6f6f_320c2000"),
                ("fault", "FAULT_PDE"),
                ("access", "VIRT_READ"),
            ],
        );
        check("31, Ch 0000000b, engmask 00000120, intr 10000000", None, &[("engine", ""), ("fault", "")]);
    }

    #[test]
    fn memory() {
        check(
            "63, Row Remapper: New row marked for remapping, reset gpu to activate.",
            None,
            &[("repair", "row_remap_pending")],
        );
        check(
            "63, Dynamic Page Retirement: New retired page, reload the driver to activate. (0x0)",
            None,
            &[("repair", "page_retire_pending")],
        );
        check(
            "64, Dynamic Page Retirement: Fatal error, unable to retire page (0x0)",
            None,
            &[("repair", "page_retire_failed")],
        );
        check("64, Row Remapper: Failed to remap", None, &[("repair", "row_remap_failed")]);
        check("63, something else", None, &[("repair", ""), ("note", "")]);
        check(
            "94, Contained: FB DED (0x9, 0x1). physAddr: 0x01a2b3c400 RST: No, D-RST: Yes",
            None,
            &[
                ("contained", "yes"),
                ("unit", "FB DED"),
                ("reset_needed", "no"),
                ("drain_and_reset_needed", "yes"),
            ],
        );
        check(
            "95, Uncontained: LTC TAG (0x2). RST: Yes, D-RST: No",
            None,
            &[("contained", "no"), ("unit", "LTC TAG"), ("reset_needed", "yes")],
        );
        check("95, pid=1, something", None, &[("contained", "")]);
        check("172, GSP-RISCV, Uncorrectable SRAM error", None, &[("unit", "GSP-RISCV")]);
    }

    #[test]
    fn links() {
        check("74, NVLink: fatal error detected on link 14(0x0, 0x0, 0x10000, 0x0)", Some(14), &[]);
        check(
            "74, NVLink: Failed to train link 3 to remote PCI:0000:C3:00",
            Some(3),
            &[("remote_gpu", "0000:c3:00"), ("phase", "training")],
        );
        check("136, NVLink: Link training failed for links 0x3f(0x0)", None, &[("links_mask", "0x3f")]);
        check("136, NVLink: Link training failed for link 5(0x0)", Some(5), &[]);
        check("137, RLW_RXPIPE interrupt hit on link 11 on GPU0: PRIV Error", Some(11), &[]);
        check(
            "149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 (0x002505c6 0x00000000 0x0 0x0 0x0 0x0)",
            Some(9),
            &[
                ("sub", "NETIR_LINK_EVT"),
                ("severity", "fatal"),
                ("reason", "2"),
                ("reason_side", "local"),
                ("rank_of", ""),
                ("note", "link-down reason 2: bit errors on this link's own signal path"),
            ],
        );
        check(
            "149, NETIR_LINK_EVT Fatal XC0 i0 Link 15 (0x0215e5c6 0x0 0x0 0x0 0x0 0x0)",
            Some(15),
            &[("reason", "33"), ("reason_side", "remote"), ("rank_of", "70")],
        );
        check(
            "149, NETIR_LINK_EVT Fatal XC0 i0 Link 15 (0x004505c6 0x0 0x0 0x0 0x0 0x0)",
            Some(15),
            &[("reason", "4"), ("reason_side", ""), ("note", "link-down reason 4")],
        );
        check(
            "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x040868e2 0x00000008 0x0)",
            Some(3),
            &[("severity", "nonfatal"), ("reason", ""), ("status", "0x00000008")],
        );
        check("149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x0)", None, &[("sub", "NETIR"), ("reason", "")]);
        check(
            "155, NVLINK_SW_DEFINED_ERROR  Fatal   XC0 i0 Link 05 : Link Down While Active.",
            Some(5),
            &[("text", "Link Down While Active.")],
        );
    }

    #[test]
    fn firmware() {
        check(
            "119, pid=2024380, name=nvidia-smi, Timeout after 6s of waiting for RPC response from GPU4 GSP! Expected function 103 (GSP_RM_ALLOC) (0x2081 0x4).",
            None,
            &[
                ("before_ms", "6000"),
                ("function", "GSP_RM_ALLOC"),
                ("note", "nvidia-smi was waiting for the GPU's firmware when it gave no answer"),
            ],
        );
        check(
            "119, Timeout waiting for RPC from GSP0! Expected function 76 (0x0 0x0).",
            None,
            &[("function", "")],
        );
        check(
            "119, pid=430, name=nv_queue, Timeout waiting for RPC from GSP!",
            None,
            &[("before_ms", ""), ("function", "")],
        );
    }

    #[test]
    fn advice_is_read_by_its_code() {
        let cases = [
            ("0x0 (None) to 0x1 (PF FLR)", "0", "1", "reset_gpu"),
            ("0x1 (GPU Reset Required) to 0x0 (None)", "1", "0", "none"),
            ("0x0 (None) to 0x2 (OS Reboot)", "0", "2", "reboot"),
            ("0x0 (None) to 0x4 (Drain and Reset)", "0", "4", "drain_and_reset"),
            ("0x4 (Drain and Reset) to 0x3 (x", "4", "3", "drain_p2p"),
            ("0x0 (None) to 0x5 (x)", "0", "5", "recover_imex"),
        ];
        for (change, from, to, action) in cases {
            let text = format!("154, GPU recovery action changed from {change}");
            check(&text, None, &[("from_code", from), ("action_code", to), ("action", action)]);
        }
        check(
            "154, GPU recovery action changed from 0x0 (None) to 0xf (New)",
            None,
            &[("action_code", "15"), ("action", "")],
        );
        check("154 (", None, &[("action_code", ""), ("action", "")]);
    }
}
