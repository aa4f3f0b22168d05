//! Lines as they come in files: glued, torn, coloured, redrawn, interleaved, damaged.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

use std::sync::{Arc, LazyLock};

use firstfault_model::context::ExecutionContext;
use firstfault_model::hit::TimeSource;
use firstfault_model::source::{Source, Trust};
use firstfault_model::stream::StreamName;
use firstfault_reader::{Input, Part, ReaderLimits, Reading};
use firstfault_rules::load::load;
use firstfault_rules::ruleset::RuleSet;
use tempfile::TempDir;

/// A pack of few rules, so that the tests are about lines.
static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
    let pack = r#"
        [pack]
        name = "test"
        version = "1.0.0"
        [[symptom]]
        id = "t.*"
        role = "either"
        domain = "software"
        sub_domain = "test"
        title = "test"
        [[signature]]
        symptom = "t.boom"
        sources = ["app", "kernel"]
        pattern = 'BOOM(?: (?P<what>[a-z0-9]+))?(?P<tail> \S+)?'
        key = ["what"]
        [[signature]]
        symptom = "t.exception"
        sources = ["app"]
        block = "traceback"
        pattern = '^(?P<class>\w+): (?P<text>.*)$'
        key = ["class", "text"]
        [[signature]]
        symptom = "t.three"
        sources = ["kernel"]
        block = "three_lines"
        pattern = 'The first (?P<what>\w+)\n[^\n]*second\n[^\n]*third'
        key = ["what"]
    "#;
    RuleSet::new(vec![load("test", pack, None).unwrap()]).unwrap()
});

const HEADER: &str = "Traceback (most recent call last):";

fn read_parts(parts: &[&[u8]], source: &Source, chunk: usize) -> Reading {
    let folder = TempDir::new().unwrap();
    let parts = parts.iter().enumerate().map(|(i, bytes)| {
        let path = folder.path().join(i.to_string());
        std::fs::write(&path, bytes).unwrap();
        Arc::new(path) as Arc<dyn Part>
    });
    let name = StreamName { source: source.clone(), node: None, name: "x".into(), rank: None };
    let input = Input { name, trust: Trust::Unverified, parts: parts.collect(), missing: 0 };
    let limits = ReaderLimits { chunk, year: Some(2026), ..ReaderLimits::default() };
    firstfault_reader::read(vec![input], RULES.matcher(), &ExecutionContext::default(), &limits)
}

/// Reads it whole, and at every border that small chunks make.
fn read(log: impl AsRef<[u8]>, source: &Source) -> Reading {
    let log = log.as_ref();
    let whole = read_parts(&[log], source, 4 << 20);
    for chunk in [64, 1000, 70_000] {
        let parted = read_parts(&[log], source, chunk.max(log.len() / 64));
        assert_eq!(parted.hits, whole.hits, "chunks of {chunk}");
        assert_eq!(parted.streams[0].stats.lines, whole.streams[0].stats.lines);
    }
    whole
}

/// Each hit in the order of the log: rank, node, time of day, what was captured, count.
fn told(reading: &Reading) -> Vec<String> {
    let hits = reading.hits.iter().map(|hit| {
        let captured = ["what", "class", "text"].iter().filter_map(|name| hit.captures.get(*name)).cloned();
        let rank = hit.place.rank.map(|rank| format!("rank{rank}"));
        let time = hit.first_time.map(|s| s.time.to_string()[11..23].to_owned());
        let count = (hit.count > 1).then(|| format!("x{}", hit.count));
        let all = rank.into_iter().chain(hit.place.node.clone()).chain(time).chain(captured).chain(count);
        all.collect::<Vec<_>>().join(" ")
    });
    hits.collect()
}

fn app(log: impl AsRef<[u8]>) -> Vec<String> {
    told(&read(log, &Source::App))
}

#[test]
fn glued_and_torn_lines_are_told_apart() {
    assert_eq!(
        app(
            "[rank0]:[E914 04:37:21.111111111 P.cpp:1] BOOM one[rank1]:[E914 04:37:22.111111111 P.cpp:1] BOOM two\n"
        ),
        ["rank0 04:37:21.000 one", "rank1 04:37:22.000 two"]
    );
    // The end of the torn line may come later, or never.
    assert_eq!(app("[rank0]: BO[rank1]: BOOM two\nOM one\n"), ["rank1 two"]);
    assert_eq!(
        app("100%|####| 5/5 [00:01<00:00, 5.0it/s]lyra-041:77:88 [3] misc/socket.cc:57 NCCL WARN BOOM one\n"),
        ["lyra-041 one"]
    );
    // Quoted, it is said by who quotes it.
    assert_eq!(app("[rank0]: it said \"[rank1]: BOOM two\"\n"), ["rank0 two"]);
}

#[test]
fn bars_and_colours() {
    assert_eq!(
        app(
            "  5%|#   | 1/20 [00:01]\r 10%|##  | 2/20 [00:02]\r[rank2]: BOOM one\r\n\x1b]0;train BOOM zero\x07\x1b[1;31m[rank3]: BO\x1b[0mOM two\r\n"
        ),
        ["rank2 one", "rank3 two"]
    );
    assert_eq!(
        app("\x1b[36m(Trainer pid=12, ip=10.0.0.3)\x1b[0m BOOM one [repeated 6x across cluster]\n"),
        ["10.0.0.3 one"]
    );
}

#[test]
fn line_ends_of_all_kinds() {
    for end in ["\n", "\r\n", "\r"] {
        let log = ["2026-09-14 04:37:21 start", "[rank3]: BOOM one", "BOOM two"]
            .map(|line| line.to_owned() + end)
            .concat();
        assert_eq!(app(&log), ["rank3 04:37:21.000 one", "04:37:21.000 two"], "{end:?}");
        let traceback = [HEADER, "  File \"a.py\", line 1", "    f()", "KeyError: 'x'", "more"];
        assert_eq!(app(traceback.map(|line| line.to_owned() + end).concat()), ["KeyError 'x'"], "{end:?}");
    }
    assert_eq!(app("BOOM one"), ["one"], "a last line need not end");
}

#[test]
fn damaged_bytes() {
    let mut log = b"2026-09-14 04:37:21 [rank3]: \xff\xfe BOOM one \xc3\n".to_vec();
    assert_eq!(
        read(&log, &Source::App).hits[0].text,
        "2026-09-14 04:37:21 [rank3]: \u{fffd}\u{fffd} BOOM one \u{fffd}"
    );
    assert_eq!(read(&log, &Source::App).streams[0].stats.loss_markers, 0);
    log.extend([0; 4096]);
    log.extend_from_slice(b"2026-09-14 04:37:22 [rank4]: BOOM two\n");
    let reading = read(&log, &Source::App);
    assert_eq!(told(&reading), ["rank3 04:37:21.000 one", "rank4 04:37:22.000 two"]);
    assert!(reading.streams[0].stats.loss_markers > 0, "a run of NUL says that something is missing");
}

#[test]
fn endless_lines() {
    let mut log = b"2026-09-14 04:37:21 start\n[rank3]: ".to_vec();
    log.resize(10 << 20, b'x');
    log.extend_from_slice(b" BOOM one ");
    log.resize(11 << 20, b'y');
    log.extend_from_slice(b"\n2026-09-14 04:37:22 [rank4]: BOOM two\n");
    let reading = read_parts(&[&log], &Source::App, 4 << 20);
    let what: Vec<&String> = reading.hits.iter().filter_map(|hit| hit.captures.get("what")).collect();
    assert_eq!(what, ["one", "two"]);
    assert!(reading.hits[0].cut && reading.hits[0].text.contains(" BOOM one "));
    assert_eq!(reading.streams[0].stats.lines, 3);
}

#[test]
fn tracebacks_of_many_ranks() {
    // Rank by rank, line by line; each has two, of which the first counts.
    let block = [
        HEADER,
        "  File \"a.py\", line 1, in f",
        "    f()",
        "KeyError: 'x'",
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        HEADER,
        "  File \"b.py\", line 2, in g",
        "ValueError: y",
    ];
    for prefix in [
        "[rank{}]: ",
        "{}: ",
        "[default{}]:",
        "[1,{}]<stderr>:",
        "(Trainer pid={}, ip=10.0.0.3) ",
        "lyra-{}: ",
        "[pod/t-{}/main] ",
    ] {
        let ranks = 60;
        let log: String = block
            .iter()
            .flat_map(|line| {
                (0..ranks).map(move |rank| prefix.replace("{}", &rank.to_string()) + line + "\n")
            })
            .collect();
        let reading = read(&log, &Source::App);
        let total: u64 = reading.hits.iter().map(|hit| hit.count).sum();
        assert_eq!(total, ranks, "{prefix}");
        assert!(reading.hits.iter().all(|hit| hit.captures["class"] == "KeyError"), "{prefix}");
    }
}

#[test]
fn kernel_forms_over_three_lines() {
    for prefix in [
        "[  966.503025] ",
        "Sep 14 04:37:21 lyra-041 kernel: ",
        "[Mon Sep 14 04:37:21 2026] ",
        "kern  :err   : [  966.503025] ",
        "",
    ] {
        let log = ["The first one", "  the second", "", "the third", "more"]
            .map(|line| format!("{prefix}{line}\n"))
            .concat();
        let reading = read(&log, &Source::Kernel);
        assert_eq!(reading.hits.len(), 1, "{prefix}");
        assert!(reading.hits[0].text.ends_with("the third"), "{}", reading.hits[0].text);
    }
}

#[test]
fn stamps_without_year_or_zone() {
    // What a delta or the time since boot says is order only: the nearest dated line tells when.
    for (log, wanted) in [
        ("[Sep14 04:37] x\n[  +0.000844] BOOM one\n", "04:37:00.000 one"),
        ("[Mon Sep 14 04:37:21 2026] x\n[Mon Sep 14 04:37:22 2026] BOOM one\n", "04:37:22.000 one"),
        ("[  966.503025] BOOM one\n", "one"),
        ("Sep 14 04:37:21 lyra-041 kernel: [  966.503025] BOOM one\n", "lyra-041 04:37:21.000 one"),
        ("1789360641.418203 lyra-041 kernel: BOOM one\n", "lyra-041 04:37:21.418 one"),
    ] {
        assert_eq!(told(&read(log, &Source::Kernel)), [wanted], "{log}");
    }
}

#[test]
fn rotated_siblings_are_one_stream() {
    let old = b"2026-09-14 04:37:20 start\n[rank3]: BOOM one\n";
    let new = b"[rank3]: BOOM one\n2026-09-14 04:37:22 BOOM two\n";
    let reading = read_parts(&[old, new], &Source::App, 4 << 20);
    assert_eq!(told(&reading), ["rank3 04:37:20.000 one x2", "04:37:22.000 two"]);
    assert_eq!(reading.streams.len(), 1);
    assert_eq!(reading.hits[1].first.offset, old.len() as u64 + 18);
    assert_eq!(reading.streams[0].stats.lines, 4);
}

#[test]
fn lines_with_two_stamps_tell_the_zone_of_those_with_one() {
    let log = "2026-09-14T04:37:20.5Z stderr F 2026-09-14 12:37:20,400 BOOM one\n2026-09-14 12:37:22,000 BOOM two\n";
    let reading = read(log, &Source::App);
    assert_eq!(told(&reading), ["04:37:20.500 one", "04:37:22.000 two"]);
    let source = |hit: usize| reading.hits[hit].first_time.map(|stamp| stamp.source);
    assert_eq!([source(0), source(1)], [Some(TimeSource::Line), Some(TimeSource::LineAndContext)]);
    // Two that differ tell nothing.
    let other = log.to_owned() + "2026-09-14T04:37:25Z stderr F 2026-09-14 05:37:25,000 BOOM three\n";
    let reading = read(other, &Source::App);
    assert_eq!(reading.hits[1].first_time.map(|stamp| stamp.source), Some(TimeSource::ZoneAssumed));
}
