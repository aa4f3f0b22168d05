//! What the stages of the engine conclude together.

use firstfault_model::diagnosis::{Confidence, FaultClass, Relation, RuledOut, TerminalState, Verdict};
use firstfault_model::source::Source;

use crate::testing::{GPU, Small};

const KERNEL: Source = Source::Kernel;
const APP: Source = Source::App;

fn roots(small: &Small) -> Vec<(String, Option<String>)> {
    small.finding().root_causes.into_iter().map(|r| (r.symptom, r.place.node)).collect()
}

fn ruled_out(small: &Small) -> Vec<(String, RuledOut)> {
    small.finding().ruled_out.into_iter().map(|r| (r.symptom, r.why)).collect()
}

#[test]
fn a_fault_explains_the_time_outs_that_it_precedes() {
    let small = Small::new().event("gpu.fault", &KERNEL, "n1", &[GPU], 1800).timeouts(&[0, 1, 3], 1801);
    let finding = small.finding();
    assert_eq!(finding.verdict, Verdict::Attributed);
    let root = &finding.root_causes[0];
    assert_eq!((root.symptom.as_str(), root.place.node.as_deref()), ("gpu.fault", Some("n1")));
    assert_eq!(root.place.ranks, [2]);
    assert_eq!((root.confidence, root.relation), (Confidence::Established, Relation::Independent));
    assert_eq!(finding.affected.rank_count, 3);
    assert_eq!(finding.responsible.gpus, ["n1/0000:10:00"]);
    let symptom = &finding.symptoms[0];
    assert_eq!((symptom.symptom.as_str(), symptom.caused_by[0].id.as_str()), ("comm.timeout", "r1"));
}

#[test]
fn a_clock_within_its_bound_does_not_hide_the_cause() {
    for skew in [-40, 40] {
        let small =
            Small::new().event("gpu.fault", &KERNEL, "n1", &[GPU], 1800 + skew).timeouts(&[0, 1, 3], 1801);
        assert_eq!(roots(&small), [("gpu.fault".into(), Some("n1".into()))], "{skew}");
    }
    // Ten minutes after the ranks began to wait it is no cause of theirs.
    let small = Small::new().event("gpu.fault", &KERNEL, "n1", &[GPU], 2500).timeouts(&[0, 1, 3], 1801);
    assert!(small.finding().root_causes.iter().all(|r| r.explains.is_empty()));
}

#[test]
fn a_clock_that_is_far_off_is_estimated_from_what_all_waited_for() {
    // n1's clock is five minutes off: far more than what two clocks may differ by unseen.
    for skew in [-300, 300] {
        let small = Small::new()
            .event("gpu.fault", &KERNEL, "n1", &[GPU], 1800 + skew)
            .timeouts(&[0, 1], 1801)
            .timeouts(&[2, 3], 1801 + skew);
        let finding = small.finding();
        let root = &finding.root_causes[0];
        assert_eq!((root.symptom.as_str(), root.explains.len()), ("gpu.fault", 1), "{skew}");
        // Which of two clocks is right cannot be told; how far they are apart can.
        let clock = &finding.clocks[0];
        assert_eq!((clock.offset_ms.abs(), clock.uncertainty_ms), (300_000, 1000), "{skew}");
    }
}

#[test]
fn one_late_rank_is_no_clock() {
    let small = Small::new().timeouts(&[0, 1], 1801).timeouts(&[2], 2101);
    assert!(small.finding().clocks.is_empty());
    // Nor do ranks of one node that disagree tell its clock.
    let small = Small::new().timeouts(&[0, 1, 2], 1801).timeouts(&[3], 2101);
    assert!(small.finding().clocks.is_empty());
}

#[test]
fn effects_alone_are_undetermined_and_name_what_to_fetch() {
    let small = Small::new()
        .with_facts("comm.peer_lost", &APP, "n0", &[("rank", "0")], 1800, &[("peer_node", "n1")])
        .without(&KERNEL, "n1");
    let finding = small.finding();
    assert_eq!(finding.verdict, Verdict::Undetermined);
    assert_eq!(finding.suspects[0].place.node.as_deref(), Some("n1"));
    assert_eq!(finding.suspects[0].sub_domain, "peer_lost");
    let missing = &finding.could_change_the_verdict[0];
    assert_eq!((missing.source.as_str(), missing.node.as_deref()), ("kernel", Some("n1")));
    assert!(finding.responsible.nodes.is_empty() && finding.decision.exclude.is_empty());
}

#[test]
fn a_lasting_fault_of_before_counts_until_it_is_cleared() {
    let before =
        |symptom: &str| Small::new().event(symptom, &KERNEL, "n1", &[GPU], -5400).timeouts(&[0, 1, 3], 60);
    assert_eq!(roots(&before("gpu.lost")), [("gpu.lost".into(), Some("n1".into()))]);
    // One that leaves nothing behind ended with its own job.
    assert_eq!(before("gpu.fault").finding().verdict, Verdict::Undetermined);
    assert_eq!(ruled_out(&before("gpu.fault")), [("gpu.fault".into(), RuledOut::OutOfScope)]);
    let cleared =
        before("gpu.lost").with_facts("gpu.advice", &KERNEL, "n1", &[GPU], -3600, &[("action_code", "0")]);
    assert_eq!(cleared.finding().verdict, Verdict::Undetermined);
    assert!(ruled_out(&cleared).contains(&("gpu.lost".into(), RuledOut::Cleared)));
}

#[test]
fn a_device_that_is_not_the_attempts_says_nothing_about_it() {
    let small = Small::new()
        .event("gpu.fault", &KERNEL, "n1", &[("gpu", "0000:99:00")], 1800)
        .timeouts(&[0, 1, 3], 1801);
    assert_eq!(small.finding().verdict, Verdict::Undetermined);
    let small = Small::new()
        .event("gpu.fault", &KERNEL, "n1", &[("node", "n7"), GPU], 1800)
        .timeouts(&[0, 1, 3], 1801);
    assert_eq!(small.finding().verdict, Verdict::Undetermined);
}

#[test]
fn what_the_workload_quotes_never_convicts_against_the_nodes_own_log() {
    let quoted = || {
        Small::new().event("gpu.lost", &APP, "n1", &[GPU], 1790).event(
            "app.exception",
            &APP,
            "n0",
            &[("rank", "0")],
            1800,
        )
    };
    assert_eq!(roots(&quoted()), [("app.exception".into(), Some("n0".into()))]);
    assert!(ruled_out(&quoted()).contains(&("gpu.lost".into(), RuledOut::Quoted)));
    // Without that log nobody is convicted either: the log is what to fetch.
    let alone = Small::new()
        .event("gpu.lost", &APP, "n1", &[GPU], 1790)
        .timeouts(&[0, 1, 3], 1791)
        .without(&KERNEL, "n1");
    let finding = alone.finding();
    assert_eq!(finding.verdict, Verdict::Undetermined);
    assert!(finding.decision.exclude.is_empty() && finding.responsible.nodes.is_empty());
    let wanted = |m: &firstfault_model::diagnosis::Missing| m.source == "kernel" && m.missing.contains("n1");
    assert!(finding.could_change_the_verdict.iter().any(wanted), "{:?}", finding.could_change_the_verdict);
}

#[test]
fn the_later_of_two_faults_is_not_the_cause() {
    let small = Small::new()
        .event("gpu.fault", &KERNEL, "n1", &[GPU], 1800)
        .event("app.exception", &APP, "n0", &[("rank", "0")], 2400)
        .timeouts(&[1, 3], 1801);
    assert_eq!(roots(&small), [("gpu.fault".into(), Some("n1".into()))]);
    assert!(ruled_out(&small).contains(&("app.exception".into(), RuledOut::Later)));
}

#[test]
fn two_faults_at_one_time_are_alternatives_and_only_suspected() {
    let small = Small::new()
        .event("gpu.fault", &KERNEL, "n0", &[GPU], 1800)
        .event("gpu.fault", &KERNEL, "n1", &[GPU], 1802)
        .timeouts(&[1, 3], 1801);
    let finding = small.finding();
    assert_eq!(finding.root_causes.len(), 2);
    for root in &finding.root_causes {
        assert_eq!((root.relation, root.confidence), (Relation::Alternative, Confidence::Suspected));
    }
    assert!(finding.decision.exclude.iter().all(|e| !e.actionable));
}

#[test]
fn one_exception_in_many_ranks_is_one_root_and_no_nodes_fault() {
    let mut small = Small::new();
    for (rank, node) in [("0", "n0"), ("1", "n0"), ("2", "n1"), ("3", "n1")] {
        small = small.untimed("app.exception", &APP, node, &[("rank", rank)]);
    }
    let finding = small.finding();
    assert_eq!(finding.root_causes.len(), 1);
    assert_eq!(finding.root_causes[0].place.ranks, [0, 1, 2, 3]);
    assert_eq!(finding.root_causes[0].place.node, None);
    assert!(finding.responsible.nodes.is_empty() && finding.decision.exclude.is_empty());
    assert_eq!(finding.decision.fault_class, FaultClass::Application);
}

#[test]
fn a_completed_attempt_has_no_fault_whatever_its_teardown_says() {
    let small =
        Small::ended("completed").event("gpu.fault", &KERNEL, "n1", &[GPU], 3599).timeouts(&[0], 2990);
    let finding = small.finding();
    assert_eq!((finding.verdict, finding.terminal_state), (Verdict::NoFault, TerminalState::Completed));
    assert!(finding.root_causes.is_empty() && !finding.context.is_empty());
}

#[test]
fn a_time_limit_without_visible_progress_is_only_suspected() {
    let small = Small::ended("timeout").event("sched.limit", &Source::Scheduler, "", &[], 3600);
    let finding = small.finding();
    assert_eq!(finding.root_causes[0].symptom, "sched.limit");
    assert_eq!(finding.root_causes[0].confidence, Confidence::Suspected);
    assert_eq!(finding.decision.fault_class, FaultClass::Scheduler);
}

#[test]
fn nothing_read_is_not_no_fault() {
    let mut small = Small::new();
    small.case = crate::case::Case::default();
    let finding = small.finding();
    assert_eq!(finding.verdict, Verdict::Undetermined);
    assert!(!finding.could_change_the_verdict.is_empty());
}

/// An error of rank 0 that nothing dates, and a fault on the other node that passed, a little before the others lost rank 0.
fn error_on_n0_and_fault_on_n1() -> Small {
    Small::new()
        .untimed("app.error", &APP, "n0", &[("rank", "0")])
        .event("gpu.fault", &KERNEL, "n1", &[GPU], 1790)
        .with_facts("comm.peer_lost", &APP, "n1", &[("rank", "2")], 1800, &[("peer_node", "n0")])
}

#[test]
fn whom_others_name_as_lost_was_lost_first() {
    let small = error_on_n0_and_fault_on_n1();
    assert_eq!(roots(&small), [("app.error".into(), Some("n0".into()))]);
    assert!(ruled_out(&small).contains(&("gpu.fault".into(), RuledOut::Later)));
    // Named as well, the other one is as good a candidate.
    let both = error_on_n0_and_fault_on_n1().with_facts(
        "comm.peer_lost",
        &APP,
        "n0",
        &[("rank", "1")],
        1800,
        &[("peer_node", "n1")],
    );
    assert!(roots(&both).contains(&("gpu.fault".into(), Some("n1".into()))));
}

#[test]
fn what_began_after_the_end_did_not_bring_it_about() {
    let after = |at: i64| {
        Small::new().event("app.exception", &APP, "n0", &[("rank", "0")], 3590).event(
            "gpu.lost",
            &KERNEL,
            "n1",
            &[GPU],
            at,
        )
    };
    assert_eq!(roots(&after(3700)), [("app.exception".into(), Some("n0".into()))]);
    // Within what clocks may differ by it may have been before.
    assert_eq!(roots(&after(3610)).len(), 2);
    // But not after the last that its own node says.
    let silent = after(3640).event("comm.peer_lost", &APP, "n1", &[("rank", "2")], 3595);
    assert_eq!(roots(&silent), [("app.exception".into(), Some("n0".into()))]);
    // A wait that began before may be a wait for it.
    let waiting = Small::new().event("gpu.fault", &KERNEL, "n1", &[GPU], 1900).timeouts(&[0, 1, 3], 1860);
    assert_eq!(roots(&waiting), [("gpu.fault".into(), Some("n1".into()))]);
}

#[test]
fn a_fault_of_a_device_that_its_nodes_whole_kernel_log_does_not_have_is_only_suspected() {
    let told = || Small::new().event("app.device", &APP, "n1", &[("rank", "2")], 1800);
    let root = &told().timeouts(&[0, 1, 3], 1801).finding().root_causes[0];
    assert_eq!((root.symptom.as_str(), root.confidence), ("app.device", Confidence::Suspected));
    // With a word of the kernel about a device, or without that log, it stands.
    let confirmed = told().event("gpu.advice", &KERNEL, "n1", &[GPU], 1800).timeouts(&[0, 1, 3], 1801);
    assert_ne!(confirmed.finding().root_causes[0].confidence, Confidence::Suspected);
    // It takes nothing from an error that was seen first-hand.
    let beside = told().event("app.error", &APP, "n1", &[("rank", "3")], 1801);
    assert_eq!(roots(&beside)[0], ("app.error".into(), Some("n1".into())));
}

#[test]
fn a_process_of_an_earlier_job_is_not_this_ones() {
    let small = |pid: &str| {
        Small::new().event("gpu.fault", &KERNEL, "n1", &[GPU, ("process", pid)], -30).event(
            "comm.peer_lost",
            &APP,
            "n1",
            &[("rank", "2"), ("process", "4242")],
            30,
        )
    };
    assert!(ruled_out(&small("17")).contains(&("gpu.fault".into(), RuledOut::OutOfScope)));
    // The clock of a machine that starts a job may be half a minute ahead.
    assert!(!ruled_out(&small("4242")).contains(&("gpu.fault".into(), RuledOut::OutOfScope)));
}

#[test]
fn a_process_that_its_launcher_calls_a_rank_is_that_rank() {
    let small = Small::new().event("gpu.fault", &KERNEL, "n1", &[("process", "4242")], 1800).event(
        "comm.peer_lost",
        &APP,
        "n1",
        &[("rank", "3"), ("process", "4242")],
        1801,
    );
    assert_eq!(small.finding().root_causes[0].place.ranks, [3]);
    let twice = Small::new()
        .event("gpu.fault", &KERNEL, "n1", &[("process", "4242")], 1800)
        .event("comm.peer_lost", &APP, "n1", &[("rank", "2"), ("process", "4242")], 1801)
        .event("comm.peer_lost", &APP, "n1", &[("rank", "3"), ("process", "4242")], 1801);
    assert!(twice.finding().root_causes[0].place.ranks.is_empty());
}

#[test]
fn an_act_of_the_scheduler_has_no_node() {
    // The log of the node on which the job's output ends up.
    let small = Small::ended("timeout").event("sched.limit", &APP, "n1", &[], 3600);
    let finding = small.finding();
    assert_eq!(finding.root_causes[0].place.node, None);
    assert!(finding.responsible.nodes.is_empty());
}

#[test]
fn a_clock_that_tells_the_cause_after_its_effects_is_said_to_be_ahead() {
    let small = Small::new().event("gpu.fault", &KERNEL, "n1", &[GPU], 1838).with_facts(
        "comm.peer_lost",
        &APP,
        "n0",
        &[("rank", "0")],
        1800,
        &[("peer_node", "n1")],
    );
    let finding = small.finding();
    assert_eq!(finding.root_causes[0].symptom, "gpu.fault");
    let clock = &finding.clocks[0];
    assert_eq!((clock.node.as_str(), clock.method.as_str()), ("n1", "order_of_cause_and_effect"));
    assert!((37_900..=38_000).contains(&clock.offset_ms), "{}", clock.offset_ms);
}

#[test]
fn a_process_in_the_control_group_of_another_job_is_that_jobs() {
    let small = |job: &str| {
        let mut small = Small::new();
        small.case.context.document.id = Some("77".into());
        small
            .event("app.exception", &APP, "n0", &[("rank", "0")], 1800)
            .with_facts("kernel.group", &KERNEL, "n0", &[("process", "17")], 1790, &[("id", job)])
            .event("gpu.fault", &KERNEL, "n0", &[("process", "17")], 1790)
    };
    assert!(ruled_out(&small("78")).contains(&("gpu.fault".into(), RuledOut::OutOfScope)));
    assert!(!ruled_out(&small("77")).contains(&("gpu.fault".into(), RuledOut::OutOfScope)));
}

#[test]
fn what_was_over_long_before_brought_nothing_about() {
    // Both nodes wait for each other from half an hour after the fault on.
    let small = |fine: Option<i64>| {
        let small = Small::new().event("gpu.fault", &KERNEL, "n1", &[GPU], 2400).timeouts(&[0, 1, 3], 2900);
        match fine {
            Some(at) => small.event("gpu.fine", &KERNEL, "n1", &[GPU], at),
            None => small,
        }
    };
    assert_eq!(roots(&small(None)), [("gpu.fault".into(), Some("n1".into()))]);
    assert_eq!(roots(&small(Some(2410))), []);
    // What begins while it lasts, or soon after, may follow from it; and a line before it says nothing.
    assert_eq!(roots(&small(Some(2890))), [("gpu.fault".into(), Some("n1".into()))]);
    assert_eq!(roots(&small(Some(2390))), [("gpu.fault".into(), Some("n1".into()))]);
}
