//! Prefixes of lines, peeled from the outermost to the innermost. Real lines stack two to four of them.
//!
//! Each form is tried by its first byte, so that a line without prefixes costs almost nothing. `docs/architecture.md` tells when
//! lines are peeled: only where some rule may want them, and around such lines.

mod bracket;
mod json;
mod stamped;
mod word;

use crate::segment;
use crate::stamp::{self, RawStamp};

/// Most prefixes on one line.
const MAX_DEPTH: usize = 12;

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
    /// What a collector wrote before the line: a container, a pod, or a host that nothing but its place makes one.
    pub label: Option<String>,
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
    /// Seconds east of UTC of a stamp without a zone, as another stamp of the line with one tells them.
    pub learned_zone: Option<i32>,
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

/// Whether a text begins with the prefix that NCCL writes before its name: host, process, thread, device and perhaps a file.
#[must_use]
pub fn begins_nccl(text: &[u8]) -> bool {
    word::nccl(text, &mut Peeled::default()).is_some()
}

fn peel_one(text: &[u8], out: &mut Peeled) -> Option<usize> {
    match text.first()? {
        b'[' => bracket::peel(text, out),
        b'(' => ray(text, out),
        b'<' => angle(text, out),
        b' ' => padded(text, out),
        b'0'..=b'9' => leading_digit(text, out),
        b'A'..=b'Z' | b'a'..=b'z' => word::peel(text, out),
        b'{' => {
            json::peel(text, out);
            None
        }
        0x1b => Some(segment::escape_length(text)),
        // What a file that was cut while it was written to begins with.
        0 => Some(text.iter().take_while(|b| **b == 0).count()),
        _ => None,
    }
}

/// Number at the start: value and length.
fn number(text: &[u8]) -> Option<(u32, usize)> {
    let count = text.iter().take(10).take_while(|b| b.is_ascii_digit()).count();
    let digits = std::str::from_utf8(text.get(..count)?).ok()?;
    digits.parse().ok().map(|n| (n, count))
}

/// A number and nothing else.
fn whole_number(text: &[u8]) -> Option<u32> {
    number(text).filter(|(_, length)| *length == text.len()).map(|(value, _)| value)
}

fn spaces(text: &[u8], at: usize) -> usize {
    text.get(at..).unwrap_or(b"").iter().take_while(|b| **b == b' ').count()
}

/// Letters, digits and what else names of hosts, pods and programs are made of.
fn is_name(text: &[u8]) -> bool {
    !text.is_empty()
        && text.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/'))
}

/// A level as loggers write it in full.
fn is_level(text: &[u8]) -> bool {
    const LEVELS: [&[u8]; 12] = [
        b"TRACE",
        b"DEBUG",
        b"INFO",
        b"SUCCESS",
        b"NOTICE",
        b"WARN",
        b"WARNING",
        b"ERROR",
        b"CRITICAL",
        b"FATAL",
        b"EXCEPTION",
        b"SEVERE",
    ];
    LEVELS.contains(&text)
}

fn owned(text: &[u8]) -> Option<String> {
    std::str::from_utf8(text).ok().map(str::to_owned)
}

fn set_stamp(out: &mut Peeled, stamp: RawStamp) {
    if let Some(old) = out.stamp {
        out.learned_zone = out.learned_zone.or_else(|| stamp::zone_between(&old, &stamp));
    }
    // The innermost dated stamp is the writer's own; one with a zone is not given up for one without.
    if out.stamp.is_none_or(|old| stamp.offset.is_some() || old.offset.is_none()) {
        out.stamp = Some(stamp);
    }
}

/// `(Actor pid=1, ip=10.0.0.1) `, `(raylet, ip=10.0.0.1) `, `(VllmWorker rank=3 pid=1) `
fn ray(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let close = memchr::memchr(b')', text.get(..text.len().min(128))?)?;
    let body = std::str::from_utf8(text.get(1..close)?).ok()?;
    let (who, ip) = body.split_once(", ip=").map_or((body, None), |(who, ip)| (who, Some(ip)));
    match who.split_once(" pid=") {
        Some((name, pid)) => {
            out.identity.pid = Some(pid.parse().ok()?);
            let rank = name.split_once(" rank=").and_then(|(_, rank)| rank.parse().ok());
            out.identity.rank = rank.or(out.identity.rank);
        }
        None if who == "raylet" || ip.is_some() => out.identity.label = Some(who.to_owned()),
        None => return None,
    }
    out.identity.host = ip.map(str::to_owned).or(out.identity.host.take());
    let mut end = close + 1;
    // The colour of the name ends here.
    loop {
        let rest = text.get(end..).unwrap_or(b"");
        let skip = if rest.first() == Some(&0x1b) {
            segment::escape_length(rest)
        } else {
            bracket::bare_color(rest)
        };
        if skip == 0 {
            break;
        }
        end += skip;
    }
    Some(end + usize::from(text.get(end) == Some(&b' ')))
}

/// `<0>[2315424.098863] `, `<info> [2024-...`, `<4>Nov 18 ...` and `<34>1 2026-...Z host app 12 - - ` (RFC 5424).
fn angle(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let close = memchr::memchr(b'>', text.get(..text.len().min(12))?)?;
    let mut skip = close + 1 + spaces(text, close + 1);
    let priority = whole_number(text.get(1..close)?).is_some();
    if priority && text.get(skip..)?.starts_with(b"1 ") && stamp::iso(text.get(skip + 2..)?).is_some() {
        skip += 2;
        let (stamp, length) = stamp::iso(text.get(skip..)?)?;
        set_stamp(out, stamp);
        let mut words = text.get(skip + length..)?.strip_prefix(b" ")?.splitn(5, |b| *b == b' ');
        let (host, app, pid) = (words.next()?, words.next()?, words.next()?);
        let (_, rest) = (words.next()?, words.next()?);
        out.identity.host = owned(host).filter(|host| host != "-");
        out.identity.pid = whole_number(pid);
        out.kernel |= app == b"kernel";
        let rest = rest.strip_prefix(b"- ").unwrap_or(rest);
        return Some(text.len() - rest.len());
    }
    (text.get(skip) == Some(&b'[') || (priority && stamp::syslog(text.get(skip..)?).is_some()))
        .then_some(skip)
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
    if let Some(length) = task(rest, out) {
        return Some(pad + length);
    }
    // One space before a stamp or a bracketed prefix.
    if pad == 1 && (stamp::iso(rest).is_some() || rest.first() == Some(&b'[')) {
        return Some(1);
    }
    None
}

/// `12: `, and `P0 12: ` of a job of several parts.
fn task(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let mut at = 0;
    if let Some((_, length)) = text.strip_prefix(b"P").and_then(number) {
        at = 1 + length + spaces(text, 1 + length);
        (at > 1 + length).then_some(())?;
    }
    let (task, length) = number(text.get(at..)?)?;
    let end = at + length;
    let ends = text.get(end) == Some(&b':') && text.get(end + 1) == Some(&b' ') && length <= 6;
    ends.then(|| {
        out.identity.task = Some(task);
        end + 2
    })
}

fn leading_digit(text: &[u8], out: &mut Peeled) -> Option<usize> {
    if let Some((stamp, length)) = stamp::iso(text).or_else(|| stamp::epoch(text)) {
        set_stamp(out, stamp);
        return Some(stamped::after(text, length, false, out));
    }
    if let Some((stamp, length)) = stamp::month_dash_day(text) {
        set_stamp(out, stamp);
        return Some(stamped::after(text, length, false, out));
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
    task(text, out).or_else(|| word::container(text)).or_else(|| word::host_colon(text, out))
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
            ("submitit WARNING (2026-11-02 20:30:00,453) - Caught signal", "Caught signal"),
            ("submitit version 1.5", "submitit version 1.5"),
            ("", ""),
        ] {
            assert_eq!(of(line).1, wants, "{line}");
        }
    }

    #[test]
    fn two_stamps_of_a_line_tell_the_zone() {
        let zone = |line: &str| of(line).0.learned_zone;
        assert_eq!(zone("2026-11-02T20:00:01.5Z stderr F 2026-11-03 04:00:01,100 INFO x"), Some(8 * 3600));
        assert_eq!(
            zone("2026-11-02T20:00:01.5+00:00 [rank3]:[E1102 12:59:58.000000000 P.cpp:1] x"),
            Some(-7 * 3600)
        );
        assert_eq!(zone("2026-11-02T20:00:01Z stdout F 2026-11-03 01:44:40 x"), Some(5 * 3600 + 45 * 60));
        // No zone is that far, or in between.
        assert_eq!(zone("2026-11-02T20:00:01Z stdout F 2026-11-04 20:00:00 x"), None);
        assert_eq!(zone("2026-11-02T20:00:01Z stdout F 2026-11-02 20:07:30 x"), None);
        assert_eq!(zone("2026-11-02T20:00:01Z stdout F x"), None);
    }

    #[test]
    fn two_writers_are_told_apart() {
        assert_eq!(of("[rank3]: Traceback").0.identity, of("[rank3]:   File").0.identity);
        assert_ne!(of("[rank3]: Traceback").0.identity, of("[rank4]: Traceback").0.identity);
    }
}
