//! Prefixes of lines, peeled from the outermost to the innermost. Real lines stack two to four of them.
//!
//! Each form is tried by its first byte, so that a line without prefixes costs almost nothing.

use firstfault_model::time::SECOND;

use crate::stamp::{self, RawStamp};

/// Most prefixes on one line.
const MAX_DEPTH: usize = 8;

/// Who wrote a line, as its prefixes say. Two lines of one writer have equal identities.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// Global rank (`[rank5]:`).
    pub rank: Option<u32>,
    /// Local rank (`[default3]:`).
    pub local_rank: Option<u32>,
    /// Slurm task (`12: `).
    pub task: Option<u32>,
    /// MPI rank (`[1,12]<stderr>:`).
    pub mpi_rank: Option<u32>,
    /// Host name or address.
    pub host: Option<String>,
    /// Process id as the line gives it.
    pub pid: Option<u32>,
}

/// A line's prefixes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peeled {
    /// Who wrote it.
    pub identity: Identity,
    /// Rank within some group (`[Rank 5]` behind a c10d stamp); the global one where nothing else is said.
    pub group_rank: Option<u32>,
    /// The stamp nearest to the message that has a date.
    pub stamp: Option<RawStamp>,
    /// Whether the stamp comes from PyTorch's C++ logger, whose fraction is not that of its second.
    pub mixed_clock: bool,
    /// Whether the line is the kernel's by its prefix.
    pub kernel: bool,
    /// Where the message begins.
    pub rest: usize,
}

/// Peels the prefixes of a line.
#[must_use]
pub fn peel(line: &[u8]) -> Peeled {
    let mut peeled = Peeled::default();
    for _ in 0..MAX_DEPTH {
        let rest = line.get(peeled.rest..).unwrap_or(b"");
        let Some(length) = peel_one(rest, &mut peeled) else { break };
        if length == 0 {
            break;
        }
        peeled.rest += length;
    }
    peeled
}

fn peel_one(text: &[u8], out: &mut Peeled) -> Option<usize> {
    match text.first()? {
        b'[' => bracket(text, out),
        b'(' => ray(text, out),
        b'<' => angle(text),
        b' ' => padded(text, out),
        b'0'..=b'9' => leading_digit(text, out),
        b'A'..=b'Z' | b'a'..=b'z' => leading_letter(text, out),
        _ => None,
    }
}

/// Number at the start: value and length.
fn number(text: &[u8]) -> Option<(u32, usize)> {
    let count = text.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
    let digits = std::str::from_utf8(text.get(..count)?).ok()?;
    digits.parse().ok().map(|n| (n, count))
}

fn spaces(text: &[u8], at: usize) -> usize {
    text.get(at..).unwrap_or(b"").iter().take_while(|b| **b == b' ').count()
}

fn set_stamp(out: &mut Peeled, stamp: RawStamp) {
    // The innermost dated stamp is the writer's own; one with a zone is not given up for one without.
    if out.stamp.is_none_or(|old| stamp.offset.is_some() || old.offset.is_none()) {
        out.stamp = Some(stamp);
    }
}

fn bracket(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let inside = text.get(1..)?;
    let close = memchr::memchr(b']', inside.get(..inside.len().min(96)).unwrap_or(inside))?;
    let body = inside.get(..close)?;
    let after = close + 2;
    let next = text.get(after).copied();
    // [rank5]: and [default3]:
    if next == Some(b':') {
        let name = body.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |i| i + 1);
        if let Some((value, _)) = number(body.get(name..)?) {
            let role = body.get(..name)?;
            let target = if role == b"rank" { &mut out.identity.rank } else { &mut out.identity.local_rank };
            if role.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
                && name > 0
            {
                *target = Some(value);
                // One space is the prefix's; what follows it may be the indentation of a traceback.
                return Some(after + 1 + usize::from(text.get(after + 1) == Some(&b' ')));
            }
        }
    }
    // [rank: 0] of Lightning.
    if let Some((rank, length)) = body.strip_prefix(b"rank: ").and_then(number)
        && length + 6 == body.len()
    {
        out.identity.rank = Some(rank);
        return Some(after + spaces(text, after));
    }
    // [1,12]<stderr>:
    if next == Some(b'<')
        && let Some((_, comma)) = number(body)
        && body.get(comma) == Some(&b',')
        && let Some((rank, _)) =
            number(body.get(comma + 1..)?.strip_prefix(b"mpirank:").unwrap_or(body.get(comma + 1..)?))
    {
        let end = memchr::memchr(b'>', text.get(after..)?.get(..16.min(text.len() - after))?)?;
        out.identity.mpi_rank = Some(rank);
        return Some(after + end + 1 + usize::from(text.get(after + end + 1) == Some(&b':')));
    }
    let trailing = |extra: usize| after + extra + spaces(text, after + extra);
    let first = *body.first()?;
    // [E1102 12:34:56.789012345 ProcessGroupNCCL.cpp:629] and, older, [E ProcessGroupNCCL.cpp:475]
    if matches!(first, b'F' | b'E' | b'W' | b'I' | b'V') {
        let rest = body.get(1..)?;
        if let Some((mut stamp, _)) = stamp::month_day(rest) {
            // Seconds are of the wall clock, the fraction is of another: the time is known to a second.
            stamp.of_day -= stamp.of_day % SECOND;
            stamp.uncertainty = SECOND;
            out.mixed_clock = true;
            set_stamp(out, stamp);
            group_rank(text.get(trailing(0)..)?, out);
            return Some(trailing(0));
        }
        if rest.first() == Some(&b' ') && body.windows(2).any(|w| w == b".c" || w == b".h") {
            group_rank(text.get(trailing(0)..)?, out);
            return Some(trailing(0));
        }
    }
    // [2026-11-02 20:25:33] [2026-11-02T21:34:49.000] [2024-05-07 15:51:09,140]
    if let Some((stamp, length)) = stamp::iso(body)
        && body.get(length..).is_some_and(|r| r.iter().all(|b| matches!(b, b' ')) || r.starts_with(b" TP"))
    {
        set_stamp(out, stamp);
        return Some(trailing(usize::from(next == Some(b':'))));
    }
    // [Wed Jan 27 23:04:35 2021] [Jan 27 2021 23:04:35]
    if let Some((stamp, length)) = stamp::ctime(body)
        && length == body.len()
    {
        set_stamp(out, stamp);
        out.kernel |= first.is_ascii_uppercase() && body.len() == 24;
        return Some(trailing(0));
    }
    // [  966.503025] [   T1946] [  +0.000844]: the kernel's own clock, which is order and not time here.
    let clock = body.get(spaces(body, 0)..)?;
    let clock = clock.strip_prefix(b"+").unwrap_or(clock);
    let dot = memchr::memchr(b'.', clock);
    if dot.is_some_and(|d| d > 0 && clock.len() == d + 7)
        && clock.iter().all(|b| b.is_ascii_digit() || *b == b'.')
    {
        out.kernel = true;
        return Some(trailing(0));
    }
    if out.kernel
        && matches!(clock.first(), Some(b'T' | b'C'))
        && clock.get(1..)?.iter().all(u8::is_ascii_digit)
    {
        return Some(trailing(0));
    }
    // [80746] of a launcher that tags lines with process ids, before another bracket.
    if next == Some(b' ') && text.get(after + 1) == Some(&b'[') && body.iter().all(u8::is_ascii_digit) {
        return Some(trailing(0));
    }
    None
}

/// `[Rank 5] ` behind a c10d prefix.
fn group_rank(text: &[u8], out: &mut Peeled) {
    if let Some((rank, length)) = text.strip_prefix(b"[Rank ").and_then(number)
        && text.get(6 + length) == Some(&b']')
    {
        out.group_rank = Some(rank);
    }
}

/// `(Actor pid=1, ip=10.0.0.1) `
fn ray(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let close = memchr::memchr(b')', text.get(..text.len().min(128))?)?;
    let body = std::str::from_utf8(text.get(1..close)?).ok()?;
    let (_, fields) = body.split_once(" pid=")?;
    let (pid, ip) = fields.split_once(", ip=").map_or((fields, None), |(pid, ip)| (pid, Some(ip)));
    out.identity.pid = Some(pid.parse().ok()?);
    out.identity.host = ip.map(str::to_owned).or(out.identity.host.take());
    Some(close + 1 + usize::from(text.get(close + 1) == Some(&b' ')))
}

/// `<0>[2315424.098863] ` and `<info> [2024-...`
fn angle(text: &[u8]) -> Option<usize> {
    let close = memchr::memchr(b'>', text.get(..text.len().min(12))?)?;
    let skip = close + 1 + spaces(text, close + 1);
    (text.get(skip) == Some(&b'[')).then_some(skip)
}

/// `   12: ` of srun and `  | 2026-...Z | ` of a log service.
fn padded(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let pad = spaces(text, 0);
    if pad > 12 {
        return None;
    }
    let rest = text.get(pad..)?;
    if let Some(piped) = rest.strip_prefix(b"| ") {
        let (stamp, length) = stamp::iso(piped)?;
        let end = piped.get(length..)?.strip_prefix(b" | ")?;
        set_stamp(out, stamp);
        return Some(text.len() - end.len());
    }
    if let Some((task, length)) = task(rest) {
        out.identity.task = Some(task);
        return Some(pad + length);
    }
    // One space before a stamp or a bracketed prefix.
    if pad == 1 && (stamp::iso(rest).is_some() || rest.first() == Some(&b'[')) {
        return Some(1);
    }
    None
}

/// `12: `
fn task(text: &[u8]) -> Option<(u32, usize)> {
    let (task, length) = number(text)?;
    (text.get(length) == Some(&b':') && text.get(length + 1) == Some(&b' ') && length <= 6)
        .then_some((task, length + 2))
}

fn leading_digit(text: &[u8], out: &mut Peeled) -> Option<usize> {
    if let Some((stamp, length)) = stamp::iso(text) {
        set_stamp(out, stamp);
        return Some(after_stamp(text, length, out));
    }
    if let Some((stamp, length)) = stamp::month_dash_day(text) {
        set_stamp(out, stamp);
        return Some(after_stamp(text, length, out));
    }
    // /dev/kmsg: 4,1227,437812449932,c;
    let semicolon = memchr::memchr(b';', text.get(..text.len().min(64))?);
    if let Some(at) = semicolon
        && text.get(..at)?.iter().filter(|b| **b == b',').count() >= 3
        && text.get(..at)?.iter().take_while(|b| b.is_ascii_digit() || **b == b',').count() >= 5
    {
        out.kernel = true;
        return Some(at + 1);
    }
    if let Some((task, length)) = task(text) {
        out.identity.task = Some(task);
        return Some(length);
    }
    host_colon(text, out)
}

/// What may follow a stamp: a host and `kernel:`, a stream tag, a level.
fn after_stamp(text: &[u8], length: usize, out: &mut Peeled) -> usize {
    let at = length
        + usize::from(matches!(text.get(length), Some(b':')))
        + spaces(text, length + usize::from(text.get(length) == Some(&b':')));
    let rest = text.get(at..).unwrap_or(b"");
    for tag in [&b"stdout F "[..], b"stderr F ", b"stdout P ", b"stderr P "] {
        if rest.starts_with(tag) {
            return at + tag.len();
        }
    }
    syslog_host(rest, out).map_or(at, |skip| at + skip)
}

/// `host kernel: ` or `host tag[pid]: `.
fn syslog_host(rest: &[u8], out: &mut Peeled) -> Option<usize> {
    let space = memchr::memchr(b' ', rest.get(..rest.len().min(96))?)?;
    let host = rest.get(..space)?;
    let tag = rest.get(space + 1..)?;
    let colon = memchr::memchr(b':', tag.get(..tag.len().min(64))?)?;
    let name = tag.get(..colon)?;
    let base = name.split(|b| *b == b'[').next()?;
    let word = |t: &[u8]| {
        !t.is_empty() && t.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'))
    };
    if !word(host)
        || !word(base)
        || tag.get(colon + 1) != Some(&b' ')
        || host.iter().all(u8::is_ascii_uppercase)
    {
        return None;
    }
    if base == b"kernel" {
        out.kernel = true;
    } else if name.len() == base.len() {
        // `LEVEL module: text` is not `host tag: text`.
        return None;
    }
    out.identity.host = std::str::from_utf8(host).ok().map(str::to_owned);
    Some(space + 1 + colon + 2)
}

fn leading_letter(text: &[u8], out: &mut Peeled) -> Option<usize> {
    if let Some((stamp, length)) = stamp::syslog(text) {
        set_stamp(out, stamp);
        return Some(after_stamp(text, length, out));
    }
    if let Some(rest) = text.strip_prefix(b"kernel: ") {
        out.kernel = true;
        return Some(text.len() - rest.len());
    }
    // kern  :warn  : 2025-01-21T04:41:44,283302+00:00 :
    if let Some(rest) = text.strip_prefix(b"kern") {
        let colons: Vec<usize> = memchr::memchr_iter(b':', rest.get(..rest.len().min(24))?).take(2).collect();
        if let [_, second] = *colons.as_slice() {
            out.kernel = true;
            return Some(4 + second + 1 + spaces(rest, second + 1));
        }
    }
    // E1102 20:52:02.500000 3900 torch/distributed/elastic/multiprocessing/api.py:874] message
    if matches!(text.first(), Some(b'E' | b'W' | b'I' | b'C' | b'F'))
        && let Some((stamp, length)) = stamp::month_day(text.get(1..)?)
    {
        let close = memchr::memchr(b']', text.get(..text.len().min(256))?)?;
        if close > length {
            set_stamp(out, stamp);
            return Some(close + 1 + spaces(text, close + 1));
        }
    }
    // INFO 12-24 21:49:17 file.py:N]
    if let Some(space) = memchr::memchr(b' ', text.get(..text.len().min(10))?)
        && text.get(..space)?.iter().all(u8::is_ascii_uppercase)
        && let Some((stamp, length)) = stamp::month_dash_day(text.get(space + 1..)?)
    {
        set_stamp(out, stamp);
        return Some(space + 1 + length + spaces(text, space + 1 + length));
    }
    nccl(text, out).or_else(|| host_colon(text, out))
}

/// `host:pid:tid [dev] `, of which the device is the calling thread's and says nothing about the fault.
fn nccl(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let head = text.get(..text.len().min(96))?;
    let first = memchr::memchr(b':', head)?;
    let host = text.get(..first)?;
    let (pid, pid_length) = number(text.get(first + 1..)?)?;
    let second = first + 1 + pid_length;
    let (_, tid_length) = number(text.get(second + 1..)?)?;
    let mut end = second + 1 + tid_length;
    if text.get(second) != Some(&b':') || text.get(end) != Some(&b' ') || host.is_empty() {
        return None;
    }
    if !host.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_')) {
        return None;
    }
    out.identity.host = std::str::from_utf8(host).ok().map(str::to_owned);
    out.identity.pid = Some(pid);
    end += spaces(text, end);
    if text.get(end) == Some(&b'[')
        && let Some(close) = memchr::memchr(b']', text.get(end..)?.get(..8.min(text.len() - end))?)
        && text.get(end + 1..end + close)?.iter().all(|b| b.is_ascii_digit() || *b == b'-')
    {
        end += close + 1;
        end += spaces(text, end);
    }
    Some(end)
}

/// `10.0.0.41: ` or `node-7: ` before another prefix or a traceback.
fn host_colon(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let colon = memchr::memchr(b':', text.get(..text.len().min(72))?)?;
    let host = text.get(..colon)?;
    let address = host.iter().filter(|b| **b == b'.').count() == 3
        && host.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let name = host.iter().any(u8::is_ascii_digit)
        && host.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'))
        && matches!(text.get(colon + 2), Some(b'['));
    if text.get(colon + 1) != Some(&b' ') || !(address || name) {
        return None;
    }
    out.identity.host = std::str::from_utf8(host).ok().map(str::to_owned);
    Some(colon + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> (Peeled, &str) {
        let peeled = peel(line.as_bytes());
        let rest = &line[peeled.rest..];
        (peeled, rest)
    }

    #[test]
    fn stacks_of_prefixes() {
        let (p, rest) =
            of("[rank5]:[E1102 22:40:00.100000000 ProcessGroupNCCL.cpp:629] [Rank 5] Watchdog caught");
        assert_eq!((p.identity.rank, p.group_rank, rest), (Some(5), Some(5), "[Rank 5] Watchdog caught"));
        assert!(p.mixed_clock && p.stamp.unwrap().uncertainty == 1_000_000_000);

        let (p, rest) = of("11: [rank11]:[E617 01:02:03.000000000 ProcessGroupNCCL.cpp:1] x");
        assert_eq!((p.identity.task, p.identity.rank, rest), (Some(11), Some(11), "x"));

        let (p, rest) = of("[default0]:[rank12]:[E817 01:02:03.000000000 P.cpp:1] x");
        assert_eq!((p.identity.local_rank, p.identity.rank, rest), (Some(0), Some(12), "x"));

        let (p, rest) = of("10.0.0.41: [rank22]: Traceback (most recent call last):");
        assert_eq!(
            (p.identity.host.as_deref(), p.identity.rank, rest),
            (Some("10.0.0.41"), Some(22), "Traceback (most recent call last):")
        );

        let (p, rest) = of("(Actor pid=12, ip=10.1.1.1) [rank9]:[E416 01:02:03.000000000 P.cpp:1] x");
        assert_eq!((p.identity.pid, p.identity.rank, rest), (Some(12), Some(9), "x"));

        let (p, rest) = of("[1,12]<stdout>:hosta:77:88 [3] misc/socket.cc:57 NCCL WARN x");
        assert_eq!(
            (p.identity.mpi_rank, p.identity.host.as_deref(), rest),
            (Some(12), Some("hosta"), "misc/socket.cc:57 NCCL WARN x")
        );

        let (p, rest) = of("2026-11-02T20:41:54.000000+00:00 gpu-0773 kernel: [1038365.000000] NVRM: Xid");
        assert_eq!((p.identity.host.as_deref(), p.kernel, rest), (Some("gpu-0773"), true, "NVRM: Xid"));

        let (p, rest) = of("Nov 18 17:26:39 node01 kernel: [  966.503025] [   T1946] NVRM: Xid");
        assert_eq!((p.identity.host.as_deref(), p.kernel, rest), (Some("node01"), true, "NVRM: Xid"));
    }

    #[test]
    fn single_prefixes() {
        for (line, wants) in [
            ("[E ProcessGroupNCCL.cpp:475] [Rank 0] Watchdog", "[Rank 0] Watchdog"),
            ("E1102 20:52:02.500000 3900 torch/api.py:874] failed", "failed"),
            ("[2026-11-02 20:25:33]  iteration", "iteration"),
            ("[2026-11-02T21:34:49.000] _job_complete", "_job_complete"),
            ("[Wed Jan 27 23:04:35 2021] NVRM: Xid", "NVRM: Xid"),
            ("[  +0.000844] NVRM: Xid", "NVRM: Xid"),
            ("kern  :warn  : 2025-01-21T04:41:44,283302+00:00 : NVRM: Xid", ": NVRM: Xid"),
            ("<0>[2315424.098863] NVRM: Xid", "NVRM: Xid"),
            ("4,1227,437812449932,c;NVRM: Xid", "NVRM: Xid"),
            ("2026-11-02T20:00:00.1Z stderr F text", "text"),
            ("  | 2026-11-02T20:00:00Z | text", "text"),
            ("RuntimeError: CUDA error", "RuntimeError: CUDA error"),
            ("[rank3]:   File \"x.py\", line 1", "  File \"x.py\", line 1"),
            ("[PG 0 Rank 1] Timeout", "[PG 0 Rank 1] Timeout"),
            ("    indented", "    indented"),
            ("2024-11-02 20:00:00,100 INFO worker: text", "INFO worker: text"),
            ("[rank: 0] Received SIGTERM: 15", "Received SIGTERM: 15"),
            ("", ""),
        ] {
            assert_eq!(of(line).1, wants, "{line}");
        }
    }

    #[test]
    fn two_writers_are_told_apart() {
        assert_eq!(of("[rank3]: Traceback").0.identity, of("[rank3]:   File").0.identity);
        assert_ne!(of("[rank3]: Traceback").0.identity, of("[rank4]: Traceback").0.identity);
    }
}
