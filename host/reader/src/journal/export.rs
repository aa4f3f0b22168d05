//! `journalctl -o export`: `KEY=value` lines, or for values that are no text the name alone on a line, eight bytes of length (the least
//! first), the value and a line feed. An empty line ends an entry.

use std::io::{self, BufRead, Write};

use super::{Entry, Line, MAX_FIELD, Parts, Told, next_line};

/// Parts the entries.
pub(super) fn part<W: Write>(input: &mut dyn BufRead, parts: &mut Parts<W>) -> io::Result<Told> {
    let mut told = Told::default();
    let mut current = Pending::default();
    let mut line = Vec::new();
    loop {
        match next_line(input, &mut line) {
            Ok(Line::End) => break,
            Err(e) => {
                told.error = Some(e.to_string());
                break;
            }
            Ok(Line::TooLong) => {
                told.lines += 1;
                current.any = true;
            }
            Ok(Line::Whole) => {
                told.lines += 1;
                let at = told.lines;
                if line.is_empty() {
                    current.finish(parts, &mut told)?;
                } else if let Some(equals) = memchr::memchr(b'=', &line) {
                    let value = line.split_off(equals + 1);
                    line.pop();
                    current.set(&line, value, at);
                } else {
                    match binary(input, &mut told.lines) {
                        // Of a value that has several lines the first stands below its name and length.
                        Ok(Some(value)) => current.set(&line, value, at),
                        Ok(None) => current.any = true,
                        Err(e) => {
                            told.error = Some(e.to_string());
                            break;
                        }
                    }
                }
            }
        }
    }
    current.finish(parts, &mut told)?;
    Ok(told)
}

/// The entry that is read.
#[derive(Default)]
struct Pending {
    entry: Entry,
    any: bool,
    line: u64,
}

impl Pending {
    fn set(&mut self, key: &[u8], value: Vec<u8>, line: u64) {
        self.any = true;
        if key == b"MESSAGE" {
            self.line = line;
        }
        self.entry.set(key, value);
    }

    fn finish<W: Write>(&mut self, parts: &mut Parts<W>, told: &mut Told) -> io::Result<()> {
        let done = std::mem::take(self);
        if done.any {
            let taken = done.entry.write(done.line, parts, told)?;
            told.entries += u64::from(taken);
            told.refused += u64::from(!taken);
        }
        Ok(())
    }
}

/// A value with its length before it, and the line feed behind it; `None` if it is longer than is taken. Counts its line feeds.
fn binary(input: &mut dyn BufRead, lines: &mut u64) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 8];
    input.read_exact(&mut length)?;
    let mut left = u64::from_le_bytes(length);
    let keep = left <= MAX_FIELD as u64;
    let feeds = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
    *lines += feeds(&length);
    let mut value = Vec::new();
    while left > 0 {
        let block = input.fill_buf()?;
        if block.is_empty() {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "cut off within a value"));
        }
        let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(block.len());
        let piece = block.get(..wanted).unwrap_or_default();
        *lines += feeds(piece);
        if keep {
            value.extend_from_slice(piece);
        }
        left -= wanted as u64;
        input.consume(wanted);
    }
    let mut feed = [0];
    input.read_exact(&mut feed)?;
    if feed != *b"\n" {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "damaged: no line end behind a value"));
    }
    *lines += 1;
    Ok(keep.then_some(value))
}

#[cfg(test)]
mod tests {
    use super::super::tests::parted;
    use crate::recognise::Content;

    fn binary(name: &str, value: &[u8]) -> Vec<u8> {
        [name.as_bytes(), b"\n", &(value.len() as u64).to_le_bytes(), value, b"\n"].concat()
    }

    #[test]
    fn entries_stand_where_their_messages_do() {
        let export = [
            b"__CURSOR=s=1\n__REALTIME_TIMESTAMP=1789360641418203\n_HOSTNAME=n1\n_TRANSPORT=kernel\nMESSAGE=a=b\n\n"
                .as_slice(),
            b"__REALTIME_TIMESTAMP=1789360641418204\n_HOSTNAME=n1\nSYSLOG_IDENTIFIER=sshd\n_PID=12\n",
            &binary("MESSAGE", b"two\nlines"),
            b"\n_HOSTNAME=n1\n\n",
            b"__REALTIME_TIMESTAMP=1789360641418205\n_TRANSPORT=kernel\nMESSAGE=cut off",
        ]
        .concat();
        let (kernel, rest, told) = parted(Content::JournalExport, &export);
        assert_eq!((told.entries, told.refused, told.error), (3, 1, None));
        assert_eq!(told.lines, export.split(|b| *b == b'\n').count() as u64);
        let at = |text: &str| text.lines().position(|l| !l.is_empty()).map(|i| i + 1);
        assert_eq!(at(&kernel), Some(5));
        assert!(kernel.starts_with("\n\n\n\n2026-09-14T04:37:21.418203Z n1 kernel: a=b\n"), "{kernel}");
        assert!(kernel.ends_with("2026-09-14T04:37:21.418205Z localhost kernel: cut off\n"), "{kernel}");
        assert_eq!(at(&rest), Some(11));
        assert!(
            rest.contains("n1 sshd[12]: two\r2026-09-14T04:37:21.418204Z n1 sshd[12]: lines\n"),
            "{rest}"
        );
    }

    #[test]
    fn a_length_that_lies_is_damage() {
        for value in [
            b"MESSAGE\n\xff\xff\xff\xff\xff\xff\xff\xffabc".as_slice(),
            b"MESSAGE\nabc",
            b"MESSAGE\n\x01\0\0\0\0\0\0\0xyz\n",
        ] {
            let (_, _, told) = parted(Content::JournalExport, value);
            assert!(told.entries == 0 && told.error.is_some(), "{value:?}");
        }
    }
}
