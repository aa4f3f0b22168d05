//! A node's kernel log: hours of nothing, and on one node the fault.

use super::generate::{Clock, Plan};
use super::random::Random;

/// A healthy kernel log of about `bytes`, and the fault where it happened.
pub(crate) fn log(plan: &Plan, node: u32, bytes: u64) -> String {
    let host = plan.node_name(node);
    let mut random = Random::new(u64::from(node) << 8 | 1);
    let mut log = String::new();
    let mut line = |at: u64, text: &str| {
        // Up for nine days when the job starts.
        let uptime = at + 9 * 86_400_000;
        let (seconds, micros) = (uptime / 1000, uptime % 1000 * 1000);
        log.push_str(&format!(
            "{}+00:00 {host} kernel: [{seconds}.{micros:06}] {text}\n",
            Clock(at).micros()
        ));
    };
    line(0, "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build");
    line(40, "nvidia-nvlink: Nvlink Core is being initialized, major device number 235");
    let lines = (bytes / 150).max(4);
    for number in 0..lines {
        let at = 1000 + number * (Plan::FAULT - 2000) / lines;
        line(at, &healthy(&mut random, number));
    }
    if node == plan.faulty_node() {
        let (bus, pid) = (Plan::BUS_IDS[Plan::FAULTY_GPU], Plan::pid(Plan::FAULTY_GPU));
        let process = format!("pid={pid}, name=python3");
        line(
            Plan::FAULT,
            &format!(
                "NVRM: Xid (PCI:0000:{bus}:00): 149, {process}, NETIR_LINK_EVT  Fatal   XC0 i0 Link 09 \
                 (0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
            ),
        );
        for channel in 1..=12 {
            line(
                Plan::FAULT + 270 + channel,
                &format!(
                    "NVRM: Xid (PCI:0000:{bus}:00): 45, {process}, Ch {channel:08x} caused by previous Xid 149"
                ),
            );
        }
        line(
            Plan::FAULT + 404,
            &format!(
                "NVRM: Xid (PCI:0000:{bus}:00): 154, GPU recovery action changed from 0x0 (None) to 0x4 \
                 (Drain and Reset)"
            ),
        );
    }
    log
}

fn healthy(random: &mut Random, number: u64) -> String {
    match random.below(6) {
        0 => format!("perf: interrupt took too long ({} > 2500), lowering rate", 2501 + random.below(900)),
        1 => format!(
            "mlx5_core 0000:{:02x}:00.0: Port module event: module 0, Cable plugged",
            random.below(255)
        ),
        2 => format!(
            "nvidia-peermem: registered {} pages for pid {}",
            random.below(65536),
            random.below(65536)
        ),
        3 => format!(
            "docker0: port {}(veth{:07x}) entered forwarding state",
            number % 16,
            random.below(1 << 28)
        ),
        _ => format!(
            "audit: type=1400 audit({}.{:03}:{number}): apparmor=\"STATUS\" operation=\"profile_load\" \
             profile=\"unconfined\" pid={}",
            1_793_649_600 + number,
            random.below(1000),
            random.below(1 << 22)
        ),
    }
}
