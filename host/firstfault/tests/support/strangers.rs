//! What happens to others while a job runs, and is nothing to it.

use firstfault_model::time::{SECOND, Timestamp};

use crate::mutation::Files;

/// Names of them, by which they are asked for.
pub(crate) const NAMES: [&str; 8] = [
    "strangers_time_limit",
    "strangers_nodes_lost",
    "strangers_preemption",
    "file_server_that_came_back",
    "port_that_came_back",
    "strangers_segfault",
    "strangers_xid",
    "strangers_oom_kill",
];

/// Adds one of them. `None` where no context says when the job ran, or the log is missing that would have it.
pub(crate) fn add(files: &mut Files, which: u64) -> Option<()> {
    let context: serde_json::Value = serde_json::from_slice(files.get("context.json")?).unwrap();
    let time = |field: &str| Timestamp::parse(context[field].as_str()?);
    let (start, end) = (time("start")?, time("end")?);
    let ran = end.since(start) / SECOND;
    // Long ago, so that the job has gone on after it; what is of another job may be at any time.
    let early = start.shifted(ran / 3 * SECOND);
    let late = end.shifted(-20 * SECOND);
    let node = context["nodes"].as_array()?.last()?;
    let bus = node["gpus"][0]["pci_bus_id"].as_str().unwrap_or("0000:3b:00");
    let node = node["name"].as_str()?;
    let kernel = |lines: &[(i64, String)]| -> (String, Vec<(Timestamp, String)>) {
        let at = |seconds: &i64| early.shifted(seconds * SECOND);
        let line = |(seconds, text): &(i64, String)| {
            let stamp = at(seconds).to_string();
            (at(seconds), format!("{}.204817+00:00 {node} kernel: {text}\n", &stamp[..19]))
        };
        (format!("logs/{node}/kernel.log"), lines.iter().map(line).collect())
    };
    let scheduler = |lines: &[(i64, &str)]| -> (String, Vec<(Timestamp, String)>) {
        let line = |(seconds, text): &(i64, &str)| {
            let at = late.shifted(seconds * SECOND);
            (at, format!("[{}.218] {text}\n", &at.to_string()[..19]))
        };
        ("logs/scheduler.log".to_owned(), lines.iter().map(line).collect())
    };
    let (path, lines) = match which {
        0 => scheduler(&[
            (0, "Time limit exhausted for JobId=8800017"),
            (4, "_job_complete: JobId=8800017 WTERMSIG 15"),
        ]),
        1 => scheduler(&[
            (0, "error: Nodes zulu-[70-76] not responding, setting DOWN"),
            (1, "requeue job JobId=8800018 due to failure of node zulu-71"),
        ]),
        2 => scheduler(&[(0, "preempted JobId=8800019 has been requeued to reclaim resources for JobId=8800020")]),
        3 => kernel(&[
            (0, "nfs: server fs-07 not responding, still trying".to_owned()),
            (19, "nfs: server fs-07 OK".to_owned()),
        ]),
        4 => kernel(&[
            (0, "mlx5_core 0000:9a:00.0 ens9f0np0: Link down".to_owned()),
            (2, "mlx5_core 0000:9a:00.0 ens9f0np0: Link up".to_owned()),
        ]),
        5 => kernel(&[(0, "dcgm-exporter[4411]: segfault at 0 ip 00007f2b1c0a3e11 sp 00007f2b17ffe9d0 error 4 in libdcgm.so.4.2.3[7f2b1c000000+1f4000]".to_owned())]),
        6 => kernel(&[(
            0,
            format!(
                "NVRM: Xid (PCI:{bus}:00): 13, pid=990011, name=nvbandwidth, Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): Out Of Range Address"
            ),
        )]),
        _ => kernel(&[(
            0,
            "Out of memory: Killed process 4411 (node_exporter) total-vm:742116kB, anon-rss:28804kB, file-rss:0kB, shmem-rss:0kB, UID:65534 pgtables:212kB oom_score_adj:0".to_owned(),
        )]),
    };
    let text = files.get_mut(&path)?;
    for (at, line) in lines {
        insert(text, &at.to_string()[..19], &line);
    }
    Some(())
}

/// Inserts a line before the first that carries a later time, as `2026-09-14T04:37:21`, among its first bytes.
fn insert(text: &mut Vec<u8>, time: &str, line: &str) {
    let mut begin = 0;
    for of in text.split_inclusive(|b| *b == b'\n') {
        let stamp = of.get(usize::from(of.starts_with(b"["))..).and_then(|rest| rest.get(..19));
        if stamp.is_some_and(|stamp| stamp.get(10) == Some(&b'T') && stamp > time.as_bytes()) {
            break;
        }
        begin += of.len();
    }
    text.splice(begin..begin, line.bytes());
}
