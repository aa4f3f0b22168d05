//! The same incident as it might as well have been logged: of other nodes, at another time, with more in the logs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use firstfault_model::context::ExecutionContext;
use firstfault_model::ranges::{RankList, parse_ranks};

use crate::logs::Numbers;
use crate::mutation::Files;
use crate::stamps;

#[path = "strangers.rs"]
mod strangers;

/// A way to tell the same story otherwise. None takes anything away that was known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Variation {
    /// The nodes have other names, in the same order of the alphabet.
    Renamed,
    /// The nodes have each other's names, so that their order is the reverse.
    Reversed,
    /// All was some days and hours earlier or later.
    Moved,
    /// All was so long before or after that it ends soon after New Year.
    OverNewYear,
    /// The files lie otherwise in the folder.
    Reordered,
    /// Logs of a node that has nothing to do with it lie beside the others.
    Neighbour,
    /// Lines without any meaning stand between the others.
    Noise,
    /// Ranks that write at the same time have written in another order.
    Woven,
    /// The ranks of two nodes have each other's numbers.
    Ranks,
    /// Lines end with a carriage return and a line feed.
    Returns,
    /// Each log was rotated once.
    Rotated,
    /// The kernel's lines carry the stamps of another logger.
    Restamped,
    /// Loud things happened to others: long before the end, or to other jobs.
    Strangers,
}

pub(crate) const ALL: [Variation; 13] = [
    Variation::Renamed,
    Variation::Reversed,
    Variation::Moved,
    Variation::OverNewYear,
    Variation::Reordered,
    Variation::Neighbour,
    Variation::Noise,
    Variation::Woven,
    Variation::Ranks,
    Variation::Returns,
    Variation::Rotated,
    Variation::Restamped,
    Variation::Strangers,
];

/// An incident told otherwise.
pub(crate) struct Varied {
    pub(crate) files: Files,
    /// In which order the files are written.
    pub(crate) order: Vec<String>,
    /// What the nodes are called.
    pub(crate) names: Renaming,
    /// What the ranks are called that have another number.
    pub(crate) ranks: BTreeMap<u32, u32>,
}

impl Variation {
    /// The name by which it is asked for.
    pub(crate) fn name(self, seed: u64) -> &'static str {
        match self {
            Self::Renamed => "renamed",
            Self::Reversed => "reversed",
            Self::Moved => "moved",
            Self::OverNewYear => "over_new_year",
            Self::Reordered => "reordered",
            Self::Neighbour => "neighbour",
            Self::Noise => "noise",
            Self::Woven => "woven",
            Self::Ranks => "ranks",
            Self::Returns => "returns",
            Self::Rotated => "rotated",
            Self::Restamped => "restamped",
            Self::Strangers => strangers::NAMES[usize::try_from(seed).unwrap()],
        }
    }

    /// Whether nothing makes it less sure than before.
    pub(crate) fn is_exact(self) -> bool {
        !matches!(self, Self::Restamped | Self::Strangers)
    }

    /// How many of it are worth trying: each is another with another seed.
    pub(crate) fn seeds(self) -> u64 {
        match self {
            Self::Reversed | Self::OverNewYear | Self::Neighbour | Self::Ranks | Self::Returns => 1,
            Self::Renamed | Self::Moved | Self::Reordered | Self::Rotated | Self::Restamped => 2,
            Self::Noise | Self::Woven => 3,
            Self::Strangers => strangers::NAMES.len() as u64,
        }
    }

    /// The incident told otherwise, if that makes a difference to its files.
    pub(crate) fn of(self, files: &Files, nodes: &BTreeSet<String>, seed: u64) -> Option<Varied> {
        let numbers = &mut Numbers::new(seed);
        let (mut names, mut ranks) = (Renaming::default(), BTreeMap::new());
        let mut varied = files.clone();
        match self {
            Self::Renamed => names = Renaming::with_another_prefix(nodes, seed),
            Self::Reversed => names = Renaming::reversed(nodes, files)?,
            Self::Moved => {
                varied =
                    moved(files, (1 + numbers.below(9)) as i64 * DAY + (1 + numbers.below(20)) as i64 * 3_607)
            }
            Self::OverNewYear => varied = moved(files, to_new_year(files)?),
            Self::Neighbour => neighbour(&mut varied, nodes),
            Self::Noise => for_logs(&mut varied, |path, text| noise(path, text, numbers)),
            Self::Woven => for_logs(&mut varied, |_, text| woven(text, numbers)),
            Self::Ranks => ranks = exchange_ranks(&mut varied)?,
            Self::Returns => for_logs(&mut varied, |_, text| each_line(text, with_return)),
            Self::Rotated => rotated(&mut varied, numbers),
            Self::Restamped => restamped(&mut varied, seed)?,
            Self::Strangers => strangers::add(&mut varied, seed)?,
            Self::Reordered => {}
        }
        let varied: Files =
            varied.into_iter().map(|(path, text)| (names.path(&path), names.text(&text))).collect();
        let mut order: Vec<String> = varied.keys().cloned().collect();
        if self == Self::Reordered {
            shuffle(&mut order, numbers);
        }
        let another = varied != *files || (self == Self::Reordered && order.len() > 1);
        another.then_some(Varied { files: varied, order, names, ranks })
    }
}

const DAY: i64 = 86_400;

/// New names for nodes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Renaming(Vec<(String, String)>);

impl Renaming {
    /// Names with another beginning and the same numbers, so that lists of hosts (`old-[31-34]`) can be renamed as well.
    fn with_another_prefix(nodes: &BTreeSet<String>, seed: u64) -> Self {
        let new = ["quebec-r2-", "b"][usize::try_from(seed % 2).unwrap()];
        let renamed = |name: &String| {
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let number = &name[prefix.len()..];
            // A name without a number, or of several: the whole name is what is new.
            if number.is_empty() { format!("{new}{name}") } else { format!("{new}{number}") }
        };
        let prefixes: BTreeSet<&str> =
            nodes.iter().map(|name| name.trim_end_matches(|c: char| c.is_ascii_digit())).collect();
        let mut pairs: Vec<(String, String)> = if prefixes.len() == 1 {
            nodes.iter().map(|name| (name.clone(), renamed(name))).collect()
        } else {
            nodes.iter().map(|name| (name.clone(), format!("{new}{name}"))).collect()
        };
        for prefix in prefixes.iter().filter(|prefix| !prefix.is_empty()) {
            let new = if prefixes.len() == 1 { new.to_owned() } else { format!("{new}{prefix}") };
            pairs.push((format!("{prefix}["), format!("{new}[")));
        }
        Self(pairs)
    }

    /// The names in the reverse order. `None` where lists of hosts are written, which cannot be turned round.
    fn reversed(nodes: &BTreeSet<String>, files: &Files) -> Option<Self> {
        let listed = |name: &String| {
            let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let list = format!("{prefix}[").into_bytes();
            files.values().any(|text| text.windows(list.len()).any(|at| at == list))
        };
        (nodes.len() > 1 && !nodes.iter().any(listed))
            .then(|| Self(nodes.iter().cloned().zip(nodes.iter().rev().cloned()).collect()))
    }

    /// The path of a file, with the new name of its node.
    fn path(&self, path: &str) -> String {
        String::from_utf8(self.text(path.as_bytes())).unwrap()
    }

    /// A text with each name in it replaced where it stands as a word, as in `slurmstepd-old-31` and `old-31-ib`.
    pub(crate) fn text(&self, text: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        let mut at = 0;
        let in_name = |byte: Option<&u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_');
        while at < text.len() {
            let begins = at == 0 || !in_name(text.get(at - 1));
            let found = self.0.iter().filter(|_| begins).find(|(old, _)| {
                text[at..].starts_with(old.as_bytes())
                    && (old.ends_with('[') || !in_name(text.get(at + old.len())))
            });
            match found {
                Some((old, new)) => {
                    out.extend_from_slice(new.as_bytes());
                    at += old.len();
                }
                None => {
                    out.push(text[at]);
                    at += 1;
                }
            }
        }
        out
    }
}

/// All stamps of all files moved by seconds.
fn moved(files: &Files, seconds: i64) -> Files {
    let year = year(files);
    files.iter().map(|(path, text)| (path.clone(), stamps::moved(text, seconds, year))).collect()
}

/// The year of the incident.
fn year(files: &Files) -> i32 {
    let context = files.get("context.json").and_then(|text| stamps::year(text));
    context.or_else(|| files.values().find_map(|text| stamps::year(text))).unwrap_or(2026)
}

/// By how much the incident has to be moved for its end to be an hour after New Year; without an end or a year it cannot be told what
/// stamps without a year would mean.
fn to_new_year(files: &Files) -> Option<i64> {
    let context: serde_json::Value = serde_json::from_slice(files.get("context.json")?).unwrap();
    let end = firstfault_model::time::Timestamp::parse(context["end"].as_str()?)?;
    let year = year(files) + 1;
    let wanted = firstfault_model::time::Timestamp::parse(&format!("{year}-01-01T00:40:00Z")).unwrap();
    Some(wanted.since(end) / firstfault_model::time::SECOND)
}

fn for_logs(files: &mut Files, mut change: impl FnMut(&str, &[u8]) -> Vec<u8>) {
    for (path, text) in files.iter_mut().filter(|(path, text)| is_plain_log(path, text)) {
        *text = change(path, text);
    }
}

/// Whether a file is a log of plain lines: none in a container's or a journal's form, nor a report of several parts.
fn is_plain_log(path: &str, text: &[u8]) -> bool {
    let has = |word: &[u8]| text.windows(word.len()).any(|at| at == word);
    path.ends_with(".log")
        && !path.contains("bug-report")
        && !text.starts_with(b"{")
        && !text.starts_with(b"__CURSOR")
        && !has(b" stdout F ")
        && !has(b" stderr F ")
        && !has(b" stderr P ")
}

/// Adds a healthy node that the job did not use.
fn neighbour(files: &mut Files, nodes: &BTreeSet<String>) {
    let name = "zulu-9901";
    if nodes.contains(name) || !files.keys().any(|path| path.starts_with("logs/")) {
        return;
    }
    let stamps: Vec<String> = files
        .iter()
        .filter(|(path, _)| path.ends_with("/kernel.log"))
        .flat_map(|(_, text)| text.split(|b| *b == b'\n'))
        .filter_map(|line| Some(std::str::from_utf8(line).ok()?.split_once(' ')?.0.to_owned()))
        .filter(|stamp| stamp.len() > 18 && stamp.as_bytes()[10] == b'T')
        .take(40)
        .collect();
    let lines: Vec<String> = stamps
        .iter()
        .zip(KERNEL.iter().cycle())
        .map(|(stamp, text)| format!("{stamp} {name} kernel: {text}\n"))
        .collect();
    if !lines.is_empty() {
        files.insert(format!("logs/{name}/kernel.log"), lines.concat().into_bytes());
    }
}

const KERNEL: [&str; 4] = [
    "perf: interrupt took too long (3203 > 2520), lowering kernel.perf_event_max_sample_rate to 62000",
    "EXT4-fs (nvme1n1p1): re-mounted. Quota mode: none.",
    "audit: type=1131 msg='unit=logrotate comm=\"systemd\" exe=\"/usr/lib/systemd/systemd\" res=success'",
    "usb 1-14: new high-speed USB device number 5 using xhci_hcd",
];

const OUTPUT: [&str; 4] = [
    "data: queue 14 of 64, nothing waits",
    "trainer.health data wait 0.6% | host memory 34.1% | shard 201",
    "tokens per second per device: 11204",
    "saved the state of the sampler, 3 files",
];

/// Adds lines without meaning. They stand behind stamped lines and before stamped ones, or between labelled ones, so that none parts
/// what only its place makes one message.
fn noise(path: &str, text: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let kernel = path.ends_with("kernel.log") || path.ends_with("syslog.log");
    let rarity = [1, 4, 20][numbers.below(3)];
    let lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    let mut out = Vec::with_capacity(text.len() * 2);
    for (i, line) in lines.iter().enumerate() {
        out.extend_from_slice(line);
        let next = lines.get(i + 1).copied().unwrap_or(b"");
        let apart =
            line.ends_with(b"\n") && stamps::leading(line).is_some() && stamps::leading(next).is_some();
        if !apart || numbers.below(rarity) > 0 {
            continue;
        }
        let of_kernel = b"kernel: ";
        let prefix = line
            .windows(of_kernel.len())
            .position(|at| at == of_kernel)
            .map(|at| &line[..at + of_kernel.len()]);
        match prefix {
            Some(prefix) => {
                out.extend_from_slice(prefix);
                out.extend_from_slice(KERNEL[numbers.below(KERNEL.len())].as_bytes());
                out.push(b'\n');
            }
            None if !kernel => {
                out.extend_from_slice(OUTPUT[numbers.below(OUTPUT.len())].as_bytes());
                out.push(b'\n');
            }
            None => {}
        }
    }
    out
}

/// Puts the lines of ranks that are labelled with them, and written one after the other, into another order. Each rank's own stay
/// in theirs, and no line moves to another minute.
fn woven(text: &[u8], numbers: &mut Numbers) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.split_inclusive(|b| *b == b'\n').collect();
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < lines.len() {
        let mut ranks: Vec<(&[u8], Vec<&[u8]>)> = Vec::new();
        let mut minute: Option<&[u8]> = None;
        let begin = at;
        while let Some(label) = lines.get(at).and_then(|line| label(line)) {
            let of_line = stamps::leading(lines[at]).map(|end| &lines[at][..end]).and_then(minute_of);
            if at - begin >= 60 || (minute.is_some() && of_line.is_some() && minute != of_line) {
                break;
            }
            minute = minute.or(of_line);
            match ranks.iter_mut().find(|(of, _)| *of == label) {
                Some((_, lines_of)) => lines_of.push(lines[at]),
                None => ranks.push((label, vec![lines[at]])),
            }
            at += 1;
        }
        if ranks.is_empty() {
            out.extend_from_slice(lines[at]);
            at += 1;
            continue;
        }
        let mut rest: Vec<std::vec::IntoIter<&[u8]>> =
            ranks.into_iter().map(|(_, of)| of.into_iter()).collect();
        while !rest.is_empty() {
            let chosen = numbers.below(rest.len());
            match rest[chosen].next() {
                Some(line) => {
                    out.extend_from_slice(line);
                    // The last line of a file may have no end.
                    if !line.ends_with(b"\n") {
                        out.push(b'\n');
                    }
                }
                None => drop(rest.remove(chosen)),
            }
        }
    }
    out
}

/// `[rank12]:` or `12: ` before a line.
fn label(line: &[u8]) -> Option<&[u8]> {
    let digits = |from: usize| line[from..].iter().take_while(|b| b.is_ascii_digit()).count();
    if line.starts_with(b"[rank") {
        let end = 5 + digits(5);
        return (end > 5 && line[end..].starts_with(b"]:")).then(|| &line[..end]);
    }
    let end = digits(0);
    (end > 0 && line[end..].starts_with(b": ")).then(|| &line[..end])
}

/// Hour and minute of a stamp.
fn minute_of(stamp: &[u8]) -> Option<&[u8]> {
    let at = stamp.windows(6).position(|at| at[2] == b':' && at[5] == b':')?;
    stamp.get(at..at + 5)
}

fn shuffle(items: &mut [String], numbers: &mut Numbers) {
    for i in (1..items.len()).rev() {
        items.swap(i, numbers.below(i + 1));
    }
}

fn each_line(text: &[u8], change: impl FnMut(&[u8]) -> Vec<u8>) -> Vec<u8> {
    text.split_inclusive(|b| *b == b'\n').flat_map(change).collect()
}

fn with_return(line: &[u8]) -> Vec<u8> {
    match line.strip_suffix(b"\n") {
        Some(line) if !line.ends_with(b"\r") => [line, b"\r\n"].concat(),
        _ => line.to_vec(),
    }
}

/// Cuts each log in two before a stamped line: the older part is the rotated sibling.
fn rotated(files: &mut Files, numbers: &mut Numbers) {
    let logs: Vec<String> =
        files.iter().filter(|(path, text)| is_plain_log(path, text)).map(|(path, _)| path.clone()).collect();
    for path in logs {
        let text = files.get_mut(&path).unwrap();
        let mut begin = 0;
        let mut begins = Vec::new();
        for line in text.split_inclusive(|b| *b == b'\n') {
            begins.extend((begin > 0 && stamps::leading(line).is_some()).then_some(begin));
            begin += line.len();
        }
        let Some(at) = begins.get(numbers.below(begins.len())).copied() else { continue };
        let new = text.split_off(at);
        let old = std::mem::replace(text, new);
        files.insert(format!("{path}.1"), old);
    }
}

/// Gives the lines of kernels that carry their time in full (`2026-09-14T04:37:21.418203+00:00 host kernel: `) the stamps of a plain
/// syslog, or of `dmesg -T`. `None` where no context says that such stamps are in UTC.
fn restamped(files: &mut Files, seed: u64) -> Option<()> {
    static FULL: LazyLock<regex::bytes::Regex> = LazyLock::new(|| {
        let form = r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.\d{6}\+00:00 (\S+ kernel: )(\[ *\d+\.\d+\] )?";
        regex::bytes::Regex::new(form).unwrap()
    });
    let context: serde_json::Value = serde_json::from_slice(files.get("context.json")?).unwrap();
    (context["zones"] == serde_json::json!({ "default": "UTC" })).then_some(())?;
    for (_, text) in files.iter_mut().filter(|(path, _)| path.ends_with("/kernel.log")) {
        *text = each_line(text, |line| {
            let Some(found) = FULL.captures(line) else { return line.to_vec() };
            let part =
                |i: usize| found.get(i).map_or("", |part| std::str::from_utf8(part.as_bytes()).unwrap());
            let rest = &line[found.get(0).unwrap().end()..];
            let time = stamps::ctime(part(1));
            let head = if seed.is_multiple_of(2) {
                // `Mon Sep 14 04:37:21 2026` without its day of the week and its year.
                format!("{} {}{}", &time[4..19], part(2), part(3))
            } else {
                format!("[{time}] ")
            };
            [head.as_bytes(), rest].concat()
        });
    }
    Some(())
}

/// Exchanges the numbers of the ranks of the first and of the last node. `None` where they are written in a way that this does not
/// know, so that the logs would contradict each other.
fn exchange_ranks(files: &mut Files) -> Option<BTreeMap<u32, u32>> {
    static NUMBER: LazyLock<regex::bytes::Regex> =
        LazyLock::new(|| regex::bytes::Regex::new(r"(?i-u)\b(rank(?: *: *| )?)(\d+)\b").unwrap());
    static UNKNOWN: LazyLock<regex::bytes::Regex> = LazyLock::new(|| {
        regex::bytes::Regex::new(r"(?im-u)\branks\b|(?:group|node)_rank|\btasks \d|^\d+: ").unwrap()
    });
    if files.iter().any(|(path, text)| path != "context.json" && UNKNOWN.is_match(text)) {
        return None;
    }
    let text = files.get("context.json")?;
    let context = ExecutionContext::parse(std::str::from_utf8(text).unwrap()).unwrap();
    let (first, last) = (context.nodes.first()?, context.nodes.last()?);
    if first.ranks.is_empty() || first.ranks.len() != last.ranks.len() || context.nodes.len() < 2 {
        return None;
    }
    // Tasks of Slurm are ranks where there are more than one on a node.
    static TASK: LazyLock<regex::bytes::Regex> =
        LazyLock::new(|| regex::bytes::Regex::new(r"(?-u)\btask (\d+)").unwrap());
    let task = |found: regex::bytes::Captures<'_>| std::str::from_utf8(&found[1]).unwrap().parse::<usize>();
    let mut tasks = files.values().flat_map(|text| TASK.captures_iter(text)).map(task);
    if tasks.any(|task| task.is_ok_and(|task| task >= context.nodes.len())) {
        return None;
    }
    let pairs = first.ranks.iter().zip(&last.ranks).flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
    let new: BTreeMap<u32, u32> = pairs.collect();
    let renumbered = |list: &mut serde_json::Value| {
        let ranks: RankList = serde_json::from_value(list.clone()).unwrap();
        let numbers = match ranks {
            RankList::Numbers(numbers) => numbers,
            RankList::Text(text) => parse_ranks(&text, 1_000).unwrap().into_iter().collect(),
        };
        let numbers: Vec<u32> = numbers.iter().map(|rank| *new.get(rank).unwrap_or(rank)).collect();
        *list = serde_json::json!(numbers);
    };
    let mut document: serde_json::Value = serde_json::from_slice(text).unwrap();
    for node in document["nodes"].as_array_mut()? {
        node.get_mut("ranks").map(renumbered);
        let gpus = node.get_mut("gpus").and_then(serde_json::Value::as_array_mut);
        gpus.into_iter().flatten().filter_map(|gpu| gpu.get_mut("ranks")).for_each(renumbered);
    }
    for text in files.values_mut() {
        let changed = NUMBER.replace_all(text, |found: &regex::bytes::Captures<'_>| {
            let number = std::str::from_utf8(&found[2]).unwrap();
            let new = number
                .parse()
                .ok()
                .and_then(|rank: u32| new.get(&rank))
                .map_or(number.to_owned(), u32::to_string);
            [&found[1], new.as_bytes()].concat()
        });
        *text = changed.into_owned();
    }
    files.insert("context.json".to_owned(), document.to_string().into_bytes());
    Some(new)
}
