//! What Slurm tells its hooks in their environment: `EpilogSlurmctld`, `Epilog`, and `jobcomp/script`, which is the only one
//! that knows the state.

use firstfault_daemon::request::{DiagnosisRequest, HookReport};
use firstfault_model::context::{ContextDocument, NodeDocument, TerminalDocument};
use firstfault_model::diagnosis::TerminalState;
use firstfault_model::time::{SECOND, Timestamp};

use super::{Variables, hostlist};

/// The report of a hook; none if the job ended well, or there is no job.
#[must_use]
pub fn report(variable: Variables<'_>, all: bool) -> Option<DiagnosisRequest> {
    let first = |names: &[&str]| names.iter().find_map(|name| variable(name).filter(|v| !v.is_empty()));
    let id = first(&["SLURM_JOB_ID", "JOBID"])?;
    let raw = first(&["JOBSTATE", "SLURM_JOB_STATE"]);
    let requeued = raw.as_deref() == Some("PENDING");
    let state = raw.as_deref().and_then(state);
    if state == Some(TerminalState::Completed) && !all {
        return None;
    }
    let exit =
        first(&["SLURM_JOB_EXIT_CODE2", "EXITCODE", "SLURM_JOB_EXIT_CODE"]).and_then(|text| exit(&text));
    let time = |names: &[&str]| first(names).and_then(|text| seconds(&text));
    let start = time(&["SLURM_JOB_START_TIME", "START"]);
    let end = time(&["SLURM_JOB_END_TIME", "END"]).filter(|end| start.is_none_or(|start| start <= *end));
    let nodes =
        first(&["SLURM_JOB_NODELIST", "SLURM_NODELIST", "NODES"]).and_then(|list| hostlist::expand(&list));
    let terminal = TerminalDocument {
        state: state.filter(|_| !requeued),
        raw: raw.filter(|_| !requeued),
        requeued: requeued.then_some(true),
        exit_code: exit.map(|(code, _)| code),
        signal: exit.map(|(_, signal)| signal).filter(|signal| *signal != 0),
        ..TerminalDocument::default()
    };
    let workload = ContextDocument {
        scheduler: Some("slurm".to_owned()),
        cluster: first(&["SLURM_CLUSTER_NAME", "CLUSTER"]),
        id: Some(id),
        name: first(&["SLURM_JOB_NAME", "JOBNAME"]),
        user: first(&["SLURM_JOB_USER", "USERNAME"]),
        account: first(&["SLURM_JOB_ACCOUNT", "ACCOUNT"]),
        partition: first(&["SLURM_JOB_PARTITION", "PARTITION"]),
        start,
        end,
        terminal: (terminal != TerminalDocument::default()).then_some(terminal),
        nodes: nodes
            .unwrap_or_default()
            .into_iter()
            .filter(|name| name != "(null)" && name != "None")
            .map(|name| NodeDocument { name, ..NodeDocument::default() })
            .collect(),
        ..ContextDocument::default()
    };
    let hook = HookReport { kind: "slurm".to_owned(), node: first(&["SLURMD_NODENAME"]) };
    Some(DiagnosisRequest { workload, hook: Some(hook), ..DiagnosisRequest::default() })
}

fn seconds(text: &str) -> Option<Timestamp> {
    let number: i64 = text.parse().ok()?;
    (number > 0).then(|| Timestamp(number.saturating_mul(SECOND)))
}

/// `137:0`, or the number that `wait` gives.
fn exit(text: &str) -> Option<(i32, i32)> {
    if let Some((code, signal)) = text.split_once(':') {
        return Some((code.parse().ok()?, signal.parse().ok()?));
    }
    let status: i32 = text.parse().ok()?;
    (0..=0xffff).contains(&status).then_some((status >> 8, status & 0x7f))
}

fn state(raw: &str) -> Option<TerminalState> {
    Some(match raw {
        "COMPLETED" => TerminalState::Completed,
        "FAILED" => TerminalState::Failed,
        "CANCELLED" => TerminalState::Cancelled,
        "TIMEOUT" => TerminalState::Timeout,
        "DEADLINE" => TerminalState::Deadline,
        "PREEMPTED" => TerminalState::Preempted,
        "NODE_FAIL" => TerminalState::NodeFail,
        "BOOT_FAIL" => TerminalState::BootFail,
        "OUT_OF_MEMORY" => TerminalState::OutOfMemory,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Option<DiagnosisRequest> {
        report(&|name| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()), false)
    }

    #[test]
    fn an_epilog_says_what_it_knows() {
        let report = of(&[
            ("SLURM_JOB_ID", "48213"),
            ("SLURM_CLUSTER_NAME", "alpha"),
            ("SLURM_JOB_USER", "ada"),
            ("SLURM_JOB_NODELIST", "gpu-[01-02]"),
            ("SLURM_JOB_EXIT_CODE2", "137:0"),
            ("SLURM_JOB_START_TIME", "1793650447"),
            ("SLURMD_NODENAME", "gpu-02"),
        ])
        .unwrap();
        let work = &report.workload;
        assert_eq!(work.nodes.len(), 2);
        let terminal = work.terminal.as_ref().unwrap();
        assert_eq!((terminal.state, terminal.exit_code, terminal.signal), (None, Some(137), None));
        assert_eq!(report.hook.unwrap().node.as_deref(), Some("gpu-02"));
        assert_eq!(work.start.unwrap().to_string(), "2026-11-02T20:14:07.000Z");
    }

    #[test]
    fn the_script_at_completion_knows_the_state() {
        let state = |state| of(&[("JOBID", "7"), ("JOBSTATE", state)]);
        assert_eq!(state("COMPLETED"), None);
        assert_eq!(
            state("NODE_FAIL").unwrap().workload.terminal.unwrap().state,
            Some(TerminalState::NodeFail)
        );
        let requeued = state("PENDING").unwrap().workload.terminal.unwrap();
        assert_eq!((requeued.state, requeued.requeued), (None, Some(true)));
    }

    #[test]
    fn strange_values_are_left_out() {
        assert_eq!(of(&[]), None);
        let report = of(&[
            ("JOBID", "7"),
            ("EXITCODE", "many"),
            ("START", "Unknown"),
            ("NODES", "n[1-"),
            ("END", "0"),
        ])
        .unwrap();
        assert_eq!(report.workload.terminal, None);
        assert_eq!((report.workload.start, report.workload.nodes.len()), (None, 0));
        assert_eq!((exit("35072"), exit("253"), exit("4294967294")), (Some((137, 0)), Some((0, 125)), None));
    }
}
