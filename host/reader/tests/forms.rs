//! Every form of prefix and stamp that logs of training come with: who wrote the line, when, and what it says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

use firstfault_model::time::Timestamp;
use firstfault_reader::prefix::{Peeled, peel};

/// A line and the words that [`told`] makes of it: who, when, message. What is not known is left out.
type Form = (&'static str, &'static str, &'static str, &'static str);

/// Launchers and collectors.
const WRITERS: &[Form] = &[
    // srun --label
    ("12: step 5", "task=12", "", "step 5"),
    ("   7: step 5", "task=7", "", "step 5"),
    ("P0  3: step 5", "task=3", "", "step 5"),
    ("  P1 12: step 5", "task=12", "", "step 5"),
    // torchrun
    ("[default3]:step 5", "local=3", "", "step 5"),
    ("[host:3]:step 5", "local=3", "", "step 5"),
    ("[my-role.1:0]: step 5", "local=0", "", "step 5"),
    ("[rank5]: Traceback (most recent call last):", "rank=5", "", "Traceback (most recent call last):"),
    ("[rank5]:   File \"a.py\", line 1, in f", "rank=5", "", "  File \"a.py\", line 1, in f"),
    ("[rank: 3] Received SIGTERM: 15", "rank=3", "", "Received SIGTERM: 15"),
    // pdsh, DeepSpeed over several nodes
    ("10.0.0.41: step 5", "host=10.0.0.41", "", "step 5"),
    ("0.0.0.41: [rank22]: x", "host=0.0.0.41 rank=22", "", "x"),
    ("lyra-041: [rank22]: x", "host=lyra-041 rank=22", "", "x"),
    ("lyra-041: RuntimeError: x", "label=lyra-041", "", "RuntimeError: x"),
    ("lyra-041.cluster.example: x", "label=lyra-041.cluster.example", "", "x"),
    // mpirun
    ("[1,5]<stderr>:step 5", "mpi=5", "", "step 5"),
    ("[1,mpirank:7,algo-1]<stderr>:step 5", "mpi=7 host=algo-1", "", "step 5"),
    ("[prterun-lyra-041-77@1,12]<stdout>:step 5", "mpi=12", "", "step 5"),
    // Ray
    ("(Trainer pid=12) step 5", "pid=12", "", "step 5"),
    ("(Trainer pid=12, ip=10.0.0.3) step 5", "pid=12 host=10.0.0.3", "", "step 5"),
    ("\x1b[36m(Trainer pid=12, ip=10.0.0.3)\x1b[0m step 5", "pid=12 host=10.0.0.3", "", "step 5"),
    ("[36m(Trainer pid=12, ip=10.0.0.3)[0m   File \"a.py\"", "pid=12 host=10.0.0.3", "", "  File \"a.py\""),
    ("(raylet, ip=10.0.0.3) step 5", "host=10.0.0.3 label=raylet", "", "step 5"),
    ("(raylet) step 5", "label=raylet", "", "step 5"),
    ("(VllmWorker rank=3 pid=88) step 5", "pid=88 rank=3", "", "step 5"),
    // Containers
    ("2026-09-14T04:37:21.418203117Z stdout F step 5", "", "2026-09-14T04:37:21.418203117Z", "step 5"),
    ("2026-09-14T04:37:21.418+02:00 stderr P part", "", "2026-09-14T02:37:21.418Z", "part"),
    ("2026-09-14T04:37:21.418203117Z step 5", "", "2026-09-14T04:37:21.418203117Z", "step 5"),
    ("[pod/trainer-0/main] step 5", "label=pod/trainer-0/main", "", "step 5"),
    (
        "[pod/trainer-0/main] 2026-09-14T04:37:21Z [rank1]: x",
        "label=pod/trainer-0/main rank=1",
        "2026-09-14T04:37:21Z",
        "x",
    ),
    ("trainer-1  | step 5", "label=trainer-1", "", "step 5"),
    ("trainer-1  | [rank1]:   File \"a.py\"", "label=trainer-1 rank=1", "", "  File \"a.py\""),
    // Log services
    ("  | 2026-09-14T04:37:21.418Z | step 5", "", "2026-09-14T04:37:21.418Z", "step 5"),
    ("[task 2026-09-14T04:37:21.418203+00:00] [train] step 5", "", "2026-09-14T04:37:21.418203Z", "step 5"),
    ("[2026-09-14T04:37:21.418203Z] 0a1b2c3d || step 5", "", "2026-09-14T04:37:21.418203Z", "step 5"),
    (
        "[2026-09-14T04:37:21.418203Z] 0a1b2c3d [rank=3] || step 5",
        "",
        "2026-09-14T04:37:21.418203Z",
        "step 5",
    ),
    ("<info> [2026-09-14 04:37:21] step 5", "", "2026-09-14 04:37:21", "step 5"),
    ("[80746] [rank0]:[E321 04:37:21.418203117 P.cpp:1] x", "rank=0", "--03-21 04:37:21 mixed", "x"),
];

/// Loggers of programs.
const LOGGERS: &[Form] = &[
    // NCCL
    (
        "lyra-041:77:88 [3] transport/net_ib.cc:57 NCCL WARN x",
        "host=lyra-041 pid=77",
        "",
        "transport/net_ib.cc:57 NCCL WARN x",
    ),
    ("lyra-041:77:88 [-1] NCCL INFO x", "host=lyra-041 pid=77", "", "NCCL INFO x"),
    ("lyra-041:77:88 NCCL INFO x", "host=lyra-041 pid=77", "", "NCCL INFO x"),
    (
        "[2026-09-14 04:37:21] lyra-041:77:88 [3] misc/socket.cc:57 (ncclSocketInit) NCCL WARN x",
        "host=lyra-041 pid=77",
        "2026-09-14 04:37:21",
        "misc/socket.cc:57 (ncclSocketInit) NCCL WARN x",
    ),
    ("NCCL version 2.21.5+cuda12.4", "", "", "NCCL version 2.21.5+cuda12.4"),
    // PyTorch's C++: the fraction is not that of the second.
    ("[E ProcessGroupNCCL.cpp:475] [Rank 0] Watchdog", "group=0", "", "[Rank 0] Watchdog"),
    ("[rank5]:[E ProcessGroupNCCL.cpp:475] [Rank 0] Watchdog", "rank=5 group=0", "", "[Rank 0] Watchdog"),
    (
        "[rank3]:[E1102 12:34:56.789012345 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog",
        "rank=3 group=3",
        "--11-02 12:34:56 mixed",
        "[Rank 3] Watchdog",
    ),
    ("[W112 12:34:56.789012345 socket.cpp:752] [c10d] x", "", "--01-12 12:34:56 mixed", "[c10d] x"),
    ("[W socket.cpp:436] [c10d] x", "", "", "[c10d] x"),
    // torchrun's own
    (
        "WARNING:torch.distributed.elastic.multiprocessing.api:Sending process 102241 closing signal SIGHUP",
        "",
        "",
        "Sending process 102241 closing signal SIGHUP",
    ),
    (
        "[2026-09-14 04:37:21,418] torch.distributed.elastic.multiprocessing.api: [WARNING] Sending",
        "",
        "2026-09-14 04:37:21.418",
        "Sending",
    ),
    (
        "W0914 04:37:21.418000 3900 torch/distributed/elastic/api.py:699] Sending",
        "",
        "--09-14 04:37:21.418",
        "Sending",
    ),
    ("[15:58:29] WARNING  Sending", "", "", "Sending"),
    // DeepSpeed, NeMo, Lightning, sglang, vLLM, OLMo, mmengine
    ("[2026-09-14 04:37:21,418] [INFO] [engine.py:123:step] x", "", "2026-09-14 04:37:21.418", "x"),
    ("[NeMo I 2026-09-14 04:37:21 exp_manager:123] x", "", "2026-09-14 04:37:21", "x"),
    ("[NeMo W 2026-09-14 04:37:21 rank:3 exp_manager:123] x", "rank=3", "2026-09-14 04:37:21", "x"),
    ("[2026-09-14 04:37:21 TP1] x", "", "2026-09-14 04:37:21", "x"),
    ("[2026-09-14 04:37:21 DP0 TP1] x", "", "2026-09-14 04:37:21", "x"),
    ("INFO 12-24 21:49:17 worker.py:133] x", "", "--12-24 21:49:17", "x"),
    ("ERROR 12-24 21:49:17 [core.py:133] x", "", "--12-24 21:49:17", "x"),
    ("[2026-09-14 04:37:21] CRITICAL [olmo.train:67, rank=6] x", "rank=6", "2026-09-14 04:37:21", "x"),
    ("09/14 04:37:21 - mmengine - INFO - x", "", "--09-14 04:37:21", "x"),
    // Python
    ("2026-09-14 04:37:21,418 - my.module - ERROR - x", "", "2026-09-14 04:37:21.418", "x"),
    ("2026-09-14 04:37:21,418 - ERROR - x", "", "2026-09-14 04:37:21.418", "x"),
    ("2026-09-14 04:37:21,418 INFO worker: x", "", "2026-09-14 04:37:21.418", "INFO worker: x"),
    ("2026-09-14 04:37:21.418 | ERROR    | mod.sub:fn:12 - x", "", "2026-09-14 04:37:21.418", "x"),
    ("ERROR:root:x", "", "", "x"),
    // absl, glog, klog, XLA
    ("E0914 04:37:21.418203   77 client.cc:123] x", "", "--09-14 04:37:21.418203", "x"),
    ("E20260914 04:37:21.418203   77 client.cc:123] x", "", "2026-09-14 04:37:21.418203", "x"),
    ("2026-09-14 04:37:21.418203: E external/xla/client.cc:123] x", "", "2026-09-14 04:37:21.418203", "x"),
    // Slurm
    ("[2026-09-14T04:37:21.418] error: x", "", "2026-09-14 04:37:21.418", "error: x"),
    ("slurmstepd-lyra-041: error: x", "host=lyra-041", "", "error: x"),
    ("slurmstepd: error: x", "", "", "slurmstepd: error: x"),
    ("srun: error: lyra-041: task 3: Killed", "", "", "srun: error: lyra-041: task 3: Killed"),
    // Others
    ("2026-09-14 04:37 x", "", "2026-09-14 04:37", "x"),
    ("2026/09/14 04:37:21 x", "", "2026-09-14 04:37:21", "x"),
    ("2026-09-14 04:37:21 +08:00 x", "", "2026-09-13T20:37:21Z", "x"),
    ("2026-09-14 04:37:21 UTC x", "", "2026-09-14T04:37:21Z", "x"),
    ("2026-09-14T04:37:21-0430 x", "", "2026-09-14T09:07:21Z", "x"),
];

/// System logs and the kernel's.
const SYSTEM: &[Form] = &[
    ("Sep 14 04:37:21 lyra-041 sshd[77]: x", "host=lyra-041 pid=77", "--09-14 04:37:21", "x"),
    ("Sep  4 04:37:21 lyra-041 nv-hostengine: x", "host=lyra-041", "--09-04 04:37:21", "x"),
    ("Sep 14 04:37:21 lyra-041 kernel: x", "host=lyra-041 kernel", "--09-14 04:37:21", "x"),
    ("Sep 14 04:37:21.418203 lyra-041 kernel: x", "host=lyra-041 kernel", "--09-14 04:37:21.418203", "x"),
    ("Sep 14 04:37:21 lyra-041 kernel: [  966.503025] x", "host=lyra-041 kernel", "--09-14 04:37:21", "x"),
    ("<4>Sep 14 04:37:21 lyra-041 kernel: x", "host=lyra-041 kernel", "--09-14 04:37:21", "x"),
    (
        "<34>1 2026-09-14T04:37:21.418Z lyra-041 app 77 - - x",
        "host=lyra-041 pid=77",
        "2026-09-14T04:37:21.418Z",
        "x",
    ),
    (
        "2026-09-14T04:37:21.418203+00:00 lyra-041 kernel: x",
        "host=lyra-041 kernel",
        "2026-09-14T04:37:21.418203Z",
        "x",
    ),
    ("2026-09-14T04:37:21-0400 lyra-041 kernel: x", "host=lyra-041 kernel", "2026-09-14T08:37:21Z", "x"),
    ("2026-09-14T04:37:21+0000 lyra-041 app[77]: x", "host=lyra-041 pid=77", "2026-09-14T04:37:21Z", "x"),
    ("Mon 2026-09-14 04:37:21 UTC lyra-041 kernel: x", "host=lyra-041 kernel", "2026-09-14T04:37:21Z", "x"),
    ("1789360641.418203 lyra-041 kernel: x", "host=lyra-041 kernel", "2026-09-14T04:37:21.418203Z", "x"),
    ("[  966.503025] lyra-041 kernel: x", "host=lyra-041 kernel", "", "x"),
    ("kernel: x", "kernel", "", "x"),
    // dmesg in all its styles
    ("[  966.503025] x", "kernel", "", "x"),
    ("[  130.456250] [   T1946] x", "kernel", "", "x"),
    ("[130.456] [   C12] x", "kernel", "", "x"),
    ("[111111111.111] x", "kernel", "", "x"),
    ("[  966.503025 <    0.000844>] x", "kernel", "", "x"),
    ("[  +0.000844] x", "kernel", "", "x"),
    ("[Sep14 04:37] x", "kernel", "--09-14 04:37", "x"),
    ("[Mon Sep 14 04:37:21 2026] x", "kernel", "2026-09-14 04:37:21", "x"),
    ("[Mon Sep  4 04:37:21 2026] lyra-041 kernel: x", "host=lyra-041 kernel", "2026-09-04 04:37:21", "x"),
    ("[Mon Sep 14 04:37:21 2026 <    0.000844>] x", "kernel", "2026-09-14 04:37:21", "x"),
    ("kern  :warn  : 2026-09-14T04:37:21,418203+00:00 x", "kernel", "2026-09-14T04:37:21.418203Z", "x"),
    ("kern  :err   : [  966.503025] x", "kernel", "", "x"),
    (
        "10.0.0.1: kern: warning: [2026-09-14T04:37:21.418203117Z]: x",
        "host=10.0.0.1 kernel",
        "2026-09-14T04:37:21.418203117Z",
        "x",
    ),
    ("4,1227,437812449932,c;x", "kernel", "", "x"),
    ("4,1227,437812449932,c,1,-;x", "kernel", "", "x"),
    ("6,1227,437812449932,-,caller=T77;x", "kernel", "", "x"),
    ("<0>[2315424.098863] x", "kernel", "", "x"),
    ("[2026-09-14 04:37:21.418203][5975153.878190] x", "kernel", "2026-09-14 04:37:21.418203", "x"),
    ("[Sep 14 2026 04:37:21] [ERROR] [tid 841] x", "", "2026-09-14 04:37:21", "[tid 841] x"),
];

/// Stacks, and what only looks like a prefix.
const STACKS: &[Form] = &[
    (
        "2026-09-14T04:37:21.418Z: [1,12]<stdout>:lyra-041:77:88 [3] misc/socket.cc:57 NCCL WARN x",
        "mpi=12 host=lyra-041 pid=77",
        "2026-09-14T04:37:21.418Z",
        "misc/socket.cc:57 NCCL WARN x",
    ),
    ("11: [rank11]:[E617 01:02:03.000000000 P.cpp:1] x", "task=11 rank=11", "--06-17 01:02:03 mixed", "x"),
    (
        "[default0]:[rank12]:[E817 01:02:03.000000000 P.cpp:1] x",
        "local=0 rank=12",
        "--08-17 01:02:03 mixed",
        "x",
    ),
    (
        "(Actor pid=7, ip=10.0.0.3) [rank9]:[E416 01:02:03.000000000 P.cpp:1] x",
        "pid=7 host=10.0.0.3 rank=9",
        "--04-16 01:02:03 mixed",
        "x",
    ),
    (
        " 2026-02-18 12:54 [rank13]:[E218 12:54:03.000000000 P.cpp:1] x",
        "rank=13",
        "--02-18 12:54:03 mixed",
        "x",
    ),
    (
        "2026-09-14 04:37:21 +08:00 [2026-09-14 04:37:21] lyra-041:77:88 [3] NCCL WARN x",
        "host=lyra-041 pid=77",
        "2026-09-13T20:37:21Z",
        "NCCL WARN x",
    ),
    (
        "2026-09-14T04:37:21Z stderr F 0: [default1]:[rank1]:   File \"a.py\"",
        "task=0 local=1 rank=1",
        "2026-09-14T04:37:21Z",
        "  File \"a.py\"",
    ),
    ("\0\0\0\0Sep 14 04:37:21 lyra-041 kernel: x", "host=lyra-041 kernel", "--09-14 04:37:21", "x"),
    ("RuntimeError: CUDA error", "", "", "RuntimeError: CUDA error"),
    ("torch.OutOfMemoryError: x", "", "", "torch.OutOfMemoryError: x"),
    ("libcuda.so.1: cannot open shared object file", "", "", "libcuda.so.1: cannot open shared object file"),
    ("    x = f(y)", "", "", "    x = f(y)"),
    ("iteration 12: loss 2.1", "", "", "iteration 12: loss 2.1"),
    ("[PG 0 Rank 1] Timeout", "", "", "[PG 0 Rank 1] Timeout"),
    ("[1, 2, 3] is not a valid shape", "", "", "[1, 2, 3] is not a valid shape"),
    ("[3.5] ratio", "", "", "[3.5] ratio"),
    ("(a, b) = f(c)", "", "", "(a, b) = f(c)"),
    ("<stdin>: x", "", "", "<stdin>: x"),
    ("2026 was a year", "", "", "2026 was a year"),
    ("12:34:56 x", "", "", "12:34:56 x"),
    ("", "", "", ""),
];

/// Who wrote the line, in the order of the peeled fields' names here.
fn who(peeled: &Peeled) -> Vec<String> {
    let id = &peeled.identity;
    let number = |name: &str, value: Option<u32>| value.map(|v| format!("{name}={v}"));
    let text = |name: &str, value: &Option<String>| value.as_ref().map(|v| format!("{name}={v}"));
    let mut out: Vec<String> = [
        number("rank", id.rank),
        number("local", id.local_rank),
        number("task", id.task),
        number("mpi", id.mpi_rank),
        number("pid", id.pid),
        number("group", peeled.group_rank),
        text("host", &id.host),
        text("label", &id.label),
        peeled.kernel.then(|| "kernel".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    out.sort();
    out
}

/// When it was written: with `Z` if the line says the zone, `--` in place of a year that it does not say.
fn when(peeled: &Peeled) -> String {
    let Some(stamp) = peeled.stamp else { return String::new() };
    let nanos = stamp.nanos(stamp.year.unwrap_or(2000), stamp.offset.unwrap_or(0)).unwrap();
    let seconds = Timestamp(nanos).to_string();
    let mut text = seconds.split('.').next().unwrap().replace('T', " ");
    let fraction = nanos.rem_euclid(1_000_000_000);
    if fraction > 0 {
        text.push_str(format!(".{fraction:09}").trim_end_matches('0'));
    }
    if stamp.uncertainty == 60_000_000_000 {
        text.truncate(text.len() - 3);
    }
    if stamp.year.is_none() {
        text.replace_range(..4, "-");
    }
    if stamp.offset.is_some() {
        text = text.replace(' ', "T") + "Z";
    }
    if peeled.mixed_clock {
        assert_eq!(stamp.uncertainty, 1_000_000_000, "it is known to a second only");
        text.push_str(" mixed");
    }
    text
}

#[test]
fn every_prefix_is_peeled() {
    let mut wrong = Vec::new();
    for (line, writer, time, message) in [WRITERS, LOGGERS, SYSTEM, STACKS].into_iter().flatten() {
        let peeled = peel(line.as_bytes());
        let mut writer: Vec<&str> = writer.split_ascii_whitespace().collect();
        writer.sort_unstable();
        let got = (who(&peeled), when(&peeled), &line[peeled.rest..]);
        if got.0 != writer || got.1 != *time || got.2 != *message {
            wrong.push(format!(
                "{line}\n   wanted {writer:?} {time:?} {message:?}\n   got    {:?} {:?} {:?}",
                got.0, got.1, got.2
            ));
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
}
