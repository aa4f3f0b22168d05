//! What people see, kept as files, and what holds for every diagnosis whatever it contains.

#![allow(clippy::unwrap_used, reason = "helpers of tests may fail a test")]

mod cases;

use std::collections::BTreeSet;

use cases::{at, evidence, group};
use firstfault_model::diagnosis::{Diagnosis, SymptomGroup};
use firstfault_model::taxonomy::Domain;
use firstfault_render::{CodeExplanation, TextOptions, explanation, text};

fn all() -> Vec<(&'static str, Diagnosis)> {
    vec![
        ("hardware", cases::hardware()),
        ("no_kernel_log", cases::no_kernel_log()),
        ("no_fault", cases::no_fault()),
        ("time_limit", cases::time_limit()),
        ("gpu_out_of_memory", cases::gpu_out_of_memory()),
        ("two_roots", cases::two_roots()),
    ]
}

fn options() -> TextOptions {
    TextOptions { arguments: Some("cases/90417.1.ffcase".into()), ..TextOptions::default() }
}

fn xid_149() -> CodeExplanation {
    CodeExplanation {
        kind: "xid".into(),
        number: 149,
        mnemonic: Some("NVLINK_NETIR_ERROR".into()),
        title: "NVLink went down".into(),
        meaning: "The link layer of an NVLink reports an event. A fatal one means that the link is down until the GPU is reset; the link-down reason tells whether this end, the far end or an operator caused it.".into(),
        role: "cause".into(),
        domain: Some(Domain::Hardware),
        sub_domain: Some("nvlink".into()),
        action: "Drain the node and reset the GPU.".into(),
        explained_by: vec!["xid.79".into(), "sxid.*".into()],
        explains: ["xid.45", "xid.145", "xid.154", "nccl.watchdog_timeout", "nccl.silent_rank", "cuda.nvlink_error"]
            .map(String::from)
            .to_vec(),
        gpus: vec!["B200".into(), "GB200".into()],
    }
}

#[test]
fn what_people_see() {
    for (name, diagnosis) in all() {
        insta::assert_snapshot!(name, text(&diagnosis, &options()));
    }
    insta::assert_snapshot!(
        "hardware_narrow",
        text(&cases::hardware(), &TextOptions { width: 48, ..options() })
    );
    insta::assert_snapshot!("explain_xid_149", explanation(&xid_149(), &options()));
    let unknown = CodeExplanation { kind: "xid".into(), number: 199, ..CodeExplanation::default() };
    insta::assert_snapshot!("explain_unknown", explanation(&unknown, &options()));
}

#[test]
fn no_line_is_wider_than_asked() {
    for (name, diagnosis) in all() {
        for width in (40..130).chain([400]) {
            for line in text(&diagnosis, &TextOptions { width, ..options() }).lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
                assert_eq!(line.trim_end(), line, "{name} at {width}: blanks at the end");
            }
        }
        for line in explanation(&xid_149(), &TextOptions { width: 40, ..options() }).lines() {
            assert!(line.chars().count() <= 40, "{line}");
        }
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, diagnosis) in all() {
        let plain = text(&diagnosis, &options());
        let coloured = text(&diagnosis, &TextOptions { color: true, ..options() });
        assert!(!plain.contains('\u{1b}'), "{name}");
        assert_ne!(plain, coloured, "{name}");
        assert_eq!(strip(&coloured), plain, "{name}");
    }
}

/// Without the sequences that select a colour.
fn strip(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    // A line may end in blanks where a sequence stands behind them.
    (out + rest).lines().map(|l| l.trim_end().to_owned() + "\n").collect()
}

#[test]
fn the_verdict_has_its_colour() {
    let coloured = |d: &Diagnosis| text(d, &TextOptions { color: true, ..options() });
    assert!(coloured(&cases::hardware()).contains("\u{1b}[1;31mROOT CAUSE"));
    assert!(coloured(&cases::no_kernel_log()).contains("\u{1b}[1;33mundetermined"));
    assert!(coloured(&cases::no_fault()).contains("\u{1b}[1;32mno fault"));
    assert!(coloured(&cases::no_fault()).contains("\u{1b}[1mCOVERAGE"));
}

#[test]
fn hostile_text_stays_text() {
    const HOSTILE: &str = "\u{1b}[2J\u{1b}]0;pwned\u{7}\u{202e}evil\u{2066}\u{9b}1m\r\u{8}";
    for (name, diagnosis) in all() {
        // Every string of the document that is free text, by way of its JSON-like fields.
        let mut d = diagnosis;
        let f = &mut d.finding;
        let w = &mut f.workload;
        for field in [&mut w.scheduler, &mut w.id, &mut w.name, &mut w.user, &mut f.terminal.reason] {
            *field = Some(HOSTILE.into());
        }
        w.nodes = HOSTILE.into();
        f.summary = format!("{HOSTILE} {HOSTILE}");
        for r in &mut f.root_causes {
            r.place.node = Some(HOSTILE.into());
            r.place.component = Some(HOSTILE.into());
            for text in [
                &mut r.symptom,
                &mut r.title,
                &mut r.explanation,
                &mut r.recommended_action,
                &mut r.confidence_reason,
            ] {
                *text = HOSTILE.into();
            }
        }
        for s in &mut f.suspects {
            s.place.node = Some(HOSTILE.into());
            (s.why, s.title) = (HOSTILE.into(), HOSTILE.into());
        }
        for s in &mut f.symptoms {
            (s.symptom, s.title, s.nodes, s.ranks) =
                (HOSTILE.into(), HOSTILE.into(), HOSTILE.into(), HOSTILE.into());
            s.notes = vec![HOSTILE.into()];
        }
        for e in &mut f.evidence {
            e.stream = HOSTILE.into();
            e.text = format!("{HOSTILE}\n{HOSTILE}");
        }
        for c in &mut f.coverage {
            (c.source, c.nodes_missing, c.errors) = (HOSTILE.into(), HOSTILE.into(), vec![HOSTILE.into()]);
        }
        for m in &mut f.could_change_the_verdict {
            (m.missing, m.why, m.command) = (HOSTILE.into(), HOSTILE.into(), Some(HOSTILE.into()));
        }
        for n in &mut f.not_read {
            (n.path, n.reason) = (HOSTILE.into(), HOSTILE.into());
        }
        for e in &mut f.decision.exclude {
            (e.id, e.node, e.blocked_by) = (HOSTILE.into(), Some(HOSTILE.into()), vec![HOSTILE.into()]);
        }
        d.provenance.engine = HOSTILE.into();
        let shown = text(&d, &TextOptions { arguments: Some(HOSTILE.into()), ..options() });
        let bad: BTreeSet<char> = shown.chars().filter(|c| c.is_control() && *c != '\n').collect();
        assert!(bad.is_empty(), "{name}: {bad:?}");
        assert!(!shown.contains(['\u{202e}', '\u{2066}']), "{name}");
        assert!(shown.contains("\\x1b[2J"), "{name}");
        assert!(shown.lines().all(|l| l.chars().count() <= 80), "{name}");
    }
}

#[test]
fn a_long_timeline_is_cut_and_counted() {
    let mut d = cases::hardware();
    d.finding.symptoms = (0..30)
        .map(|i| SymptomGroup {
            rank_count: 1,
            ranks: i.to_string(),
            ..group(&format!("s{i}"), "nccl.peer_closed", "closed", "04:37:30")
        })
        .collect();
    let shown = text(&d, &options());
    assert!(shown.contains("... and 19 more"), "{shown}");
    assert_eq!(shown.matches("closed").count(), 11);
}

#[test]
fn another_day_is_told() {
    let mut d = cases::hardware();
    d.finding.workload.end = at("04:47:45").shifted(24 * firstfault_model::time::HOUR).into();
    let shown = text(&d, &options());
    assert!(shown.contains("2026-09-14 03:12:40 to 2026-09-15 04:47:45 UTC, 1 d 1 h"), "{shown}");
    assert!(shown.contains("09-14 04:37:21.418"), "{shown}");
}

#[test]
fn a_lower_bound_is_told() {
    let mut d = cases::two_roots();
    d.finding.root_causes[1].count_is = "lower_bound".into();
    assert!(text(&d, &options()).contains("kernel.mlx5_link_down x2+"));
}

#[test]
fn evidence_that_the_workload_quotes_is_marked() {
    let mut d = cases::hardware();
    let mut line = evidence("e1", "kernel", "lyra-047", 3, "NVRM: Xid (PCI:0000:c4:00): 149");
    line.trust = firstfault_model::source::Trust::Workload;
    d.finding.evidence = vec![line];
    assert!(text(&d, &options()).contains("quoted by the workload"));
}
