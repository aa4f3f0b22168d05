//! Prefixes that begin with a letter.

use super::{Peeled, is_level, is_name, number, owned, set_stamp, spaces, stamped, task, whole_number};
use crate::stamp;

pub(super) fn peel(text: &[u8], out: &mut Peeled) -> Option<usize> {
    if let Some((stamp, length)) = stamp::syslog(text) {
        set_stamp(out, stamp);
        return Some(stamped::after(text, length, true, out));
    }
    weekday(text, out)
        .or_else(|| kernel(text, out))
        .or_else(|| glog(text, out))
        .or_else(|| level(text, out))
        .or_else(|| task(text, out))
        .or_else(|| stepd(text, out))
        .or_else(|| submitit(text, out))
        .or_else(|| nccl(text, out))
        .or_else(|| piped(text, out))
        .or_else(|| container(text))
        .or_else(|| host_colon(text, out))
}

/// `Mon 2026-11-02 20:41:54 UTC host program[12]: ` of journald's full form.
fn weekday(text: &[u8], out: &mut Peeled) -> Option<usize> {
    (text.get(3) == Some(&b' ') && text.get(..3)?.iter().all(u8::is_ascii_alphabetic)).then_some(())?;
    let (stamp, length) = stamp::iso(text.get(4..)?)?;
    set_stamp(out, stamp);
    Some(stamped::after(text, 4 + length, true, out))
}

/// `kernel: `, `kern  :warn  : 2025-01-21T04:41:44,283302+00:00 ` and `kern: warning: [2026-...]: `
fn kernel(text: &[u8], out: &mut Peeled) -> Option<usize> {
    if text.starts_with(b"kernel: ") {
        out.kernel = true;
        return Some(8);
    }
    let rest = text.strip_prefix(b"kern")?;
    let mut colons = memchr::memchr_iter(b':', rest.get(..rest.len().min(24))?);
    let (_, second) = (colons.next()?, colons.next()?);
    out.kernel = true;
    Some(4 + second + 1 + spaces(rest, second + 1))
}

/// `E1102 20:52:02.500000 3900 torch/distributed/elastic/multiprocessing/api.py:874] `
fn glog(text: &[u8], out: &mut Peeled) -> Option<usize> {
    if !matches!(text.first(), Some(b'E' | b'W' | b'I' | b'C' | b'F')) {
        return None;
    }
    let (stamp, length) = stamp::month_day(text.get(1..)?)?;
    let close = memchr::memchr(b']', text.get(..text.len().min(256))?)?;
    (close > length).then_some(())?;
    set_stamp(out, stamp);
    Some(close + 1 + spaces(text, close + 1))
}

/// `INFO 12-24 21:49:17 file.py:12] `, `WARNING:some.logger:`, `CRITICAL [` before a place.
fn level(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let length = text.iter().take(10).take_while(|b| b.is_ascii_uppercase()).count();
    if !is_level(text.get(..length)?) {
        return None;
    }
    let rest = text.get(length..)?;
    if let Some(named) = rest.strip_prefix(b":") {
        let colon = memchr::memchr(b':', named.get(..named.len().min(96))?)?;
        return is_name(named.get(..colon)?).then_some(length + 1 + colon + 1);
    }
    let at = length + spaces(text, length);
    if let Some((stamp, stamp_length)) = stamp::month_dash_day(text.get(at..)?) {
        set_stamp(out, stamp);
        let end = at + stamp_length + spaces(text, at + stamp_length);
        return Some(end + place(text.get(end..)?).unwrap_or(0));
    }
    (out.stamp.is_some() && text.get(at) == Some(&b'[')).then_some(at)
}

/// `file.py:12] ` or `[file.py:12] `
fn place(text: &[u8]) -> Option<usize> {
    let close = memchr::memchr(b']', text.get(..text.len().min(96))?)?;
    let body = text.get(..close)?;
    let body = body.strip_prefix(b"[").unwrap_or(body);
    let colon = memchr::memrchr(b':', body)?;
    whole_number(body.get(colon + 1..)?)?;
    is_name(body.get(..colon)?).then(|| close + 1 + spaces(text, close + 1))
}

/// `submitit WARNING (2026-11-02 20:30:00,453) - `
fn submitit(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let rest = text.strip_prefix(b"submitit ")?;
    let level = rest.iter().take(10).take_while(|b| b.is_ascii_uppercase()).count();
    is_level(rest.get(..level)?).then_some(())?;
    let (stamp, length) = stamp::iso(rest.get(level..)?.strip_prefix(b" (")?)?;
    let end = level + 2 + length;
    rest.get(end..)?.strip_prefix(b") - ")?;
    set_stamp(out, stamp);
    Some(9 + end + 4)
}

/// `slurmstepd-lyra-041: `
fn stepd(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let host = text.strip_prefix(b"slurmstepd-")?;
    let colon = memchr::memchr(b':', host.get(..host.len().min(72))?)?;
    (is_name(host.get(..colon)?) && host.get(colon + 1) == Some(&b' ')).then_some(())?;
    out.identity.host = owned(host.get(..colon)?);
    Some(11 + colon + 2)
}

/// `host:pid:tid [dev] `, of which the device is the calling thread's and says nothing about the fault.
pub(super) fn nccl(text: &[u8], out: &mut Peeled) -> Option<usize> {
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
    out.identity.host = owned(host);
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

/// `trainer-1  | ` of docker compose.
fn piped(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let name = text.iter().take(64).take_while(|b| is_name(std::slice::from_ref(b))).count();
    let at = name + spaces(text, name);
    if at == name || text.get(at) != Some(&b'|') || !matches!(text.get(at + 1), None | Some(b' ')) {
        return None;
    }
    out.identity.label = owned(text.get(..name)?);
    Some((at + 2).min(text.len()))
}

/// `0a1b2c3d || ` and `0a1b2c3d [rank=3] || `: a container before the line.
pub(super) fn container(text: &[u8]) -> Option<usize> {
    let hex = text.iter().take(9).take_while(|b| b.is_ascii_hexdigit()).count();
    let end = memchr::memmem::find(text.get(..text.len().min(48))?, b" || ")?;
    (hex == 8 && (end == 8 || text.get(8..10) == Some(b" ["))).then_some(end + 4)
}

/// `10.0.0.41: `; `node-7: ` too, which is a host where the context has one of that name, or another prefix follows.
pub(super) fn host_colon(text: &[u8], out: &mut Peeled) -> Option<usize> {
    let colon = memchr::memchr(b':', text.get(..text.len().min(72))?)?;
    let host = text.get(..colon)?;
    let address = host.iter().filter(|b| **b == b'.').count() == 3
        && host.iter().all(|b| b.is_ascii_digit() || *b == b'.');
    let named = host.iter().any(u8::is_ascii_digit)
        && host.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_'));
    if text.get(colon + 1) != Some(&b' ') || !(address || named) {
        return None;
    }
    if address || text.get(colon + 2) == Some(&b'[') {
        out.identity.host = owned(host);
        return Some(colon + 2);
    }
    // Names of libraries and devices stand before colons too.
    let like_a_host = host.first().is_some_and(u8::is_ascii_lowercase)
        && !host.iter().any(|b| b.is_ascii_uppercase() || *b == b'_')
        && memchr::memmem::find(host, b".so").is_none();
    like_a_host.then(|| {
        out.identity.label = owned(host);
        colon + 2
    })
}
