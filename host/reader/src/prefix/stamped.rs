//! What may follow a stamp: a host and a program, a stream, a level and a logger.

use super::{Peeled, is_level, is_name, number, owned, spaces, whole_number};

/// Behind a stamp of `length` bytes. `sure` is whether a host must follow, as in a system log.
pub(super) fn after(text: &[u8], length: usize, sure: bool, out: &mut Peeled) -> usize {
    let colon = usize::from(text.get(length) == Some(&b':'));
    let at = length + colon + spaces(text, length + colon);
    let rest = text.get(at..).unwrap_or(b"");
    let skip = stream(rest)
        .or_else(|| piped(rest))
        .or_else(|| dashed(rest))
        .or_else(|| named(rest))
        .or_else(|| glog(rest).filter(|_| colon == 1))
        .or_else(|| syslog_host(rest, sure, out));
    at + skip.unwrap_or(0)
}

/// Behind the kernel's clock: a host only if the kernel follows.
pub(super) fn after_kernel_clock(text: &[u8], at: usize, out: &mut Peeled) -> usize {
    let rest = text.get(at..).unwrap_or(b"");
    let kernel = memchr::memchr(b' ', rest.get(..rest.len().min(64)).unwrap_or(rest))
        .is_some_and(|space| rest.get(space..).is_some_and(|tag| tag.starts_with(b" kernel: ")));
    at + syslog_host(rest, false, out).filter(|_| kernel).unwrap_or(0)
}

/// `stdout F ` of container runtimes.
fn stream(rest: &[u8]) -> Option<usize> {
    let tags = [&b"stdout F "[..], b"stderr F ", b"stdout P ", b"stderr P "];
    tags.into_iter().find(|tag| rest.starts_with(tag)).map(<[u8]>::len)
}

/// `| ERROR    | module:function:12 - ` of loguru.
fn piped(rest: &[u8]) -> Option<usize> {
    let after_level = rest.strip_prefix(b"| ").and_then(|text| {
        let length = text.iter().take_while(|b| b.is_ascii_uppercase()).count();
        is_level(text.get(..length)?).then(|| 2 + length + spaces(text, length))
    })?;
    let place = rest.get(after_level..)?.strip_prefix(b"| ")?;
    let end = memchr::memmem::find(place.get(..place.len().min(128))?, b" - ")?;
    Some(after_level + 2 + end + 3)
}

/// `- mmengine - INFO - ` and `- INFO - `
fn dashed(rest: &[u8]) -> Option<usize> {
    let mut at = 2;
    rest.starts_with(b"- ").then_some(())?;
    for _ in 0..3 {
        let text = rest.get(at..)?;
        let end = memchr::memmem::find(text.get(..text.len().min(72))?, b" - ")?;
        let word = text.get(..end)?.trim_ascii();
        at += end + 3;
        if is_level(word) {
            return Some(at);
        }
        is_name(word).then_some(())?;
    }
    None
}

/// `torch.distributed.elastic.agent: [WARNING] `
fn named(rest: &[u8]) -> Option<usize> {
    let colon = memchr::memchr(b':', rest.get(..rest.len().min(96))?)?;
    let level = rest.get(colon..)?.strip_prefix(b": [")?;
    let close = memchr::memchr(b']', level.get(..level.len().min(12))?)?;
    let whole = is_name(rest.get(..colon)?) && is_level(level.get(..close)?);
    let end = colon + 3 + close + 1;
    whole.then(|| end + usize::from(rest.get(end) == Some(&b' ')))
}

/// `E external/xla/pjrt/client.cc:123] ` behind the colon of a stamp.
fn glog(rest: &[u8]) -> Option<usize> {
    let place = rest
        .get(1..)?
        .strip_prefix(b" ")
        .filter(|_| matches!(rest.first(), Some(b'I' | b'W' | b'E' | b'F')))?;
    let close = memchr::memchr(b']', place.get(..place.len().min(160))?)?;
    let colon = memchr::memrchr(b':', place.get(..close)?)?;
    whole_number(place.get(colon + 1..close)?)?;
    Some(2 + close + 1 + spaces(place, close + 1))
}

/// `host kernel: ` or `host program[pid]: `; where a host is sure also `host program: `.
fn syslog_host(rest: &[u8], sure: bool, out: &mut Peeled) -> Option<usize> {
    let space = memchr::memchr(b' ', rest.get(..rest.len().min(96))?)?;
    let host = rest.get(..space)?;
    let tag = rest.get(space + 1..)?;
    let colon = memchr::memchr(b':', tag.get(..tag.len().min(64))?)?;
    let name = tag.get(..colon)?;
    let base = name.split(|b| *b == b'[').next()?;
    if !is_name(host)
        || !is_name(base)
        || tag.get(colon + 1) != Some(&b' ')
        || (!sure && host.iter().all(u8::is_ascii_uppercase))
    {
        return None;
    }
    let pid = name.get(base.len()..)?.strip_prefix(b"[").and_then(number).map(|(pid, _)| pid);
    if base == b"kernel" {
        out.kernel = true;
    } else if name.len() == base.len() && !sure {
        // `LEVEL module: text` is not `host tag: text`.
        return None;
    }
    out.identity.host = owned(host);
    out.identity.pid = pid.or(out.identity.pid);
    Some(space + 1 + colon + 2)
}
