//! Lines at the numbers that they have in the file they were taken from, so that a number that is shown leads there.

use std::io::{self, Write};

/// Writes lines at given numbers; those between them are empty.
#[derive(Debug)]
pub struct Numbered<W> {
    out: W,
    // Lines that were begun and ended.
    lines: u64,
    // Whether a line was begun and not ended.
    open: bool,
    texts: u64,
}

impl<W: Write> Numbered<W> {
    /// Without a line.
    pub const fn new(out: W) -> Self {
        Self { out, lines: 0, open: false, texts: 0 }
    }

    /// Writes a text on the line of a number, counted from one. A text for a line that has one already becomes its next segment. Line
    /// feeds within it become carriage returns, which the reader takes for the ends of segments and not of lines.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put(&mut self, number: u64, text: &[u8]) -> io::Result<()> {
        if self.open && self.lines + 1 >= number {
            self.out.write_all(b"\r")?;
        } else {
            self.go_to(number)?;
        }
        self.open = true;
        self.texts += 1;
        for (i, piece) in text.split(|b| *b == b'\n').enumerate() {
            if i > 0 {
                self.out.write_all(b"\r")?;
            }
            self.out.write_all(piece)?;
        }
        Ok(())
    }

    fn go_to(&mut self, number: u64) -> io::Result<()> {
        if self.open {
            self.out.write_all(b"\n")?;
            self.lines += 1;
            self.open = false;
        }
        while self.lines + 1 < number {
            self.out.write_all(b"\n")?;
            self.lines += 1;
        }
        Ok(())
    }

    /// Whether no text was written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.texts == 0
    }

    /// Ends the last line and fills up to as many lines as the file had that the texts were taken from.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, lines: u64) -> io::Result<W> {
        self.go_to(lines.saturating_add(1))?;
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_at_their_numbers() {
        let mut lines = Numbered::new(Vec::new());
        assert!(lines.is_empty());
        for (number, text) in [(2, "b"), (3, "c\nd"), (3, "e"), (6, ""), (7, "g")] {
            lines.put(number, text.as_bytes()).unwrap();
        }
        assert_eq!(lines.finish(9).unwrap(), b"\nb\nc\rd\re\n\n\n\ng\n\n\n");
        assert_eq!(Numbered::new(Vec::new()).finish(0).unwrap(), b"");
    }
}
