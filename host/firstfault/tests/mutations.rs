//! Damage: the samples with lines lost, doubled, torn and out of order, with clocks that are off, with files cut, garbled or gone. Whatever
//! it is, an answer comes, and it never convicts somebody whom the whole evidence does not accuse.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use firstfault::arguments::RuleOptions;
use firstfault::generation::Generation;
use firstfault::pipeline::timing::Timing;
use firstfault::pipeline::{self, Asked};
use firstfault_model::diagnosis::{Finding, Verdict};
use rayon::prelude::*;

/// Damaged incidents; `FIRSTFAULT_MUTATIONS` asks for more of them.
const MUTATIONS: u64 = 1000;

/// The numbers of one mutation (SplitMix64): the same for the same seed, on any machine.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// An incident: its files by their paths.
type Files = Vec<(PathBuf, Vec<u8>)>;

fn samples() -> Vec<(String, Files)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/incidents");
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    names.retain(|path| path.is_dir());
    names.sort();
    names
        .into_iter()
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), files(&path)))
        .collect()
}

fn files(root: &Path) -> Files {
    let mut out = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                out.push((path.strip_prefix(root).unwrap().to_owned(), std::fs::read(&path).unwrap()));
            }
        }
    }
    out.sort();
    out
}

fn diagnose(generation: &Generation, files: &Files) -> Finding {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    let paths = [folder.path().to_owned()];
    pipeline::diagnose(generation, &paths, &Asked::default(), &mut Timing::default()).unwrap().finding
}

/// What one mutation did, for the message.
fn mutate(files: &mut Files, numbers: &mut Numbers) -> Vec<String> {
    let mut done = Vec::new();
    for _ in 0..1 + numbers.below(4) {
        let logs: Vec<usize> =
            (0..files.len()).filter(|i| files[*i].0.starts_with("logs") && !files[*i].1.is_empty()).collect();
        if logs.is_empty() {
            break;
        }
        let index = logs[numbers.below(logs.len())];
        let (path, bytes) = &mut files[index];
        let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
        let count = lines.len();
        let kind = match numbers.below(9) {
            0 => {
                let share = 1 + numbers.below(9);
                lines.retain(|_| numbers.below(10) >= share);
                "lines lost"
            }
            1 => {
                let from = numbers.below(count);
                let repeated: Vec<Vec<u8>> =
                    lines.iter().skip(from).take(1 + numbers.below(20)).cloned().collect();
                let at = numbers.below(count + 1);
                lines.splice(at..at, repeated);
                "lines doubled"
            }
            2 => {
                for _ in 0..1 + numbers.below(5) {
                    let at = numbers.below(lines.len());
                    let cut = numbers.below(lines[at].len());
                    // Never within a number: what is left of it would be another one.
                    let within = |line: &[u8], i: usize| {
                        let is = |i: usize| line.get(i).is_some_and(u8::is_ascii_alphanumeric);
                        i > 0 && is(i - 1) && is(i)
                    };
                    let cut = (cut..lines[at].len()).find(|i| !within(&lines[at], *i)).unwrap_or(0);
                    let rest = lines[at].split_off(cut);
                    lines[at].push(b'\n');
                    if numbers.below(2) == 0 {
                        lines.insert(at + 1, rest);
                    }
                }
                "lines torn"
            }
            3 => {
                for _ in 0..1 + numbers.below(30) {
                    let at = numbers.below(count);
                    lines.swap(at, (at + numbers.below(6)).min(count - 1));
                }
                "lines out of order"
            }
            4 => {
                let by = numbers.below(81) as i64 - 40;
                for line in &mut lines {
                    shift(line, by);
                }
                "clock off"
            }
            5 => {
                let keep = numbers.below(bytes.len());
                lines = vec![bytes[..keep].to_vec()];
                "file cut"
            }
            6 => {
                for _ in 0..1 + numbers.below(40) {
                    let at = numbers.below(bytes.len());
                    // A digit that becomes another one is another name, and no damage that anybody could see.
                    if !bytes[at].is_ascii_hexdigit() {
                        bytes[at] ^= 1 << numbers.below(8);
                        if bytes[at].is_ascii_hexdigit() {
                            bytes[at] = b'?';
                        }
                    }
                }
                lines = vec![bytes.clone()];
                "bytes flipped"
            }
            7 => {
                lines.clear();
                "file emptied"
            }
            _ => {
                // What one node's kernel wrote, in the file of another, as a collector mixes it up.
                let taken: Vec<Vec<u8>> = lines.iter().filter(|_| numbers.below(8) == 0).cloned().collect();
                if path.ends_with("kernel.log") {
                    let other =
                        logs.iter().copied().find(|i| *i != index && files[*i].0.ends_with("kernel.log"));
                    if let Some(other) = other {
                        files[other].1.extend(taken.concat());
                        done.push(format!("lines moved to {}", files[other].0.display()));
                    }
                }
                continue;
            }
        };
        done.push(format!("{kind} in {}", path.display()));
        *bytes = lines.concat();
    }
    if numbers.below(6) == 0 {
        let gone = numbers.below(files.len());
        if files[gone].0.starts_with("logs") {
            done.push(format!("{} gone", files[gone].0.display()));
            files.remove(gone);
        }
    }
    done
}

/// Moves the time of day of a line's stamp by some seconds; one that would leave its day stays.
fn shift(line: &mut [u8], by: i64) {
    let digits = |line: &[u8], at: usize| -> Option<i64> {
        std::str::from_utf8(line.get(at..at + 2)?).ok()?.parse().ok()
    };
    let is_time = |line: &[u8], at: usize| line.get(at + 2) == Some(&b':') && line.get(at + 5) == Some(&b':');
    let Some(at) = (0..line.len().min(40))
        .find(|at| is_time(line, *at) && [0, 3, 6].iter().all(|i| digits(line, at + i).is_some()))
    else {
        return;
    };
    let of_day = digits(line, at).unwrap() * 3600
        + digits(line, at + 3).unwrap() * 60
        + digits(line, at + 6).unwrap()
        + by;
    if (0..86_400).contains(&of_day) {
        let text = format!("{:02}:{:02}:{:02}", of_day / 3600, of_day / 60 % 60, of_day % 60);
        line[at..at + 8].copy_from_slice(text.as_bytes());
    }
}

/// Nodes that an unharmed incident accuses: of its root causes, of what they rest on, and of its suspects.
fn accused(finding: &Finding) -> BTreeSet<String> {
    let roots = finding.root_causes.iter().flat_map(|root| {
        let cited =
            finding.evidence.iter().filter(|e| root.evidence.contains(&e.id)).filter_map(|e| e.node.clone());
        root.place.node.clone().into_iter().chain(cited)
    });
    let suspects = finding.suspects.iter().filter_map(|s| s.place.node.clone());
    roots.chain(suspects).collect()
}

#[test]
fn a_damaged_incident_convicts_nobody_whom_the_whole_one_does_not_accuse() {
    let generation = Generation::load(&RuleOptions::default()).unwrap();
    let samples = samples();
    let whole: Vec<BTreeSet<String>> =
        samples.iter().map(|(_, files)| accused(&diagnose(&generation, files))).collect();
    let count =
        std::env::var_os("FIRSTFAULT_MUTATIONS").and_then(|n| n.to_str()?.parse().ok()).unwrap_or(MUTATIONS);
    let wrong: Vec<String> = (0..count)
        .into_par_iter()
        .filter_map(|seed| {
            let mut numbers = Numbers(seed);
            let which = numbers.below(samples.len());
            let (name, files) = &samples[which];
            let mut files = files.clone();
            let done = mutate(&mut files, &mut numbers);
            let finding = diagnose(&generation, &files);
            assert_eq!(finding.verdict == Verdict::Attributed, !finding.root_causes.is_empty());
            let strangers: Vec<String> = finding
                .root_causes
                .iter()
                .filter(|root| root.place.node.as_ref().is_some_and(|node| !whole[which].contains(node)))
                .map(|root| {
                    let line = finding
                        .evidence
                        .iter()
                        .find(|e| root.evidence.contains(&e.id))
                        .map_or("", |e| &e.text);
                    format!("{} on {} ({line})", root.symptom, root.place.node.as_deref().unwrap_or_default())
                })
                .collect();
            (!strangers.is_empty()).then(|| format!("{name}, seed {seed}: {strangers:?} after {done:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
}
