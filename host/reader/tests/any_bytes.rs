//! Whatever the bytes, they are read; and no line that some rule wants is passed over.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use firstfault_model::context::ExecutionContext;
use firstfault_model::source::{Source, Trust};
use firstfault_model::stream::StreamName;
use firstfault_reader::journal::{self, Parts};
use firstfault_reader::numbered::Numbered;
use firstfault_reader::recognise::{self, Content};
use firstfault_reader::{Input, Part, ReaderLimits, Reading, block, bug_report, glued, prefix, segment};
use firstfault_rules::load::load;
use firstfault_rules::pack::Block;
use firstfault_rules::ruleset::RuleSet;
use proptest::prelude::*;
use tempfile::NamedTempFile;

/// The shipped packs.
static RULES: LazyLock<RuleSet> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    let packs =
        paths.iter().map(|path| load("shipped", &std::fs::read_to_string(path).unwrap(), None).unwrap());
    RuleSet::new(packs.collect()).unwrap()
});

/// The lines of the packs' own tests.
static SAMPLES: LazyLock<Vec<String>> =
    LazyLock::new(|| RULES.tests().flat_map(|(_, test)| test.lines.clone()).collect());

fn read(bytes: &[u8], source: Source, limits: &ReaderLimits) -> Reading {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let name = StreamName { source, node: Some("n1".into()), name: "x".into(), rank: None };
    let part: Arc<dyn Part> = Arc::new(file.path().to_path_buf());
    let input = Input { name, trust: Trust::Unverified, parts: vec![part], missing: 0 };
    firstfault_reader::read(vec![input], RULES.matcher(), &ExecutionContext::default(), limits)
}

/// Pieces of lines at which readers stumble.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&str] = &[
        "[rank",
        "[default",
        "]:",
        "[1,2]<stderr>:",
        "[rank: 99999999999]",
        "2026-09-14T04:37:21.418+00:00 ",
        "2026-13-45 99:99:99,",
        "[2026-09-14 04:37:21] ",
        "Sep 14 04:37:21 host kernel: [  12.5",
        "[E914 04:47:22.374913434 x.cpp:1] [Rank ",
        "E0914 04:47:22.37",
        "[Wed Jan 27 23:04:35 2021] ",
        "(Actor pid=1, ip=10.0.0.1) ",
        "(a pid=",
        "<3>",
        "0: ",
        "   7: ",
        "\n",
        "\r",
        "\r\n",
        "\n\n",
        "\t",
        "\x1b[",
        "\x1b]",
        "\x1b",
        "\x07",
        "\0\0\0",
        "Traceback (most recent call last):\n",
        "  File \"a.py\", line 1\n",
        "KeyError: 1\n",
        "During handling of the above exception, another exception occurred:\n",
        "NVRM: Xid (PCI:0000:c4:00): 79, ",
        "NVRM: The NVIDIA GPU 0000:b3:00.0\n",
        "NCCL WARN ",
        "iteration 10/ 100 | elapsed",
        "é漢",
        "18446744073709551616",
        "-",
        ":",
        "[",
        "]",
        "(",
        ")",
        "<",
        ">",
        ",",
        ".",
        " ",
    ];
    prop_oneof![
        6 => prop::sample::select(PIECES).prop_map(|piece| piece.as_bytes().to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..12),
        1 => "[0-9]{1,20}".prop_map(String::into_bytes),
    ]
}

fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..600),
        prop::collection::vec(piece(), 0..60).prop_map(|pieces| pieces.concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_line_is_peeled(line in bytes()) {
        let peeled = prefix::peel(&line);
        prop_assert!(peeled.rest <= line.len());
        prop_assert!(segment::without_escapes(&line).len() <= line.len());
    }

    #[test]
    fn any_buffer_is_parted(buffer in bytes(), at: prop::sample::Index) {
        // Forwards and backwards, the same segments.
        let mut forwards = Vec::new();
        let mut next = 0;
        while let Some((range, after)) = segment::next(&buffer, next) {
            prop_assert!(after > next);
            prop_assert!(!buffer[range.clone()].iter().any(|b| matches!(b, b'\n' | b'\r')));
            forwards.push(range);
            next = after;
        }
        let mut backwards = Vec::new();
        let ends = matches!(buffer.last(), Some(b'\n' | b'\r'));
        let mut start = buffer.len() + usize::from(!ends && !buffer.is_empty());
        while let Some(range) = segment::previous(&buffer, start) {
            start = range.start;
            backwards.push(range);
        }
        backwards.reverse();
        prop_assert_eq!(&backwards, &forwards);
        let at = at.index(buffer.len() + 1);
        let around = segment::around(&buffer, at);
        prop_assert!(around.start <= at && at <= around.end);
        let (text, cut) = segment::text(&buffer, at);
        prop_assert!(!cut && text.len() <= buffer.len() * 3);
        for header in forwards {
            if let Some(found) = block::exception(&buffer, &header, &Cell::new(1_000)) {
                prop_assert!(found.segment.start > header.start && found.segment.end <= buffer.len());
                prop_assert!(found.rest <= found.segment.len());
            }
            let block = block::three_lines(&buffer, &header).unwrap();
            prop_assert!(block.segments.len() <= 3 && block.segments.iter().all(|s| s.end <= buffer.len()));
        }
    }

    #[test]
    fn any_file_is_read(file in bytes(), magic in 0..4_usize) {
        let magic: &[u8] = [&b""[..], b"", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd"][magic];
        let bytes = [magic, &file].concat();
        for source in [Source::App, Source::Kernel, Source::Syslog, Source::Unstated] {
            let reading = read(&bytes, source, &ReaderLimits::default());
            let stats = &reading.streams[0].stats;
            if magic.is_empty() && stats.error.is_none() && !bytes.starts_with(b"\x1f\x8b") {
                prop_assert_eq!(stats.bytes, bytes.len() as u64);
                let feeds = bytes.iter().filter(|b| **b == b'\n').count() as u64;
                prop_assert_eq!(stats.lines, feeds + u64::from(bytes.last().is_some_and(|b| *b != b'\n')));
            }
        }
    }
}

/// Pieces of exports and reports.
fn foreign() -> impl Strategy<Value = Vec<u8>> {
    const PIECES: &[&[u8]] = &[
        b"{\"__REALTIME_TIMESTAMP\":\"1789360641418203\",\"_TRANSPORT\":\"kernel\",\"MESSAGE\":\"x\"}\n",
        b"\"MESSAGE\":",
        b"\"_HOSTNAME\":\"n1\",",
        b"[65,10,300,-1,null,\"x\",[1]]",
        b"\\u0000",
        b"{",
        b"}",
        b"__REALTIME_TIMESTAMP=1789360641418203\n",
        b"__REALTIME_TIMESTAMP=-9223372036854775808\n",
        b"_TRANSPORT=kernel\n",
        b"MESSAGE=one\n",
        b"MESSAGE\n",
        b"\x03\0\0\0\0\0\0\0a\nb\n",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\n",
        b"\n\n",
        b"____________________________________________\n\n",
        b"Start of NVIDIA bug report log file.\n",
        b"Date: Mon Sep 14 04:50:01 UTC 2026\n",
        b"Date: Mon Sep 14 99:50:01 PM +9\xc3\xa9 2026\n",
        b"uname: Linux n1 5.15\n",
        b"Scanning kernel log files for NVIDIA kernel messages:\n",
        b"  journalctl -b -0:\n",
        b"*** /var/log/dmesg\n",
        b"dmesg:\n",
        b"[ 12.3] NVRM: Xid\n",
    ];
    let piece = prop_oneof![
        8 => prop::sample::select(PIECES).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..12),
    ];
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..1200),
        prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Exports and reports of any bytes are parted, and no line leaves its place: there are never more than were read.
    #[test]
    fn any_export_is_parted(bytes in foreign()) {
        let content = recognise::recognise(&bytes);
        prop_assert!(bytes.len() >= 512 || content != Content::Tar);
        let feeds = bytes.iter().filter(|b| **b == b'\n').count() as u64;
        for content in [Content::JournalJson, Content::JournalExport, Content::BugReport] {
            let mut parts = Parts { kernel: Numbered::new(Vec::new()), rest: Numbered::new(Vec::new()) };
            let mut input = bytes.as_slice();
            // A report ends with a line of its own time.
            let (lines, more) = match content {
                Content::BugReport => (bug_report::part(&mut input, &mut parts).unwrap().lines, 2),
                content => (journal::part(content, &mut input, &mut parts).unwrap().lines, 1),
            };
            prop_assert!(lines <= feeds + more, "{content:?}");
            for part in [parts.kernel, parts.rest] {
                let text = part.finish(lines).unwrap();
                prop_assert_eq!(text.iter().filter(|b| **b == b'\n').count() as u64, lines, "{:?}", content);
            }
        }
    }
}

/// Count, first and last offset of the lines of each signature.
type Found = BTreeMap<u32, (u64, u64, u64)>;

/// Tries each pattern on each line.
fn naive(log: &[u8], source: &Source) -> Found {
    let mut found = Found::new();
    let mut next = 0;
    while let Some((range, after)) = segment::next(log, next) {
        next = after;
        for piece in glued::pieces(&log[range.clone()]) {
            let start = range.start + piece.start;
            let line = segment::without_escapes(&log[start..range.start + piece.end]);
            for (index, signature) in (0_u32..).zip(RULES.matcher().signatures()) {
                if compared(index)
                    && signature.applies_to(source)
                    && signature.pattern().unwrap().is_match(&line)
                    && !signature.excepted(&line)
                {
                    let entry = found.entry(index).or_insert((0, start as u64, 0));
                    *entry = (entry.0 + 1, entry.1, start as u64);
                }
            }
        }
    }
    found
}

/// Whether hits of a signature depend on its lines alone.
fn compared(index: u32) -> bool {
    RULES.matcher().signature(index).is_some_and(|s| s.spec.block == Block::Line && !s.spec.fallback)
}

fn found(reading: &Reading) -> Found {
    let mut found = Found::new();
    for hit in reading.hits.iter().filter(|hit| compared(hit.signature)) {
        let entry = found.entry(hit.signature).or_insert((0, u64::MAX, 0));
        *entry = (entry.0 + hit.count, entry.1.min(hit.first.offset), entry.2.max(hit.last.offset));
    }
    found
}

/// A line of a healthy run, or one of the packs' samples, as it is or with other digits or another letter.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let healthy = prop_oneof![
        Just(" [2026-09-14 03:12:44] iteration     1000/  500000 | lm loss: 1.200000E+00 | skipped iterations:   0 |".to_owned()),
        Just("0: [rank3]: loading shard 00012 of 00128 from /data/shards\r".to_owned()),
        Just("Sep 14 03:12:44 lyra-041 systemd[1]: Started session 4711 of user root.".to_owned()),
    ];
    let sample = any::<prop::sample::Index>().prop_map(|i| i.get(&SAMPLES).clone());
    let changed = prop::collection::vec(
        (any::<prop::sample::Index>(), prop::sample::select(b"0123456789aeX _".as_slice())),
        0..6,
    );
    (prop_oneof![4 => healthy, 2 => sample], changed).prop_map(|(line, changed)| {
        let mut line = line.into_bytes();
        let length = line.len();
        for (at, byte) in changed {
            // Mostly digits for digits: such lines are known already.
            if let Some(old) = line.get_mut(at.index(length.max(1)))
                && (old.is_ascii_digit() || byte.is_ascii_alphabetic())
            {
                *old = byte;
            }
        }
        line.push(b'\n');
        line
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Anchors, literals and what is known of earlier lines decide how fast lines are read, never what is found.
    #[test]
    fn nothing_is_passed_over(lines in prop::collection::vec(line(), 100..400), source in 0..3_usize) {
        let log = lines.concat();
        let source = [Source::App, Source::Kernel, Source::Scheduler][source].clone();
        let wanted = naive(&log, &source);
        // Twice: the second time all is known.
        for _ in 0..2 {
            prop_assert_eq!(&found(&read(&log, source.clone(), &ReaderLimits::default())), &wanted);
        }
        let limits = ReaderLimits { chunk: 64 << 10, ..ReaderLimits::default() };
        prop_assert_eq!(&found(&read(&log, source, &limits)), &wanted);
    }
}
