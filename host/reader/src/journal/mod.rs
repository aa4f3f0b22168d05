//! Exports of the systemd journal, as lines that the reader knows: a stamp in microseconds, the host, and who wrote it.
//!
//! An export is parted in two: messages of the kernel, and the rest. In both, each entry stands on the line where the export has it;
//! of `-o json` that is its object, of `-o export` its `MESSAGE`. Lines of a message that has several follow one another on that line as
//! segments, each with the prefix of the first, so that a traceback stays one writer's.

mod export;
mod json;

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};

use chrono::{DateTime, SecondsFormat};

use crate::numbered::Numbered;
use crate::recognise::Content;

/// Longest line or field that is taken; a longer one is passed over and counted.
const MAX_FIELD: usize = 16 << 20;
/// Most hosts that are remembered: one is the stream's node, more are not.
const MAX_HOSTS: usize = 2;
/// Most characters of a host and of an identifier in a prefix.
const MAX_WORD: usize = 48;
/// Most pieces of a message that get a prefix of their own.
const MAX_PIECES: usize = 1000;

/// The two parts of an export.
#[derive(Debug)]
pub struct Parts<W> {
    /// Messages of the kernel.
    pub kernel: Numbered<W>,
    /// All others.
    pub rest: Numbered<W>,
}

/// What an export holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Hosts of its entries; at most two are remembered.
    pub hosts: BTreeSet<String>,
    /// Lines of the export.
    pub lines: u64,
    /// Entries that were taken.
    pub entries: u64,
    /// Entries without a text or a time, and lines that are no entry.
    pub refused: u64,
    /// Why it could not be read to its end.
    pub error: Option<String>,
}

/// One entry.
#[derive(Debug, Default)]
struct Entry {
    /// Microseconds since 1970, UTC.
    time: Option<i64>,
    message: Option<Vec<u8>>,
    host: Option<Vec<u8>>,
    identifier: Option<Vec<u8>>,
    pid: Option<Vec<u8>>,
    kernel: bool,
}

impl Entry {
    /// Takes a field, if it is one of those that a line is made of. What `journalctl` calls by two names is the first that is there.
    fn set(&mut self, key: &[u8], value: Vec<u8>) {
        match key {
            b"__REALTIME_TIMESTAMP" => {
                self.time = std::str::from_utf8(&value).ok().and_then(|t| t.parse().ok());
            }
            b"MESSAGE" => self.message = Some(value),
            b"_HOSTNAME" => self.host = Some(value),
            b"SYSLOG_IDENTIFIER" => self.identifier = Some(value),
            b"_COMM" => self.identifier = self.identifier.take().or(Some(value)),
            b"_PID" => self.pid = Some(value),
            b"SYSLOG_PID" => self.pid = self.pid.take().or(Some(value)),
            b"_TRANSPORT" => self.kernel = value == b"kernel",
            _ => {}
        }
    }

    /// Writes it on a line; says whether there was anything to write.
    fn write<W: Write>(&self, line: u64, parts: &mut Parts<W>, told: &mut Told) -> io::Result<bool> {
        let (Some(time), Some(message)) =
            (self.time.and_then(DateTime::from_timestamp_micros), &self.message)
        else {
            return Ok(false);
        };
        let mut prefix = time.to_rfc3339_opts(SecondsFormat::Micros, true).into_bytes();
        let host = word(self.host.as_deref().unwrap_or_default());
        if told.hosts.len() < MAX_HOSTS && !host.is_empty() {
            told.hosts.insert(String::from_utf8_lossy(&host).into_owned());
        }
        prefix.push(b' ');
        prefix.extend_from_slice(if host.is_empty() { b"localhost" } else { &host });
        if self.kernel {
            prefix.extend_from_slice(b" kernel: ");
        } else {
            let identifier = word(self.identifier.as_deref().unwrap_or_default());
            prefix.push(b' ');
            prefix.extend_from_slice(if identifier.is_empty() { b"unknown" } else { &identifier });
            // In brackets even where it is not known: by them such a prefix is told from a level and a module.
            let pid = self.pid.as_deref().filter(|p| p.len() <= 10 && p.iter().all(u8::is_ascii_digit));
            prefix.push(b'[');
            prefix.extend_from_slice(pid.unwrap_or(b"-"));
            prefix.extend_from_slice(b"]: ");
        }
        let out = if self.kernel { &mut parts.kernel } else { &mut parts.rest };
        for (i, piece) in message.split(|b| *b == b'\n').enumerate() {
            if i == MAX_PIECES {
                break;
            }
            let text = [prefix.as_slice(), piece].concat();
            out.put(line, &text)?;
        }
        Ok(true)
    }
}

/// The bytes of a name that a prefix can hold.
fn word(name: &[u8]) -> Vec<u8> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'/');
    name.iter().take(MAX_WORD).map(|b| if plain(*b) { *b } else { b'_' }).collect()
}

/// Parts an export. What comes before damage is kept, and the damage told.
///
/// # Errors
/// The parts cannot be written.
pub fn part<W: Write>(content: Content, input: &mut dyn BufRead, parts: &mut Parts<W>) -> io::Result<Told> {
    if content == Content::JournalExport { export::part(input, parts) } else { json::part(input, parts) }
}

/// A line as far as it was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// All of it; without its line feed.
    Whole,
    /// It has more than the most bytes, which were passed over.
    TooLong,
    /// There is none left.
    End,
}

/// Reads the next line.
pub(crate) fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> io::Result<Line> {
    line.clear();
    let mut long = false;
    let mut any = false;
    loop {
        let block = match input.fill_buf() {
            Ok(block) => block,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        if block.is_empty() {
            break;
        }
        any = true;
        let end = memchr::memchr(b'\n', block);
        let piece = block.get(..end.unwrap_or(block.len())).unwrap_or_default();
        long |= line.len() + piece.len() > MAX_FIELD;
        if !long {
            line.extend_from_slice(piece);
        }
        let used = end.map_or(block.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            break;
        }
    }
    Ok(match (any, long) {
        (false, _) => Line::End,
        (true, true) => Line::TooLong,
        (true, false) => Line::Whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The two parts as text.
    pub(super) fn parted(content: Content, export: &[u8]) -> (String, String, Told) {
        let mut parts = Parts { kernel: Numbered::new(Vec::new()), rest: Numbered::new(Vec::new()) };
        let mut input = export;
        let told = part(content, &mut input, &mut parts).unwrap();
        let text = |part: Numbered<Vec<u8>>| String::from_utf8(part.finish(told.lines).unwrap()).unwrap();
        (text(parts.kernel), text(parts.rest), told)
    }

    #[test]
    fn long_lines_are_passed_over() {
        let text = [b"a\n".as_slice(), &vec![b'x'; MAX_FIELD + 1], b"\nb"].concat();
        let mut input = io::BufReader::new(text.as_slice());
        let mut line = Vec::new();
        let kinds: Vec<(Line, usize)> =
            (0..4).map(|_| (next_line(&mut input, &mut line).unwrap(), line.len())).collect();
        assert_eq!(kinds[0], (Line::Whole, 1));
        assert_eq!(kinds[1].0, Line::TooLong);
        assert_eq!(kinds[2], (Line::Whole, 1));
        assert_eq!(kinds[3], (Line::End, 0));
    }

    #[test]
    fn prefixes_are_such_as_the_reader_peels() {
        let json = br#"{"__REALTIME_TIMESTAMP":"1789360641418203","_HOSTNAME":"lyra-047","_TRANSPORT":"kernel","MESSAGE":"NVRM: x"}
{"__REALTIME_TIMESTAMP":"1789360641418204","_HOSTNAME":"lyra-047","_TRANSPORT":"stdout","SYSLOG_IDENTIFIER":"(sd pam)","MESSAGE":"y"}
"#;
        let (kernel, rest, told) = parted(Content::JournalJson, json);
        assert_eq!(told.hosts, ["lyra-047".to_owned()].into());
        let peeled = crate::prefix::peel(kernel.lines().next().unwrap().as_bytes());
        assert!(peeled.kernel && peeled.stamp.is_some_and(|s| s.offset == Some(0)));
        assert_eq!(peeled.identity.host.as_deref(), Some("lyra-047"));
        assert_eq!(&kernel[peeled.rest..], "NVRM: x\n\n");
        let line = rest.lines().nth(1).unwrap();
        let peeled = crate::prefix::peel(line.as_bytes());
        assert_eq!((peeled.identity.host.as_deref(), &line[peeled.rest..]), (Some("lyra-047"), "y"));
    }
}
