//! Whatever a line says, what is made of it keeps the rules of the interface: one breach would void all that the module found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "../../../host/model/tests/support/edited.rs"]
mod edited;
#[path = "../../rules_of_events.rs"]
mod rules_of_events;

use edited::edited;
use firstfault_plugin::Hit;
use firstfault_plugin::testing::MemoryTables;
use firstfault_plugin_xid::{extract, line, nvlink5, sxid};
use proptest::prelude::*;
use proptest::sample::Index;
use rules_of_events::assert_kept;

const LINES: &[&str] = &[
    "NVRM: Xid (PCI:0000:c4:00): 149, pid=675990, name=pt_main_thread, NETIR_LINK_EVT  Fatal   XC0 i0 Link 11 (0x004165c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    "NVRM: Xid (PCI:0000:c4:00): 145, RLW_REMAP  Nonfatal XC1 i0 Link -1 (0x00000004 0x80000000)",
    "NVRM: Xid (PCI:0000:c4:00): 154, pid=1, name=python3, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
    "NVRM: Xid (PCI:0000:c4:00 GPU-I:01 GPU-CI:02): 31, pid=90311, name=nv prof: 1, Ch 00000012, intr 00000000. MMU Fault: ENGINE CE3 HUBCLIENT_CE1 faulted @ 0x7f_00000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    "NVRM: Xid (0000:c4:00.0): 45, Ch 00000001, caused by previous Xid 149",
    "NVRM: Xid (PCI:0000:c4:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    "NVRM: Xid (PCI:0000:c4:00): 48, pid=1234, DBE (double bit error) ECC Error",
    "NVRM: Xid (PCI:0000:c4:00): 63, Row Remapper: New row (0x0000000001) marked for remapping, reset gpu to activate.",
    "NVRM: Xid (PCI:0000:c4:00): 119, pid=4, name=x, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20800a4c 0x4).",
    "NVRM: Xid (PCI:0000:c4:00): 13, pid=9, Graphics SM Warp Exception on (GPC 0, TPC 1, SM 0): Out Of Range Address",
    "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 19084, Non-fatal, Link 46 AN1 Heartbeat Timeout Error",
    "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up (First)",
    "NVRM: GPU 0000:c4:00.0: GPU has fallen off the bus.",
    "NVRM: GPU at PCI:0000:c4:00: GPU-00000000-0000-0000-0000-000000000000",
];

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

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines(text in edited(LINES), reason in edited(&["4", "local"])) {
        let tables = MemoryTables::new()
            .row("nvlink5.link_down", "4", &[("meaning", &reason), ("side", "local")])
            .row("nvlink5.status", "4", &[("meaning", &reason)]);
        if let Some(line) = line::parse(&text) {
            prop_assert!(text.contains(line.pci) && text.contains(line.body));
            prop_assert!(line.number < 10_000);
            if let Some(record) = nvlink5::parse(line.body) {
                prop_assert!(record.reason(line.number).is_none_or(|reason| reason < 64));
            }
        }
        _ = sxid::parse(&text);
        let hits = ["xid", "sxid", "gpu_lost", "gpu_lost_at_probe", "none"].map(|signature| hit(signature, &text));
        assert_kept(&extract::events(&hits, &tables), hits.len());
    }

    /// Text of a kind that no driver writes, and as long as a line may be.
    #[test]
    fn long_lines(line in edited(LINES), at: Index, filler in "[ -~]{1,3}", times in 0..20_000_usize) {
        let at = line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(at.index(line.chars().count() + 1)).unwrap();
        let (head, tail) = line.split_at(at);
        let text = format!("{head}{}{tail}", filler.repeat(times));
        let hits = ["xid", "sxid", "gpu_lost"].map(|signature| hit(signature, &text));
        assert_kept(&extract::events(&hits, &MemoryTables::new()), hits.len());
    }
}
