//! Incidents with their logs spoiled: lines lost, doubled, torn or out of order, logs mixed, clocks off, bytes
//! flipped, files cut or gone.

use std::collections::BTreeMap;
use std::path::Path;

use crate::logs::Numbers;
use crate::stamps;

/// Files of an incident by their path in it.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Reads all files below a folder.
pub(crate) fn read(folder: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Writes them to a folder.
pub(crate) fn write(files: &Files, folder: &Path) {
    for (name, bytes) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// One way to spoil logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Dropped,
    Doubled,
    Torn,
    Disordered,
    Mixed,
    Strayed,
    Skewed,
    Cut,
    Flipped,
    Removed,
}

const KINDS: [Kind; 10] = [
    Kind::Dropped,
    Kind::Doubled,
    Kind::Torn,
    Kind::Disordered,
    Kind::Mixed,
    Kind::Strayed,
    Kind::Skewed,
    Kind::Cut,
    Kind::Flipped,
    Kind::Removed,
];

impl Kind {
    /// Whether anything that was known is not any more.
    pub(crate) fn loses_lines(self) -> bool {
        !matches!(self, Self::Doubled | Self::Disordered | Self::Mixed | Self::Strayed | Self::Skewed)
    }
}

/// Spoils the logs in one to four ways that follow from the seed, and tells which.
pub(crate) fn spoil(files: &mut Files, seed: u64) -> Vec<Kind> {
    let numbers = &mut Numbers::new(seed);
    let ways = if numbers.below(3) == 0 { 2 + numbers.below(3) } else { 1 };
    let kinds: Vec<Kind> = (0..ways).map(|_| KINDS[numbers.below(KINDS.len())]).collect();
    for kind in &kinds {
        apply(*kind, files, numbers);
    }
    kinds
}

fn apply(kind: Kind, files: &mut Files, numbers: &mut Numbers) {
    if kind == Kind::Mixed {
        return mix(files, numbers);
    }
    if kind == Kind::Strayed {
        return stray(files, numbers);
    }
    let chosen = choose(files, kind == Kind::Removed, numbers);
    // From every other line to one of a thousand.
    let rarity = [2, 5, 20, 100, 1_000][numbers.below(5)];
    let most = [2, 20, 900][numbers.below(3)];
    let shift = i64::try_from(1 + numbers.below(most)).unwrap();
    let shift = if numbers.below(2) == 0 { shift } else { -shift };
    for name in chosen {
        let Some(bytes) = files.get_mut(&name) else { continue };
        match kind {
            Kind::Dropped => {
                *bytes = each_line(
                    bytes,
                    |line| if numbers.below(rarity) > 0 { line.to_vec() } else { Vec::new() },
                )
            }
            Kind::Doubled => {
                *bytes = each_line(bytes, |line| line.repeat(1 + usize::from(numbers.below(rarity) == 0)))
            }
            Kind::Torn => {
                *bytes = each_line(bytes, |line| {
                    if numbers.below(rarity) > 0 { line.to_vec() } else { torn(line, numbers) }
                })
            }
            Kind::Disordered => disorder(bytes, rarity, numbers),
            Kind::Skewed => *bytes = each_line(bytes, |line| stamps::moved(line, shift, 2026)),
            Kind::Cut => cut(bytes, numbers),
            Kind::Flipped => flip(bytes, rarity, numbers),
            Kind::Removed | Kind::Mixed | Kind::Strayed => {
                files.remove(&name);
            }
        }
    }
}

/// Files to spoil: one, those of a node, those of a kind, or some of all.
fn choose(files: &Files, context_too: bool, numbers: &mut Numbers) -> Vec<String> {
    let fits = |name: &&String| name.starts_with("logs/") || (context_too && *name == "context.json");
    let names: Vec<&String> = files.keys().filter(fits).collect();
    let Some(one) = names.get(numbers.below(names.len())) else { return Vec::new() };
    let parted = |name: &str| {
        name.rsplit_once('/')
            .map_or((String::new(), name.to_owned()), |(folder, name)| (folder.to_owned(), name.to_owned()))
    };
    let spread = numbers.below(4);
    let mut keep = |name: &str| match spread {
        0 => name == one.as_str(),
        1 => parted(name).0 == parted(one).0,
        2 => parted(name).1 == parted(one).1,
        _ => numbers.below(2) == 0,
    };
    names.iter().filter(|name| keep(name)).map(|name| (*name).clone()).collect()
}

/// Puts the output of all nodes into one log, a few lines of each in turn.
fn mix(files: &mut Files, numbers: &mut Numbers) {
    let of_nodes = |name: &String| name.starts_with("logs/") && name.ends_with("/app.log");
    let names: Vec<String> = files.keys().filter(|name| of_nodes(name)).cloned().collect();
    let logs: Vec<Vec<u8>> = names.iter().filter_map(|name| files.remove(name)).collect();
    let mut rest: Vec<_> = logs.iter().map(|log| log.split_inclusive(|b| *b == b'\n').peekable()).collect();
    let mut mixed = Vec::new();
    while !rest.is_empty() {
        let at = numbers.below(rest.len());
        let lines = 1 + numbers.below(40);
        mixed.extend(rest[at].by_ref().take(lines).flatten());
        if rest[at].peek().is_none() {
            drop(rest.remove(at));
        }
    }
    files.insert("logs/app.log".to_owned(), mixed);
}

/// Puts some lines of a node's kernel into the file of another's as well, as a collector may mix them up. Each names its node.
fn stray(files: &mut Files, numbers: &mut Numbers) {
    let names: Vec<String> = files.keys().filter(|name| name.ends_with("/kernel.log")).cloned().collect();
    let (from, to) = (numbers.below(names.len()), numbers.below(names.len()));
    let (Some(from), Some(to)) = (names.get(from).and_then(|name| files.get(name)), names.get(to)) else {
        return;
    };
    let lines = each_line(from, |line| if numbers.below(8) == 0 { line.to_vec() } else { Vec::new() });
    files.entry(to.clone()).or_default().extend(lines);
}

fn each_line(bytes: &[u8], change: impl FnMut(&[u8]) -> Vec<u8>) -> Vec<u8> {
    bytes.split_inclusive(|b| *b == b'\n').flat_map(change).collect()
}

/// A line cut in two, without its end (so that the next is glued to it), or without its beginning. The cut is beside a
/// space, lest it spell another number.
fn torn(line: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let spaces: Vec<usize> = line.iter().enumerate().filter(|(_, b)| **b == b' ').map(|(i, _)| i).collect();
    let at = spaces.get(numbers.below(spaces.len())).copied().unwrap_or(0);
    let (head, tail) = line.split_at(at);
    match numbers.below(3) {
        0 => [head, b"\n", tail].concat(),
        1 => head.to_vec(),
        _ => tail.to_vec(),
    }
}

/// Moves lines by up to eight.
fn disorder(bytes: &mut Vec<u8>, rarity: usize, numbers: &mut Numbers) {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|b| *b == b'\n').collect();
    for i in 0..lines.len() {
        if numbers.below(rarity) == 0 {
            let other = (i + numbers.below(9)).min(lines.len() - 1);
            lines.swap(i, other);
        }
    }
    *bytes = lines.concat();
}

/// Cuts off the end or the beginning.
fn cut(bytes: &mut Vec<u8>, numbers: &mut Numbers) {
    let at = numbers.below(bytes.len());
    let at = bytes[..at].iter().rposition(|b| *b == b' ').unwrap_or(0);
    if numbers.below(3) == 0 {
        bytes.drain(..at);
    } else {
        bytes.truncate(at);
    }
}

/// Makes bytes unreadable. None becomes a digit or a letter: what then spells the name of another place would be evidence.
fn flip(bytes: &mut [u8], rarity: usize, numbers: &mut Numbers) {
    let count = bytes.len() / (64 * rarity);
    for _ in 0..=count {
        let at = numbers.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            *byte = [0, 0xff, 0xc3, 0x1b, b' ', b'\n', b'\r', b'"', b'{', b'\\'][numbers.below(10)];
        }
    }
}
