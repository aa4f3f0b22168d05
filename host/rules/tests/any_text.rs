//! Whatever text is given as a pack, it is read or refused; and what is read finds all lines that its patterns match.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "that is how a test fails")]

#[path = "../../model/tests/support/edited.rs"]
mod edited;

use std::path::Path;

use edited::edited;
use firstfault_rules::duration::Span;
use firstfault_rules::load::{LoadedPack, load};
use firstfault_rules::matcher::Matcher;
use firstfault_rules::ruleset::RuleSet;
use firstfault_rules::wildcard;
use proptest::prelude::*;
use proptest::string::string_regex;

/// The shipped packs.
fn shipped() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../rules");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    paths.sort();
    paths.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect()
}

/// Reads a pack and joins it to a set, as far as it goes.
fn try_out(text: &str) {
    for module in [None, Some("guest")] {
        if let Ok(pack) = load("any", text, module)
            && let Ok(rules) = RuleSet::new(vec![pack])
        {
            _ = rules.matcher().check();
            _ = rules.matcher().candidates(text.as_bytes());
        }
    }
}

fn pack_with(pattern: &str) -> String {
    format!(
        "[pack]\nname = \"any\"\nversion = \"0.1.0\"\n[[symptom]]\nid = \"any.thing\"\nrole = \"benign\"\ntitle = \"x\"\n\
         [[signature]]\nsymptom = \"any.thing\"\nsources = [\"app\"]\npattern = '''{pattern}'''\n"
    )
}

/// One signature with this pattern, if it is accepted.
fn matcher(pattern: &str) -> Option<Matcher> {
    let pack: LoadedPack = load("any", &pack_with(pattern), None).ok()?;
    Matcher::new(&[pack]).ok()
}

/// Patterns as rules are written: words, digits and choices, each perhaps optional or repeated.
fn pattern() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-zA-Z]{1,9}",
        "[A-Z]{2,4} [a-z]{3,6}",
        Just("[0-9]+".to_owned()),
        Just("[a-f0-9]{2,4}".to_owned()),
        Just("(?:Xid|SXid)".to_owned()),
        Just("[^,;]*".to_owned()),
        Just("(?i:warning|error)".to_owned()),
        Just("x?".to_owned()),
        "[a-z]{3}[0-9]{1,3}[a-z]{2,5}",
    ];
    let group = |inner: BoxedStrategy<String>| {
        (prop::collection::vec(inner, 1..4), 0..5_usize).prop_map(|(parts, form)| match form {
            0 => format!("(?:{})", parts.join("|")),
            1 => format!("(?:{})?", parts.concat()),
            2 => format!("(?:{}){{1,2}}", parts.concat()),
            _ => parts.concat(),
        })
    };
    let inner = word.boxed().prop_recursive(3, 16, 4, move |inner| group(inner.boxed()));
    prop::collection::vec(inner, 1..5).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,400}") {
        try_out(&text);
    }

    /// Texts that are nearly packs.
    #[test]
    fn any_words_of_the_grammar(words in prop::collection::vec(prop_oneof![
        Just("[pack]\n"), Just("name = \"a\"\n"), Just("version = \"0.1.0\"\n"), Just("[[signature]]\n"), Just("[[symptom]]\n"),
        Just("[[cause]]\n"), Just("[[probe]]\n"), Just("[[test]]\n"), Just("[tables.x.1]\n"), Just("id = \"a.*\"\n"),
        Just("pattern = '(?P<a>\\d+) word ([a-z]'\n"), Just("pattern = 'word (?P<a>\\d+)'\n"), Just("key = [\"a\"]\n"),
        Just("symptom = \"a.b\"\n"), Just("module = \"self\"\n"), Just("sources = [\"app\"]\n"), Just("lines = [\"x\"]\n"),
        Just("role = \"cause\"\n"), Just("domain = \"hardware\"\n"), Just("sub_domain = \"nvlink\"\n"), Just("title = \"x\"\n"),
        Just("effect = [\"a.b\"]\n"), Just("by = [\"*\"]\n"), Just("where = \"same_gpu\"\n"), Just("within = { before = \"99999999999h\" }\n"),
        Just("block = \"three_lines\"\n"), Just("anchors = [\"1234\"]\n"), Just("x = 1\n"),
    ], 0..24)) {
        try_out(&words.concat());
    }

    #[test]
    fn any_pattern(pattern in "[a-z(|)*+?\\[\\]{}\\\\.^$:<>P0-9,-]{0,40}") {
        try_out(&pack_with(&pattern));
    }

    /// A line that a pattern matches is never passed over for want of an anchor or a literal.
    #[test]
    fn what_matches_is_a_candidate(
        (pattern, line) in pattern().prop_flat_map(|p| (Just(p.clone()), string_regex(&p).unwrap())),
        around in "[ -~]{0,12}",
    ) {
        if let Some(matcher) = matcher(&pattern) {
            let line = format!("{around}{line}{around}");
            if matcher.signature(0).unwrap().pattern().unwrap().is_match(line.as_bytes()) {
                prop_assert!(matcher.has_anchor(line.as_bytes()), "{} has none of {:?}", line, matcher.anchors());
                prop_assert_eq!(matcher.candidates(line.as_bytes()), vec![0]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// The shipped packs with a stretch taken out or doubled.
    #[test]
    fn damaged_packs(which: prop::sample::Index, at: prop::sample::Index, length in 1..200_usize, doubled: bool) {
        let packs = shipped();
        let text = which.get(&packs);
        let mut bounds: Vec<usize> = text.char_indices().map(|(i, _)| i).collect();
        bounds.push(text.len());
        let first = at.index(bounds.len());
        let last = (first + length).min(bounds.len() - 1);
        let (from, to) = (bounds[first], bounds[last]);
        let damaged = [&text[..if doubled { to } else { from }], &text[if doubled { from } else { to }..]].concat();
        try_out(&damaged);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn durations(text in edited(&["500ms", "30s", "15m", "2h", "1d", "106751d"])) {
        if let Some(span) = Span::parse(&text) {
            prop_assert!(span.0 >= 0);
            prop_assert!(text.bytes().all(|b| b.is_ascii_alphanumeric()), "{}", text);
        }
    }

    /// A pattern covers what is below its prefix, and itself where it has no star.
    #[test]
    fn wildcards(pattern in edited(&["xid.*", "xid.149", "nccl.ib_completion"]), id in edited(&["xid.149", "xid.1", "nccl.ib_completion"])) {
        if wildcard::is_well_formed(&pattern, true) && wildcard::is_well_formed(&id, false) {
            let covered = match pattern.strip_suffix(".*") {
                Some(prefix) => id.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.')),
                None => id == pattern,
            };
            prop_assert_eq!(wildcard::matches(&pattern, &id), covered);
        }
        _ = wildcard::matches(&pattern, &id);
    }
}
