//! What holds for the shipped packs together.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

use std::collections::{BTreeMap, BTreeSet};

use firstfault::arguments::RuleOptions;
use firstfault::generation::Generation;
use firstfault::packtest;
use firstfault_rules::conflicts;
use firstfault_rules::pack::Role;

/// Beyond this the search for anchors gets slower; a site's packs come on top.
const MOST_ANCHORS: usize = 128;

fn shipped() -> Generation {
    Generation::load(&RuleOptions::default()).unwrap()
}

/// Lines as healthy jobs and nodes write them by the thousand.
fn healthy() -> Vec<String> {
    let mut lines = Vec::new();
    for step in 1..=400_u32 {
        let (loss, norm, time) = (9_000 - step, step % 17, 4_100 + step % 50);
        let clock = format!("20:{:02}:{:02}", step / 60 % 60, step % 60);
        lines.extend([
            format!(" iteration {step:>8}/  500000 | consumed samples: {:>12} | elapsed time per iteration (ms): {time}.3 | learning rate: 1.500000E-04 | global batch size:   512 | lm loss: {loss}.4321E-03 | loss scale: 1.0 | grad norm: 0.{norm} | number of skipped iterations:   0 | number of nan iterations:   0 |", step * 512),
            format!("{{'loss': 2.{loss}, 'grad_norm': 0.{norm}, 'learning_rate': 4.9e-05, 'epoch': 0.{step:04}}}"),
            format!("2026-11-02 {clock},123 INFO trainer: step {step} loss 2.{loss} lr 0.00015 0 errors, 0 retries"),
            format!("Epoch 3: {:>3}%|##########| {step}/400 [00:{:02}<00:10, 5.10it/s, v_num=3, train_loss=2.{loss}]", step / 4, step % 60),
            format!("INFO 11-02 {clock} [loggers.py:118] Engine 000: Avg prompt throughput: {time}.1 tokens/s, Running: 12 reqs, Waiting: 0 reqs, GPU KV cache usage: 3.{step}%"),
            format!("11/02 {clock} - mmengine - INFO - Epoch(train) [3][{step}/400]  lr: 1.0e-04  eta: 1:02:03  time: 0.41  data_time: 0.01  memory: 21043  loss: 2.{loss}"),
            format!("Nov  2 {clock} gpu-0001 systemd[1]: Started Session {step} of User u1."),
            format!("[2026-11-02T{clock}.000] _slurm_rpc_submit_batch_job: JobId={step} InitPrio=4294901 usec=412"),
        ]);
    }
    lines
}

#[test]
fn they_need_few_anchors_and_healthy_lines_have_none() {
    let generation = shipped();
    let matcher = generation.rules.matcher();
    assert!(matcher.anchors().len() <= MOST_ANCHORS, "{} anchors", matcher.anchors().len());
    let lines = healthy();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for line in &lines {
        for anchor in matcher.anchors() {
            if line.as_bytes().windows(anchor.len()).any(|w| w == anchor.as_slice()) {
                *seen.entry(String::from_utf8_lossy(anchor).into_owned()).or_default() += 1;
            }
        }
    }
    // The controller names a job on every line; its log is small beside those of the jobs.
    seen.remove("JobId=");
    assert!(seen.values().all(|count| count * 1000 <= lines.len()), "{seen:?}");
}

#[test]
fn they_do_not_contradict_each_other() {
    let generation = shipped();
    assert!(conflicts::circles(&generation.rules).is_empty(), "{:?}", conflicts::circles(&generation.rules));
    assert_eq!(packtest::disagreements(&generation), Vec::<String>::new());
    assert!(generation.pack_refs().iter().all(|pack| pack.overrides.is_empty()));
}

#[test]
fn each_symptom_is_tested_or_made_by_the_host() {
    let generation = shipped();
    let tested: BTreeSet<&str> = generation
        .rules
        .tests()
        .flat_map(|(_, test)| test.expect.iter().map(|e| e.symptom.as_str()))
        .collect();
    let signatures = generation.rules.matcher().signatures();
    // What only says where ranks ran is no event.
    let made: BTreeSet<&str> =
        signatures.iter().filter(|s| !s.spec.maps).filter_map(|s| s.spec.symptom.as_deref()).collect();
    let untested: Vec<&&str> = made.iter().filter(|id| !tested.contains(**id)).collect();
    assert!(untested.is_empty(), "no test expects {untested:?}");
    // Each pack that recognises lines has lines that it must leave alone.
    for pack in generation.rules.packs().iter().filter(|p| !p.pack.signatures.is_empty()) {
        let refused = pack.pack.tests.iter().any(|test| {
            let lines = test.lines.len() as u64;
            lines > test.expect.iter().map(|e| e.count.unwrap_or(1)).sum()
        });
        assert!(refused, "pack {} has no near miss among its tests", pack.pack.pack.name);
    }
    assert!(generation.rules.symptoms().values().any(|d| d.symptom.role == Role::Benign));
}
