//! A node's application log: eight ranks of a Megatron job start, train for hours and then time out.

use super::generate::{Clock, Plan};
use super::random::Random;

/// The lines of NCCL and of the launcher before the first step.
pub(crate) fn start(plan: &Plan, node: u32) -> String {
    let host = plan.node_name(node);
    let mut random = Random::new(u64::from(node) << 8 | 2);
    let mut log = String::new();
    let mut line = |text: String| log.push_str(&(text + "\n"));
    line(format!(
        "W1102 20:00:04.{:03}000 3900 torch/distributed/run.py:793] Setting OMP_NUM_THREADS environment variable \
         for each process to be 1 in default, to avoid your system being overloaded",
        random.below(1000)
    ));
    line(String::from(
        "[W1102 20:00:09.118402213 socket.cpp:752] [c10d] The client socket cannot be initialized to connect to \
         [gpu-0001.cluster.local]:29500 (errno: 97 - Address family not supported by protocol).",
    ));
    for local in 0..Plan::PER_NODE {
        let rank = plan.rank(node, local);
        let (pid, bus) = (Plan::pid(local), Plan::BUS_IDS[local]);
        let head = format!("{host}:{pid}:{} [{local}] NCCL INFO", pid + 500);
        let address = format!("10.{}.{}.{}", 16 + node / 62_500, node / 250 % 250, 1 + node % 250);
        line(format!("{head} Bootstrap : Using ibs1:{address}<0>"));
        line(format!("{head} NET/Plugin: No plugin found (libnccl-net.so), using internal implementation"));
        line(format!(
            "{head} NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_4:1/IB [3]mlx5_5:1/IB [RO]; OOB ibs1:\
             {address}<0>"
        ));
        line(format!("{head} Using network IB"));
        line(format!(
            "{head} comm 0x{:x} rank {rank} nranks {} cudaDev {local} nvmlDev {local} busId {bus}000 \
                      commId 0x7be1c5d0a3f2 - Init START",
            0x5581_0000_0000 + random.below(1 << 32),
            plan.ranks()
        ));
        for channel in 0..24 {
            let next = plan.rank(node, (local + 1) % Plan::PER_NODE);
            line(format!(
                "{head} Channel {channel:02}/0 : {rank}[{local}] -> {next}[{}] via P2P/CUMEM",
                (local + 1) % Plan::PER_NODE
            ));
        }
        line(format!("{head} Connected all rings, use ring PXN 0 GDR 1"));
        line(format!("{head} 24 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels"));
    }
    line(String::from(
        "/opt/venv/lib/python3.11/site-packages/torch/utils/checkpoint.py:86: UserWarning: None of the inputs have \
         requires_grad=True. Gradients will be None",
    ));
    log
}

/// The lines of one training step that ends at `at`.
pub(crate) fn step(log: &mut String, plan: &Plan, node: u32, random: &mut Random, number: u64, at: u64) {
    let took = 10_000 + random.below(900);
    log.push_str(&format!(
        " [{}] iteration {number:8}/  250000 | consumed samples: {:12} | elapsed time per iteration (ms): {took}.{} | \
         throughput per GPU (TFLOP/s/GPU): {}.{} | learning rate: 1.{:06}E-04 | global batch size:  4096 | \
         lm loss: 1.{:06}E+00 | loss scale: 1.0 | grad norm: 0.{:03} | number of skipped iterations:   0 | \
         number of nan iterations:   0 |\n",
        Clock(at).seconds(),
        number * 4096,
        random.below(10),
        410 + random.below(20),
        random.below(10),
        random.below(1_000_000),
        random.below(1_000_000),
        random.below(1000),
    ));
    for _ in 0..2 {
        let rank = plan.rank(node, usize::try_from(random.below(8)).unwrap_or(0));
        let before = random.below(900);
        log.push_str(&format!(
            "{},{:03} INFO data.loader: rank {rank}: step {number}: shard {:05} of corpus-{:02} open, 4 workers, \
             {} of 16 batches ready, waited {}.{} ms, 0 errors, 0 retries\n",
            Clock(at - before).seconds(),
            random.below(1000),
            random.below(40_000),
            random.below(20),
            9 + random.below(8),
            random.below(9),
            random.below(10),
        ));
    }
    if number.is_multiple_of(50) {
        log.push_str(&format!(
            "{},{:03} WARNING core.timers: step {number}: all-gather was {} ms slower than the median of the last \
             50 steps on rank {}\n",
            Clock(at).seconds(),
            random.below(1000),
            20 + random.below(200),
            plan.rank(node, 0),
        ));
    }
}

/// The end: every rank but the one with the broken link reports the time-out of the same collective.
pub(crate) fn end(plan: &Plan, node: u32) -> String {
    let mut random = Random::new(u64::from(node) << 8 | 3);
    let mut log = String::new();
    let mut ranks: Vec<usize> = (0..Plan::PER_NODE).collect();
    ranks.rotate_left(usize::try_from(random.below(8)).unwrap_or(0));
    ranks.retain(|local| node != plan.faulty_node() || *local != Plan::FAULTY_GPU);
    for (nth, local) in ranks.iter().enumerate() {
        let rank = plan.rank(node, *local);
        let second = Plan::FAULT / 1000 + 602 + u64::try_from(nth).unwrap_or(0) / 2;
        let stamp = Clock(second * 1000).time();
        // The fraction that c10d prints belongs to another clock than its seconds.
        let mut head = |line: u32| {
            format!(
                "[rank{rank}]:[E1102 {stamp}.{:09} ProcessGroupNCCL.cpp:{line}]",
                random.below(1_000_000_000)
            )
        };
        let (first, second, third) = (head(629), head(1537), head(697));
        let ran = 600_000 + random.below(90);
        log.push_str(&format!(
            "{first} [Rank {rank}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41877, \
             OpType=ALLREDUCE, NumelIn=201326592, NumelOut=201326592, Timeout(ms)=600000) ran for {ran} \
             milliseconds before timing out.\n\
             {second} [PG 0 (default_pg) Rank {rank}] Timeout at NCCL work: 41877, last enqueued NCCL work: 41878, \
             last completed NCCL work: 41876.\n\
             {third} [Rank {rank}] To avoid data inconsistency, we are taking the entire process down.\n"
        ));
    }
    let local = ranks.first().copied().unwrap_or(0);
    log.push_str(&format!(
        "E1102 {}.512000 3900 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: -6) \
         local_rank: {local} (pid: {}) of binary: /opt/venv/bin/python3\n",
        Clock(Plan::FAULT + 612_000).time(),
        Plan::pid(local)
    ));
    log
}
