//! Lines that several processes wrote: one began before another had ended its line, or a progress bar left it open.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::prefix;

/// Most pieces of one line.
const MAX_PIECES: usize = 64;
/// How long the prefix of a line of NCCL may be, up to its name.
const NCCL_PREFIX: usize = 120;
/// What a piece may begin with, and what stands at the end of NCCL's prefix.
const RANK: &[u8] = b"[rank";
const LOCAL_RANK: &[u8] = b"[default";
const NCCL: &[u8] = b" NCCL ";
static RANKS: LazyLock<[Finder<'_>; 2]> = LazyLock::new(|| [Finder::new(RANK), Finder::new(LOCAL_RANK)]);
static NAMED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(NCCL));

/// The pieces of a line, each with the prefix of its writer. Nearly always there is one.
#[must_use]
pub fn pieces(line: &[u8]) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut begin = 0;
    while out.len() + 1 < MAX_PIECES
        && let Some(at) = next(line, begin)
    {
        out.push(begin..at);
        begin = at;
    }
    out.push(begin..line.len());
    out
}

/// Where the next prefix begins that nobody writes into the middle of a line.
fn next(line: &[u8], begin: usize) -> Option<usize> {
    let rest = line.get(begin..)?;
    let mut found = RANKS
        .iter()
        .flat_map(|word| word.find_iter(rest))
        .map(|at| begin + at)
        .filter(|at| *at > begin)
        .peekable();
    let mut named = NAMED.find_iter(rest).map(|at| begin + at).peekable();
    if found.peek().is_none() && named.peek().is_none() {
        return None;
    }
    // What stands before the message is one writer's, however much of it there is.
    let from = begin + prefix::peel(rest).rest;
    let rank = found.filter(|at| *at > from && begins_rank(line, *at)).min();
    let nccl = named.find_map(|at| begins_nccl(line, from, at));
    rank.into_iter().chain(nccl).min()
}

/// `...ms before timing out.[rank3]:[E914 ...`. Behind a blank or a quotation mark it may be quoted, unless a logger's prefix follows.
fn begins_rank(line: &[u8], at: usize) -> bool {
    let text = line.get(at..).unwrap_or(b"");
    let Some(rest) = text.strip_prefix(RANK).or_else(|| text.strip_prefix(LOCAL_RANK)) else { return false };
    let digits = rest.iter().take(7).take_while(|b| b.is_ascii_digit()).count();
    let Some(behind) = rest.get(digits..).and_then(|rest| rest.strip_prefix(b"]:")) else { return false };
    let quoted = line.get(at.saturating_sub(1)).is_some_and(|b| matches!(b, b' ' | b'"' | b'\'' | b'('));
    let logged =
        matches!(behind, [b'[', b'E' | b'W' | b'F' | b'I', ..]) || behind.starts_with(b" Traceback (");
    digits > 0 && (!quoted || logged)
}

/// `100%|####| 5/5 [00:01<00:00]lyra-041:77:88 [3] NCCL INFO ...`
fn begins_nccl(line: &[u8], from: usize, name: usize) -> Option<usize> {
    let begin = name.saturating_sub(NCCL_PREFIX).max(from + 1);
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b':');
    (begin..name)
        .filter(|at| line.get(at - 1).is_some_and(|b| !inside(*b)))
        .find(|at| line.get(*at..=name).is_some_and(prefix::begins_nccl))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn glued_lines_are_parted() {
        for wanted in [
            &["[rank0]:[E914 04:37:21.1 P.cpp:1] x", "[rank1]:[E914 04:37:21.2 P.cpp:1] y"][..],
            &["[rank0]: Runti", "[rank1]: Runtime", "[rank2]: KeyError: 'x'"],
            &["11: [default0]:[rank11]:[E914 04:37:21.1 P.cpp:1] x"],
            &["[rank0]: it was said: \"[rank1]: x\" and [rank2]: y"],
            &["[rank0]: it was said ", "[rank1]:[E914 04:37:21.2 P.cpp:1] y"],
            &["100%|##| 5/5 [00:01]", "lyra-041:77:88 [3] NCCL INFO x"],
            &["lyra-041:77:88 [3] NCCL INFO x"],
            &["[2026-09-14 04:37:21] lyra-041:77:88 [3] misc/socket.cc:57 NCCL WARN x"],
            &["[rank]: [rankings] [default]: NCCL [rank5 NCCL x"],
            &[""],
        ] {
            let line = wanted.concat();
            let got: Vec<&str> = pieces(line.as_bytes()).into_iter().map(|range| &line[range]).collect();
            assert_eq!(got, wanted);
        }
        assert_eq!(pieces("x[rank1]:".repeat(1000).as_bytes()).len(), MAX_PIECES);
    }
}
