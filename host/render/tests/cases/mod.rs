//! Diagnoses made by hand, each with what one kind of failure has.

use firstfault_model::diagnosis::*;
use firstfault_model::event::Basis;
use firstfault_model::place::PciBusId;
use firstfault_model::source::Trust;
use firstfault_model::taxonomy::{Domain, ExcludeScope, Owner, Restart};
use firstfault_model::time::Timestamp;

pub(crate) fn at(clock: &str) -> Timestamp {
    Timestamp::parse(&format!("2026-09-14T{clock}Z")).unwrap()
}

fn hex(digit: &str) -> String {
    format!("sha256:{}", digit.repeat(16))
}

/// A diagnosis of 16 nodes with 128 ranks in which nothing was found yet.
pub(crate) fn empty(verdict: Verdict, state: TerminalState, summary: &str) -> Diagnosis {
    Diagnosis {
        schema: SCHEMA.into(),
        id: "d-1".into(),
        revision: Revision {
            number: 1,
            status: RevisionStatus::Final,
            supersedes: None,
            changed: vec![],
            next_at: None,
        },
        finding: Finding {
            verdict,
            summary: summary.into(),
            workload: Workload {
                scheduler: Some("slurm".into()),
                cluster: Some("lyra".into()),
                id: Some("90417".into()),
                attempt: Some(1),
                name: Some("moe-18b-pretrain".into()),
                user: Some("mreyes".into()),
                node_count: 16,
                nodes: "lyra-[041-056]".into(),
                rank_count: Some(128),
                start: Some(at("03:12:40")),
                end: Some(at("04:47:45")),
                ..Workload::default()
            },
            lineage: Lineage::default(),
            terminal_state: state,
            terminal: Terminal {
                state,
                raw: None,
                reason: Some("NonZeroExitCode".into()),
                requeued: None,
                exit: Exit { code: Some(1), signal: None, marker: None, trust: "exact".into() },
                source: "context".into(),
                ended_by_uid: None,
                failed_step: None,
            },
            progress: None,
            hang: None,
            root_causes: vec![],
            suspects: vec![],
            symptoms: vec![],
            ruled_out: vec![],
            context: vec![],
            responsible: Responsible::default(),
            affected: Affected::default(),
            decision: Decision {
                fault_class: FaultClass::None,
                owner: Owner::None,
                restart: RestartDecision {
                    advice: Restart::Unknown,
                    same_root_attempts: 0,
                    reason: String::new(),
                },
                exclude: vec![],
            },
            evidence: vec![],
            coverage: vec![
                coverage("app", 16, 16, ""),
                coverage("kernel", 16, 16, ""),
                Coverage { status: CoverageStatus::NotConfigured, ..coverage("fabric_manager", 0, 0, "") },
                Coverage { status: CoverageStatus::NotConfigured, ..coverage("metric", 0, 0, "") },
            ],
            could_change_the_verdict: vec![],
            unrecognised: vec![],
            limits: vec![],
            clocks: vec![],
            not_read: vec![],
        },
        provenance: Provenance {
            engine: "0.1.0".into(),
            rules_generation: hex("3f9c"),
            packs: vec![],
            plugins: vec![],
            evidence_digest: hex("77ab"),
            diagnosis_digest: hex("0123"),
        },
    }
}

pub(crate) fn coverage(source: &str, expected: u32, seen: u32, missing: &str) -> Coverage {
    let complete = missing.is_empty();
    Coverage {
        collector: "files".into(),
        source: source.into(),
        nodes_expected: expected,
        nodes_seen: seen,
        nodes_missing: missing.into(),
        status: if complete { CoverageStatus::Ok } else { CoverageStatus::Partial },
        window_asked: None,
        first: None,
        last: None,
        lines: 10,
        bytes: 1000,
        matched: 1,
        dropped: 0,
        loss_markers: 0,
        join: "ok".into(),
        errors: vec![],
    }
}

pub(crate) fn evidence(id: &str, source: &str, node: &str, line: u64, text: &str) -> Evidence {
    Evidence {
        id: id.into(),
        source: source.into(),
        trust: Trust::Host,
        node: Some(node.into()),
        stream: format!("logs/{node}/{source}.log"),
        line_number: line,
        byte_offset: 0,
        time: None,
        time_source: None,
        text: text.into(),
        cut: false,
        digest: hex("aa00"),
    }
}

pub(crate) fn onset(from: &str, to: &str, source: &str) -> Onset {
    Onset { from: at(from), to: Some(at(to)), time_source: source.into(), reported_at: None }
}

pub(crate) fn root(id: &str, symptom: &str, title: &str, domain: Domain, sub: &str) -> RootCause {
    RootCause {
        id: id.into(),
        symptom: symptom.into(),
        title: title.into(),
        domain,
        sub_domain: sub.into(),
        confidence: Confidence::Established,
        confidence_reason: String::new(),
        relation: Relation::Independent,
        place: PlaceFields::default(),
        onset: None,
        count: 1,
        count_is: "exact".into(),
        explanation: String::new(),
        recommended_action: String::new(),
        evidence: vec![],
        rule: "xid/xid.149".into(),
        explains: vec![],
    }
}

pub(crate) fn group(id: &str, symptom: &str, title: &str, first: &str) -> SymptomGroup {
    SymptomGroup {
        id: id.into(),
        symptom: symptom.into(),
        title: title.into(),
        role: "effect".into(),
        caused_by: vec![],
        nodes: String::new(),
        node_count: 0,
        ranks: String::new(),
        rank_count: 0,
        count: 1,
        first: Some(at(first)),
        last: None,
        reported: None,
        notes: vec![],
        evidence: vec![],
    }
}

fn watchdog(ranks: u32) -> SymptomGroup {
    SymptomGroup {
        rank_count: ranks,
        node_count: 16,
        nodes: "lyra-[041-056]".into(),
        count: u64::from(ranks),
        reported: Some(Reported { first: at("04:47:22.035"), last: at("04:47:25.418") }),
        ..group("s3", "nccl.watchdog_timeout", "collective timed out", "04:37:22.102")
    }
}

fn exits() -> SymptomGroup {
    SymptomGroup {
        node_count: 16,
        nodes: "lyra-[041-056]".into(),
        rank_count: 127,
        ranks: "0-53,55-127".into(),
        count: 127,
        ..group("s4", "launcher.child_exit", "the launcher saw a process fail", "04:47:25")
    }
}

fn gpu(index: u32, bus: &str) -> GpuRef {
    GpuRef { index: Some(index), pci_bus_id: PciBusId::parse(bus), ..GpuRef::default() }
}

pub(crate) fn hardware() -> Diagnosis {
    let mut d = empty(
        Verdict::Attributed,
        TerminalState::Failed,
        "GPU 6 (0000:c4:00) on lyra-047 lost an NVLink: XID 149, link 11, at 04:37:21 UTC; 127 ranks on all 16 nodes then waited in NCCL until 04:47 and are not at fault.",
    );
    let f = &mut d.finding;
    f.progress = Some(Progress {
        last_step: Some(7361),
        last_time: Some(at("04:37:19")),
        median_step_ms: Some(4180),
        stalled_for_ms: Some(626_000),
        marker: "megatron".into(),
    });
    f.root_causes.push(RootCause {
        place: PlaceFields {
            node: Some("lyra-047".into()),
            gpus: vec![gpu(6, "c4:00")],
            ranks: vec![54],
            ..PlaceFields::default()
        },
        onset: Some(onset("04:37:21.418", "04:37:21.418", "line")),
        explanation: "The link went down for good. Link-down reason 4: alignment was lost on this link's own signal path.".into(),
        confidence_reason: "a line of the node itself, and every other node's kernel log is complete and clean".into(),
        recommended_action: "Drain lyra-047 and reset GPU 6; if it returns within a day, follow the NVLink 5 workflow.".into(),
        evidence: vec!["e1".into()],
        explains: vec!["s1".into(), "s3".into()],
        ..root("r1", "xid.149", "NVLink went down", Domain::Hardware, "nvlink")
    });
    f.symptoms = vec![
        exits(),
        watchdog(127),
        SymptomGroup {
            role: "advice".into(),
            node_count: 1,
            nodes: "lyra-047".into(),
            notes: vec!["advice: drain and reset".into()],
            ..group("s2", "xid.154", "recovery action", "04:37:21.809")
        },
        SymptomGroup {
            node_count: 1,
            nodes: "lyra-047".into(),
            rank_count: 1,
            ranks: "54".into(),
            count: 10,
            caused_by: vec![CausedBy { id: "r1".into(), edge: "stated".into(), basis: Basis::Stated }],
            ..group("s1", "xid.45", "channels removed", "04:37:21.665")
        },
    ];
    f.affected = Affected {
        node_count: 16,
        rank_count: 127,
        nodes: "lyra-[041-056]".into(),
        ranks: "0-53,55-127".into(),
    };
    f.evidence.push(evidence(
        "e1",
        "kernel",
        "lyra-047",
        15,
        "2026-09-14T04:37:21.418203+00:00 lyra-047 kernel: [1770873.331098] NVRM: Xid (PCI:0000:c4:00): 149, pid=675990, name=pt_main_thread, NETIR_LINK_EVT  Fatal   XC0 i0 Link 11 (0x004165c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
    ));
    f.could_change_the_verdict.push(Missing {
        id: "m1".into(),
        missing: "fabric manager log of lyra-047".into(),
        why: "whether the switch end of link 11 failed first".into(),
        source: "fabric_manager".into(),
        node: Some("lyra-047".into()),
        from: Some(at("04:32:21")),
        to: Some(at("04:42:21")),
        command: Some("ssh lyra-047 sudo journalctl -u nvidia-fabricmanager --since '2026-09-14 04:32' --until '2026-09-14 04:43' --utc -o short-iso-precise".into()),
    });
    f.decision = Decision {
        fault_class: FaultClass::Infrastructure,
        owner: Owner::Hardware,
        restart: RestartDecision {
            advice: Restart::RetryElsewhere,
            same_root_attempts: 1,
            reason: "the fault lasts until the GPU is reset".into(),
        },
        exclude: vec![Exclude {
            scope: ExcludeScope::Gpu,
            id: "0000:c4:00".into(),
            node: Some("lyra-047".into()),
            action: ExcludeAction::ResetGpu,
            action_source: "xid_154".into(),
            actionable: false,
            blocked_by: vec!["evidence_unverified".into()],
            valid_while: ValidWhile { boot_id: None, until: "gpu_reset".into() },
        }],
    };
    d
}

pub(crate) fn no_kernel_log() -> Diagnosis {
    let mut d = empty(
        Verdict::Undetermined,
        TerminalState::Failed,
        "Rank 54 on lyra-047 fell silent at about 04:37:22 UTC while 127 ranks waited for it; why is not shown, and the kernel log of lyra-047 is missing.",
    );
    let f = &mut d.finding;
    f.suspects.push(Suspect {
        id: "u1".into(),
        symptom: "nccl.silent_rank".into(),
        title: "the one rank that reports nothing".into(),
        domain: Domain::Undetermined,
        sub_domain: "hang".into(),
        place: PlaceFields {
            node: Some("lyra-047".into()),
            gpus: vec![gpu(6, "c4:00")],
            ranks: vec![54],
            ..PlaceFields::default()
        },
        why: "All other ranks of the group report the same collective; this one never joined it.".into(),
        decided_by: vec!["m1".into()],
        evidence: vec!["e1".into()],
    });
    f.symptoms = vec![watchdog(127), exits()];
    f.affected = Affected { node_count: 16, rank_count: 127, ..Affected::default() };
    f.evidence = vec![
        evidence(
            "e1",
            "app",
            "lyra-041",
            13,
            "[rank3]:[E914 04:47:22.414869968 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=39390, OpType=ALLREDUCE, NumelIn=117440512, NumelOut=117440512, Timeout(ms)=600000) ran for 600072 milliseconds before timing out.",
        ),
        evidence("e2", "syslog", "lyra-047", 99, "nvidia-persistenced: failed to query device 6: error 15"),
    ];
    f.coverage = vec![
        coverage("app", 16, 16, ""),
        Coverage { loss_markers: 2, ..coverage("kernel", 16, 15, "lyra-047") },
        Coverage {
            status: CoverageStatus::Failed,
            errors: vec!["the log store answered 503 after three tries".into()],
            ..coverage("syslog", 16, 0, "")
        },
        Coverage { status: CoverageStatus::NotConfigured, ..coverage("fabric_manager", 0, 0, "") },
        Coverage { status: CoverageStatus::NotObservable, ..coverage("metric", 0, 0, "") },
    ];
    f.could_change_the_verdict.push(Missing {
        id: "m1".into(),
        missing: "kernel log of lyra-047".into(),
        why: "whether its GPU, a link or the node failed first".into(),
        source: "kernel".into(),
        node: Some("lyra-047".into()),
        from: Some(at("04:22:22")),
        to: Some(at("04:48:45")),
        command: Some("ssh lyra-047 journalctl -k --since '2026-09-14 04:22'".into()),
    });
    f.unrecognised.push(Unrecognised {
        evidence: "e2".into(),
        node: Some("lyra-047".into()),
        source: "syslog".into(),
    });
    f.clocks.push(Clock {
        node: "lyra-050".into(),
        offset_ms: -75_300,
        uncertainty_ms: 1400,
        method: "collective".into(),
    });
    f.decision.fault_class = FaultClass::Undetermined;
    f.not_read.push(NotRead {
        path: "logs/lyra-049/core.675990".into(),
        reason: "not a log: holds binary data".into(),
    });
    f.limits.push(LimitReached { what: "hits_per_signature".into(), cap: 10_000, dropped: 312 });
    d.revision.status = RevisionStatus::Provisional;
    d.provenance.plugins.push(PluginRef {
        name: "site-rules".into(),
        version: "1.0.0".into(),
        digest: hex("bb00"),
        status: "out_of_fuel".into(),
        detail: Some("in extract, batch 3".into()),
    });
    d
}

pub(crate) fn no_fault() -> Diagnosis {
    let mut d = empty(
        Verdict::NoFault,
        TerminalState::Completed,
        "The job completed; nothing that was seen is a fault.",
    );
    d.finding.terminal.exit.code = Some(0);
    d.finding.terminal.reason = Some("None".into());
    d.finding.symptoms.push(SymptomGroup {
        count: 64,
        ..group("s1", "nccl.peer_closed", "a connection ended", "04:47:40")
    });
    d.finding.context.push(ContextEntry {
        id: "c1".into(),
        symptom: "xid.45".into(),
        title: "channels removed".into(),
        nodes: "lyra-041".into(),
        count: 6,
        first: Some(at("04:47:41")),
    });
    d
}

pub(crate) fn time_limit() -> Diagnosis {
    let mut d = empty(
        Verdict::Attributed,
        TerminalState::Timeout,
        "The job used up its wall time at 04:47:42 UTC while it was making progress.",
    );
    let f = &mut d.finding;
    f.terminal.reason = Some("TimeLimit".into());
    f.terminal.exit = Exit { code: Some(0), signal: Some(15), marker: None, trust: "exact".into() };
    f.root_causes.push(RootCause {
        onset: Some(onset("04:47:42", "04:47:42", "line")),
        explanation: "Slurm ended the job because its time limit was reached.".into(),
        confidence_reason: "the scheduler's own record".into(),
        recommended_action: "Restart from the last checkpoint; ask for more time if it cannot be split."
            .into(),
        evidence: vec!["e1".into()],
        ..root("r1", "slurm.time_limit", "time limit reached", Domain::Scheduler, "time_limit")
    });
    f.evidence.push(Evidence {
        node: None,
        stream: "logs/scheduler.log".into(),
        ..evidence("e1", "scheduler", "", 2, "[2026-09-14T04:47:42.000] Time limit exhausted for JobId=90417")
    });
    f.decision.fault_class = FaultClass::Scheduler;
    f.decision.owner = Owner::Scheduler;
    f.decision.restart =
        RestartDecision { advice: Restart::Retry, same_root_attempts: 3, reason: String::new() };
    f.lineage.previous = vec![
        PreviousAttempt {
            attempt: 2,
            diagnosis: None,
            root: Some("slurm.time_limit".into()),
            places: vec![],
        },
        PreviousAttempt {
            attempt: 1,
            diagnosis: None,
            root: Some("xid.79".into()),
            places: vec!["lyra-044".into()],
        },
    ];
    d
}

pub(crate) fn gpu_out_of_memory() -> Diagnosis {
    let mut d = empty(
        Verdict::Attributed,
        TerminalState::Failed,
        "Rank 54 ran out of GPU memory: it asked for 5.25 GiB with 2.86 GiB free.",
    );
    let f = &mut d.finding;
    let text = "Traceback (most recent call last):\n  File \"/workspace/pretrain.py\", line 412, in <module>\n    main(parse_args())\n  File \"/workspace/pretrain.py\", line 377, in main\n    loss = train_step(model, batch, optimizer)\n  File \"/workspace/engine/step.py\", line 88, in train_step\n    logits = model(batch)\n  File \"/workspace/model/mlp.py\", line 61, in forward\n    gate = torch.nn.functional.silu(self.w1(x)) * self.w3(x)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 5.25 GiB. GPU 6 has a total capacity of 79.11 GiB of which 2.86 GiB is free. Including non-PyTorch memory, this process has 76.24 GiB memory in use. Of the allocated memory 71.90 GiB is allocated by PyTorch, and 2.03 GiB is reserved by PyTorch but unallocated.";
    f.root_causes.push(RootCause {
        place: PlaceFields { node: Some("lyra-047".into()), ranks: vec![54], ..PlaceFields::default() },
        onset: Some(Onset {
            reported_at: Some(at("04:37:33")),
            ..onset("04:36:12", "04:37:23", "neighbour")
        }),
        confidence: Confidence::Probable,
        confidence_reason: "the exception has no time of its own; it lies between lines that have one".into(),
        explanation: "The program asked for more GPU memory than was free.".into(),
        recommended_action: "Lower the batch or sequence length, or shard further; then restart.".into(),
        evidence: vec!["e1".into(), "e2".into(), "e3".into()],
        ..root(
            "r1",
            "python.cuda_out_of_memory",
            "CUDA out of memory",
            Domain::Application,
            "gpu_out_of_memory",
        )
    });
    f.symptoms = vec![
        SymptomGroup {
            node_count: 1,
            nodes: "lyra-047".into(),
            rank_count: 7,
            ranks: "48-53,55".into(),
            count: 7,
            ..group("s1", "nccl.local_peer_closed", "a connection on the node ended", "04:37:23")
        },
        watchdog(127),
        exits(),
    ];
    f.affected = Affected { node_count: 16, rank_count: 127, ..Affected::default() };
    f.evidence = vec![
        Evidence { trust: Trust::Workload, cut: true, ..evidence("e1", "app", "lyra-047", 4711, text) },
        evidence("e2", "app", "lyra-047", 4730, "a second line"),
        evidence("e3", "app", "lyra-047", 4731, "a third line"),
    ];
    f.decision.fault_class = FaultClass::Application;
    f.decision.owner = Owner::User;
    f.decision.restart = RestartDecision {
        advice: Restart::FixFirst,
        same_root_attempts: 1,
        reason: "it will run out of memory again".into(),
    };
    d
}

pub(crate) fn two_roots() -> Diagnosis {
    let mut d = hardware();
    let f = &mut d.finding;
    f.summary = "Two faults fit: an NVLink of GPU 6 on lyra-047 (XID 149), and a port of lyra-050 that went down; the order of the two is within the uncertainty of their clocks.".into();
    for first in &mut f.root_causes {
        first.confidence = Confidence::Suspected;
        first.relation = Relation::Alternative;
        first.confidence_reason = "another fault would explain the same effects".into();
    }
    f.root_causes.push(RootCause {
        confidence: Confidence::Suspected,
        confidence_reason: "another fault would explain the same effects".into(),
        relation: Relation::Alternative,
        place: PlaceFields {
            node: Some("lyra-050".into()),
            port: Some(PortRef {
                device: "mlx5_4".into(),
                number: Some(1),
                switch: Some("lyra-leaf-02".into()),
                switch_port: Some("17".into()),
                guid: None,
            }),
            ..PlaceFields::default()
        },
        onset: Some(onset("04:37:20.900", "04:37:22.900", "line_and_context")),
        count: 2,
        explanation: "The adapter lost its link.".into(),
        recommended_action: "Have the cable and the port looked at.".into(),
        evidence: vec!["e2".into()],
        ..root("r2", "kernel.mlx5_link_down", "adapter link down", Domain::Network, "rdma_link")
    });
    f.evidence.push(evidence("e2", "kernel", "lyra-050", 77, "mlx5_core 0000:9a:00.0 ib4: Link down"));
    d
}
