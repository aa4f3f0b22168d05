//! Logs of containers as their runtimes keep them, where a line of the program is more or less than a line of the file.
//!
//! Docker's `json-file` has an object on each line; both it and the CRI form (`TIME stdout P text`) part a long line of the program into
//! pieces of 16 KiB. What comes out is the CRI form with whole lines, each on the number of its first piece.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use serde::Deserialize;

use crate::journal::{Line, next_line};
use crate::numbered::Numbered;
use crate::recognise::Content;

/// Longest line of a program that is joined from pieces; what is beyond is cut and counted.
const MAX_LINE: usize = 4 << 20;

/// What a log holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Lines of the file.
    pub lines: u64,
    /// Lines that are not of the form; they are kept as they are.
    pub odd: u64,
    /// Lines that were too long to be kept, or were cut.
    pub cut: u64,
    /// Why it could not be read to its end.
    pub error: Option<String>,
}

/// An object of `json-file`.
#[derive(Deserialize)]
struct Record {
    log: String,
    #[serde(default)]
    stream: String,
    #[serde(default)]
    time: String,
}

/// A piece of a line of the program.
struct Piece<'a> {
    time: &'a [u8],
    stream: &'a str,
    text: &'a [u8],
    /// Whether the line goes on in the stream's next piece.
    partial: bool,
}

/// A line of the program that is not yet whole.
struct Open {
    number: u64,
    text: Vec<u8>,
}

/// Joins the lines of a log. What comes before damage is kept, and the damage told.
///
/// # Errors
/// The lines cannot be written.
pub fn joined<W: Write>(
    content: Content,
    input: &mut dyn BufRead,
    out: &mut Numbered<W>,
) -> io::Result<Told> {
    let mut told = Told::default();
    let mut open: BTreeMap<String, Open> = BTreeMap::new();
    let mut line = Vec::new();
    loop {
        match next_line(input, &mut line) {
            Ok(Line::End) => break,
            Ok(Line::TooLong) => {
                told.lines += 1;
                told.cut += 1;
                continue;
            }
            Ok(Line::Whole) => told.lines += 1,
            Err(error) => {
                told.error = Some(error.to_string());
                break;
            }
        }
        let number = told.lines;
        let record =
            if content == Content::DockerJson { serde_json::from_slice::<Record>(&line).ok() } else { None };
        let piece = match &record {
            Some(record) => Some(of_record(record)),
            None if content == Content::Cri => of_cri(&line),
            None => None,
        };
        let Some(piece) = piece else {
            if !line.is_empty() {
                told.odd += 1;
                flush(&mut open, out)?;
                out.put(number, &line)?;
            }
            continue;
        };
        // A line stands where it began; others of the meantime stand behind it.
        let begun = open.entry(piece.stream.to_owned()).or_insert_with(|| {
            let text = [piece.time, b" ", piece.stream.as_bytes(), b" F "].concat();
            Open { number, text }
        });
        let room = MAX_LINE.saturating_sub(begun.text.len());
        told.cut += u64::from(piece.text.len() > room);
        begun.text.extend_from_slice(piece.text.get(..room).unwrap_or(piece.text));
        if !piece.partial
            && let Some(whole) = open.remove(piece.stream)
        {
            out.put(whole.number, &whole.text)?;
        }
    }
    flush(&mut open, out)?;
    Ok(told)
}

fn flush<W: Write>(open: &mut BTreeMap<String, Open>, out: &mut Numbered<W>) -> io::Result<()> {
    let mut rest: Vec<Open> = std::mem::take(open).into_values().collect();
    rest.sort_by_key(|o| o.number);
    for line in rest {
        out.put(line.number, &line.text)?;
    }
    Ok(())
}

fn of_record(record: &Record) -> Piece<'_> {
    let text = record.log.strip_suffix('\n');
    Piece {
        time: record.time.as_bytes(),
        stream: if record.stream == "stderr" { "stderr" } else { "stdout" },
        text: text.unwrap_or(&record.log).as_bytes(),
        partial: text.is_none(),
    }
}

fn of_cri(line: &[u8]) -> Option<Piece<'_>> {
    let mut words = line.splitn(4, |b| *b == b' ');
    let (time, stream, tag) = (words.next()?, words.next()?, words.next()?);
    let stream = match stream {
        b"stdout" => "stdout",
        b"stderr" => "stderr",
        _ => return None,
    };
    // The tag is a list of which only the first is known: `P` or `F`.
    let partial = match tag.split(|b| *b == b':').next()? {
        b"P" => true,
        b"F" => false,
        _ => return None,
    };
    time.first().filter(|b| b.is_ascii_digit())?;
    Some(Piece { time, stream, text: words.next().unwrap_or_default(), partial })
}

/// Whether a line is of the CRI form.
#[must_use]
pub fn is_cri(line: &[u8]) -> bool {
    line.len() > 30 && line.get(4) == Some(&b'-') && line.get(10) == Some(&b'T') && of_cri(line).is_some()
}

/// Whether a log of the CRI form has lines in pieces.
///
/// # Errors
/// Why it cannot be read.
pub fn has_pieces(input: &mut dyn BufRead) -> io::Result<bool> {
    let finders = [memchr::memmem::Finder::new(b" stdout P "), memchr::memmem::Finder::new(b" stderr P ")];
    // The end of the block before, for a tag that lies on the border.
    let mut kept: Vec<u8> = Vec::new();
    loop {
        let block = input.fill_buf()?;
        if block.is_empty() {
            return Ok(false);
        }
        kept.extend_from_slice(block.get(..9).unwrap_or(block));
        if finders.iter().any(|f| f.find(block).is_some() || f.find(&kept).is_some()) {
            return Ok(true);
        }
        kept = block.get(block.len().saturating_sub(9)..).unwrap_or_default().to_vec();
        let used = block.len();
        input.consume(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(content: Content, log: &str) -> (String, Told) {
        let mut out = Numbered::new(Vec::new());
        let told = joined(content, &mut log.as_bytes(), &mut out).unwrap();
        (String::from_utf8(out.finish(told.lines).unwrap()).unwrap(), told)
    }

    const T: &str = "2026-11-02T20:00:00.123456789Z";

    #[test]
    fn docker_objects_become_lines() {
        let log = format!(
            "{{\"log\":\"one \\\"q\\\"\\u001b[0m\\n\",\"stream\":\"stdout\",\"time\":\"{T}\"}}\n\
             {{\"log\":\"long \",\"stream\":\"stderr\",\"time\":\"{T}\"}}\n\
             {{\"log\":\"between\\n\",\"stream\":\"stdout\",\"time\":\"{T}\"}}\n\
             {{\"log\":\"line\\n\",\"stream\":\"stderr\",\"time\":\"{T}\"}}\n\
             no object\n\
             {{\"log\":\"cut\",\"stream\":\"stdout\",\"time\":\"{T}\"}}"
        );
        let (text, told) = of(Content::DockerJson, &log);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("{T} stdout F one \"q\"\u{1b}[0m"));
        assert!(
            text.contains(&format!("{T} stderr F long line"))
                && text.contains(&format!("{T} stdout F between"))
        );
        assert_eq!(lines[4], "no object");
        assert_eq!(lines[5], format!("{T} stdout F cut"));
        assert_eq!((told.lines, told.odd, told.cut), (6, 1, 0));
    }

    #[test]
    fn pieces_of_the_cri_form_are_joined_where_they_begin() {
        let log =
            format!("{T} stdout F a\n{T} stdout P bb\n{T} stdout P cc\n{T} stdout F dd\n{T} stdout F e\n");
        let (text, _) = of(Content::Cri, &log);
        assert_eq!(text, format!("{T} stdout F a\n{T} stdout F bbccdd\n\n\n{T} stdout F e\n"));
        assert!(has_pieces(&mut log.as_bytes()).unwrap());
        let mut small = io::BufReader::with_capacity(12, log.as_bytes());
        assert!(has_pieces(&mut small).unwrap());
        assert!(!has_pieces(&mut format!("{T} stdout F a P b\n").as_bytes()).unwrap());
        assert!(
            is_cri(format!("{T} stderr F x").as_bytes())
                && !is_cri(b"2026-11-02T20:00:00Z n1 kernel: x stdout F")
        );
    }
}
