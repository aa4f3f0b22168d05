//! Nearly valid text: valid text with a few edits.

use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What parsers stumble over: numbers at the ends of their types, half of what comes in pairs, other kinds of blanks.
const STUMBLING_BLOCKS: &[&str] = &[
    "",
    " ",
    "\t",
    "\r",
    "\n",
    "\0",
    "\u{1b}[0m",
    "\u{fffd}",
    "\u{202e}",
    "é",
    "\u{a0}",
    "-",
    "--",
    "-1",
    "0",
    "00",
    "0x",
    "4294967295",
    "4294967296",
    "9223372036854775808",
    "18446744073709551616",
    "99999999999999999999999999999999",
    "1e9",
    "0.5",
    "null",
    "true",
    ",",
    ",,",
    ":",
    "::",
    ";",
    ".",
    "..",
    "/",
    "//",
    "../",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "\\",
    "\\u0000",
    "=",
    "*",
    "%",
    "#",
];

#[derive(Debug, Clone)]
enum Edit {
    Cut(Index, usize),
    Double(Index, usize),
    Insert(Index, String),
    End(Index),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        (any::<Index>(), 1..12_usize).prop_map(|(at, length)| Edit::Cut(at, length)),
        (any::<Index>(), 1..40_usize).prop_map(|(at, length)| Edit::Double(at, length)),
        (any::<Index>(), select(STUMBLING_BLOCKS)).prop_map(|(at, text)| Edit::Insert(at, text.to_owned())),
        (any::<Index>(), "\\PC{1,6}").prop_map(|(at, text)| Edit::Insert(at, text)),
        any::<Index>().prop_map(Edit::End),
    ]
}

/// One of the texts, as it is or with up to five edits.
pub(crate) fn edited(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    (select(texts), prop::collection::vec(edit(), 0..6)).prop_map(|(text, edits)| {
        let mut text: Vec<char> = text.chars().collect();
        for edit in edits {
            let end = text.len();
            let range = |at: &Index, length: usize| {
                let at = at.index(end + 1);
                at..(at + length).min(end)
            };
            match edit {
                Edit::Cut(at, length) => drop(text.drain(range(&at, length))),
                Edit::Double(at, length) => {
                    let range = range(&at, length);
                    let again: Vec<char> = text.get(range.clone()).unwrap_or_default().to_vec();
                    text.splice(range.start..range.start, again);
                }
                Edit::Insert(at, new) => {
                    let at = range(&at, 0).start;
                    text.splice(at..at, new.chars());
                }
                Edit::End(at) => text.truncate(at.index(end + 1)),
            }
        }
        text.into_iter().collect()
    })
}
