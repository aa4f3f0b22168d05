//! Prefixes in brackets.

use firstfault_model::time::SECOND;

use super::{Peeled, is_level, is_name, number, owned, set_stamp, spaces, stamped, whole_number};
use crate::stamp;

/// Longest content of brackets that is looked at.
const LONGEST: usize = 96;

/// A bracketed text at the start of another.
struct Bracket<'a> {
    text: &'a [u8],
    /// What is in it.
    body: &'a [u8],
    /// Where what follows begins.
    after: usize,
}

impl Bracket<'_> {
    fn next(&self) -> Option<u8> {
        self.text.get(self.after).copied()
    }

    /// The length of the bracket, `extra` bytes and the blanks behind them.
    fn with_blanks(&self, extra: usize) -> usize {
        self.after + extra + spaces(self.text, self.after + extra)
    }

    /// The length with one blank: what follows may be the indentation of a traceback.
    fn with_one_blank(&self, extra: usize) -> usize {
        let end = self.after + extra;
        end + usize::from(self.text.get(end) == Some(&b' '))
    }
}

pub(super) fn peel(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let color = bare_color(text);
    if color > 0 {
        return Some(color);
    }
    let inside = text.get(1..)?;
    let close = memchr::memchr(b']', inside.get(..inside.len().min(LONGEST)).unwrap_or(inside))?;
    let bracket = Bracket { text, body: inside.get(..close)?, after: close + 2 };
    rank(&bracket, out)
        .or_else(|| mpi(&bracket, out))
        .or_else(|| c10d(&bracket, out))
        .or_else(|| wall_clock(&bracket, out))
        .or_else(|| kernel_clock(&bracket, out))
        .or_else(|| collector(&bracket, out))
        .or_else(|| logger(&bracket, out))
}

/// `[36m` whose escape character was lost on the way.
pub(super) fn bare_color(text: &[u8]) -> usize {
    let Some(rest) = text.strip_prefix(b"[") else { return 0 };
    let digits = rest.iter().take(12).take_while(|b| b.is_ascii_digit() || **b == b';').count();
    if digits > 0 && rest.get(digits) == Some(&b'm') { digits + 2 } else { 0 }
}

/// `[rank5]: `, `[default3]:` and Lightning's `[rank: 0] `
fn rank(bracket: &Bracket<'_>, out: &mut Peeled) -> Option<usize> {
    let body = bracket.body;
    if let Some(rank) = body.strip_prefix(b"rank: ").and_then(whole_number) {
        out.identity.rank = Some(rank);
        return Some(bracket.with_blanks(0));
    }
    if bracket.next() != Some(b':') {
        return None;
    }
    let digits = body.iter().rposition(|b| !b.is_ascii_digit())? + 1;
    let value = whole_number(body.get(digits..)?)?;
    let role = body.get(..digits)?;
    if !role.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':')) {
        return None;
    }
    let target = if role == b"rank" { &mut out.identity.rank } else { &mut out.identity.local_rank };
    *target = Some(value);
    Some(bracket.with_one_blank(1))
}

/// `[1,12]<stderr>:`, `[1,mpirank:7,algo-1]<stderr>:`, `[prterun-host-7@1,12]<stderr>:`
fn mpi(bracket: &Bracket<'_>, out: &mut Peeled) -> Option<usize> {
    if bracket.next() != Some(b'<') {
        return None;
    }
    let mut parts = bracket.body.split(|b| *b == b',');
    let (job, rank, host) = (parts.next()?, parts.next()?, parts.next());
    let known = whole_number(job).is_some() || memchr::memchr(b'@', job).is_some();
    let rank = whole_number(rank.strip_prefix(b"mpirank:").unwrap_or(rank)).filter(|_| known)?;
    let tail = bracket.text.get(bracket.after..)?;
    let end = bracket.after + memchr::memchr(b'>', tail.get(..16.min(tail.len()))?)?;
    out.identity.mpi_rank = Some(rank);
    out.identity.host = host.filter(|host| is_name(host)).and_then(owned).or(out.identity.host.take());
    Some(end + 1 + usize::from(bracket.text.get(end + 1) == Some(&b':')))
}

/// `[E1102 12:34:56.789012345 ProcessGroupNCCL.cpp:629] ` and, older, `[E ProcessGroupNCCL.cpp:475] `
fn c10d(bracket: &Bracket<'_>, out: &mut Peeled) -> Option<usize> {
    if !matches!(bracket.body.first()?, b'F' | b'E' | b'W' | b'I' | b'V') {
        return None;
    }
    let rest = bracket.body.get(1..)?;
    let end = bracket.with_blanks(0);
    if let Some((mut stamp, _)) = stamp::month_day(rest) {
        // Seconds are of the wall clock, the fraction is of another: the time is known to a second.
        stamp.of_day -= stamp.of_day % SECOND;
        stamp.uncertainty = SECOND;
        out.mixed_clock = true;
        set_stamp(out, stamp);
    } else if rest.first() != Some(&b' ') || !rest.windows(2).any(|w| w == b".c" || w == b".h") {
        return None;
    }
    // `[Rank 5] ` behind it.
    if let Some((rank, length)) = bracket.text.get(end..)?.strip_prefix(b"[Rank ").and_then(number)
        && bracket.text.get(end + 6 + length) == Some(&b']')
    {
        out.group_rank = Some(rank);
    }
    Some(end)
}

/// `[2026-11-02 20:25:33] `, `[2025-01-30 18:11:27 TP1] `, `[Wed Jan 27 23:04:35 2021] `, `[NeMo I 2024-05-01 12:34:56 rank:3 file:7] `
fn wall_clock(bracket: &Bracket<'_>, out: &mut Peeled) -> Option<usize> {
    let body = bracket.body;
    if let Some((stamp, length)) = stamp::iso(body)
        && body.get(length..).is_some_and(is_behind_stamp)
    {
        set_stamp(out, stamp);
        let colon = usize::from(bracket.next() == Some(b':'));
        return Some(stamped::after(bracket.text, bracket.with_blanks(colon), false, out));
    }
    let dated = body.strip_suffix(b">").and_then(|b| b.split(|b| *b == b'<').next()).unwrap_or(body);
    if let Some((stamp, length)) = stamp::ctime(dated)
        && dated.get(length..).is_some_and(|rest| rest.trim_ascii().is_empty())
    {
        set_stamp(out, stamp);
        // With a day of the week it is `dmesg -T`; the fabric manager writes none.
        out.kernel |= length == 24;
        return Some(stamped::after_kernel_clock(bracket.text, bracket.with_blanks(0), out));
    }
    if let Some(rest) = body.strip_prefix(b"NeMo ").and_then(|rest| rest.get(2..))
        && let Some((stamp, length)) = stamp::iso(rest)
    {
        set_stamp(out, stamp);
        let words = rest.get(length..)?.split(|b| *b == b' ');
        let rank = words.filter_map(|word| whole_number(word.strip_prefix(b"rank:")?)).next();
        out.identity.rank = rank.or(out.identity.rank);
        return Some(bracket.with_blanks(0));
    }
    // `[15:58:29] WARNING  `, which is no time without its day.
    let (_, _, length) = stamp::time_of_day(body)?;
    let level = bracket.text.get(bracket.with_blanks(0)..)?;
    let word = level.iter().take_while(|b| b.is_ascii_uppercase()).count();
    (length == body.len() && is_level(level.get(..word)?))
        .then(|| bracket.with_blanks(0) + word + spaces(level, word))
}

/// What may stand behind a stamp within its brackets: nothing, or `TP1`, `DP0 TP1`.
fn is_behind_stamp(rest: &[u8]) -> bool {
    rest.split(|b| *b == b' ').all(|word| {
        let letters = word.iter().take_while(|b| b.is_ascii_uppercase()).count();
        word.is_empty()
            || ((2..=3).contains(&letters) && whole_number(word.get(letters..).unwrap_or(b"")).is_some())
    })
}

/// `[  966.503025] `, `[   T1946] `, `[  +0.000844] `, `[  966.503025 <    0.000844>] `, `[Nov18 17:26] `: the kernel's own clock is order
/// here, and not time.
fn kernel_clock(bracket: &Bracket<'_>, out: &mut Peeled) -> Option<usize> {
    let body = bracket.body;
    let clock = body.trim_ascii_start();
    let clock = clock.strip_prefix(b"+").unwrap_or(clock);
    let seconds = clock.iter().take_while(|b| b.is_ascii_digit()).count();
    if seconds > 0 && clock.get(seconds) == Some(&b'.') {
        let fraction = clock.get(seconds + 1..)?.iter().take_while(|b| b.is_ascii_digit()).count();
        let rest = clock.get(seconds + 1 + fraction..)?.trim_ascii();
        let delta = rest.starts_with(b"<") && rest.ends_with(b">");
        if !(3..=9).contains(&fraction) || !(rest.is_empty() || delta) {
            return None;
        }
        out.kernel = true;
        return Some(stamped::after_kernel_clock(bracket.text, bracket.with_blanks(0), out));
    }
    if let Some(stamp) = stamp::minute(body) {
        out.kernel = true;
        set_stamp(out, stamp);
        return Some(bracket.with_blanks(0));
    }
    let thread = matches!(clock.first(), Some(b'T' | b'C')) && whole_number(clock.get(1..)?).is_some();
    (out.kernel && thread).then(|| bracket.with_blanks(0))
}

/// What collects the output of others: `[pod/trainer-0/main] `, `[task 2026-...] [vcs] `, `[80746] [`
fn collector(bracket: &Bracket<'_>, out: &mut Peeled) -> Option<usize> {
    let body = bracket.body;
    let end = bracket.with_one_blank(0);
    if body.starts_with(b"pod/") && is_name(body) {
        out.identity.label = owned(body);
        return Some(end);
    }
    if let Some(task) = body.strip_prefix(b"task ") {
        let (stamp, length) = stamp::iso(task)?;
        (length == task.len()).then_some(())?;
        set_stamp(out, stamp);
        let behind = bracket.text.get(end..)?;
        let program = behind.strip_prefix(b"[").and_then(|rest| {
            let close = memchr::memchr(b']', rest.get(..rest.len().min(32))?)?;
            is_name(rest.get(..close)?).then_some(close + 2)
        });
        let program = program.unwrap_or(0);
        return Some(end + program + usize::from(program > 0 && behind.get(program) == Some(&b' ')));
    }
    // A launcher that tags lines with process ids, before another bracket.
    (bracket.next() == Some(b' ')
        && bracket.text.get(bracket.after + 1) == Some(&b'[')
        && body.iter().all(u8::is_ascii_digit))
    .then(|| bracket.with_blanks(0))
}

/// What loggers write behind a stamp: `[WARNING] `, `[engine.py:123:step] `, `[olmo.train:67, rank=6] `
fn logger(bracket: &Bracket<'_>, out: &mut Peeled) -> Option<usize> {
    if is_level(bracket.body) {
        return Some(bracket.with_one_blank(0));
    }
    let (place, rank) = match memchr::memmem::find(bracket.body, b", rank=") {
        Some(at) => (bracket.body.get(..at)?, Some(whole_number(bracket.body.get(at + 7..)?)?)),
        None => (bracket.body, None),
    };
    let colon = memchr::memchr(b':', place)?;
    let file = place.get(..colon)?;
    let (_, digits) = number(place.get(colon + 1..)?)?;
    let whole = matches!(place.get(colon + 1 + digits), None | Some(b':'));
    if !is_name(file) || !whole || !(rank.is_some() || file.ends_with(b".py")) {
        return None;
    }
    out.identity.rank = rank.or(out.identity.rank);
    Some(bracket.with_one_blank(0))
}
