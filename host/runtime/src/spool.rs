//! Observations on their way to the reader: kept in memory up to a bound, beyond it in sorted runs of one temporary file,
//! and read back in the order of (time, bytes). So the order in which they arrived cannot matter.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// What a line costs in memory besides its bytes.
const LINE_COST: usize = 64;
/// Bytes that are read from a run at a time.
const BLOCK: usize = 64 << 10;

/// Labels of a stream.
pub type Labels = BTreeMap<String, String>;

/// One line of a stream. Lines without a time come first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SpooledLine {
    /// Nanoseconds, as the source says.
    pub time: Option<i64>,
    /// Raw bytes without the line end.
    pub text: Vec<u8>,
}

/// Where a sorted run lies in the temporary file.
#[derive(Debug, Clone, Copy)]
struct Run {
    offset: u64,
    end: u64,
}

#[derive(Debug, Default)]
struct Pending {
    lines: Vec<SpooledLine>,
    runs: Vec<Run>,
    count: u64,
    bytes: u64,
}

/// Takes the observations of one call.
#[derive(Debug)]
pub(crate) struct Spool {
    memory: usize,
    used: usize,
    streams: BTreeMap<Labels, Pending>,
    file: Option<File>,
    end: u64,
}

impl Spool {
    pub(crate) const fn new(memory: usize) -> Self {
        Self { memory, used: 0, streams: BTreeMap::new(), file: None, end: 0 }
    }

    pub(crate) fn streams(&self) -> usize {
        self.streams.len()
    }

    pub(crate) fn knows(&self, labels: &Labels) -> bool {
        self.streams.contains_key(labels)
    }

    /// Adds lines to a stream.
    pub(crate) fn add(
        &mut self,
        labels: Labels,
        lines: impl IntoIterator<Item = SpooledLine>,
    ) -> io::Result<()> {
        let stream = self.streams.entry(labels).or_default();
        for line in lines {
            self.used = self.used.saturating_add(line.text.len() + LINE_COST);
            stream.count += 1;
            stream.bytes += line.text.len() as u64 + 1;
            stream.lines.push(line);
        }
        if self.used > self.memory {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what is in memory as one run per stream.
    fn flush(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile()?);
        }
        let Some(file) = &self.file else { return Ok(()) };
        let mut out = BufWriter::with_capacity(BLOCK, file);
        for stream in self.streams.values_mut().filter(|s| !s.lines.is_empty()) {
            let mut lines = std::mem::take(&mut stream.lines);
            lines.sort_unstable();
            let offset = self.end;
            for line in &lines {
                let header = header(line);
                out.write_all(&header)?;
                out.write_all(&line.text)?;
                self.end += (header.len() + line.text.len()) as u64;
            }
            stream.runs.push(Run { offset, end: self.end });
        }
        out.flush()?;
        self.used = 0;
        Ok(())
    }

    /// The streams in the order of their labels.
    pub(crate) fn finish(self) -> Vec<SpooledStream> {
        let file = self.file.map(Arc::new);
        let stream = |(labels, mut pending): (Labels, Pending)| {
            pending.lines.sort_unstable();
            SpooledStream {
                labels,
                lines: pending.count,
                bytes: pending.bytes,
                file: file.clone(),
                runs: pending.runs,
                rest: Arc::new(pending.lines),
            }
        };
        self.streams.into_iter().map(stream).collect()
    }
}

/// Whether there is a time, the time, and the length of the text.
fn header(line: &SpooledLine) -> [u8; 13] {
    let mut out = [0; 13];
    out[0] = u8::from(line.time.is_some());
    out[1..9].copy_from_slice(&line.time.unwrap_or(0).to_le_bytes());
    // A line has at most 1 MiB.
    out[9..].copy_from_slice(&u32::try_from(line.text.len()).unwrap_or(u32::MAX).to_le_bytes());
    out
}

/// A stream of observations, complete and ordered. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SpooledStream {
    /// `source`, and where given `node`, `rank`, `stream`, `part`; and what else the plugin says.
    pub labels: Labels,
    /// How many lines.
    pub lines: u64,
    /// Bytes with one line feed after each line.
    pub bytes: u64,
    file: Option<Arc<File>>,
    runs: Vec<Run>,
    rest: Arc<Vec<SpooledLine>>,
}

impl SpooledStream {
    /// Reads the lines in the order of (time, bytes). May be called any number of times.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn read(&self) -> io::Result<SpooledLines> {
        let mut runs = Vec::with_capacity(self.runs.len());
        if let Some(file) = &self.file {
            for run in &self.runs {
                runs.push(RunReader { file: Arc::clone(file), run: *run, block: VecDeque::new() });
            }
        }
        let mut lines =
            SpooledLines { runs, rest: Arc::clone(&self.rest), next_rest: 0, heap: BinaryHeap::new() };
        for i in 0..=lines.runs.len() {
            lines.refill(i)?;
        }
        Ok(lines)
    }

    /// Reads the same as bytes, with a line feed after each line.
    ///
    /// # Errors
    /// The temporary file cannot be read.
    pub fn read_bytes(&self) -> io::Result<SpooledBytes> {
        Ok(SpooledBytes { lines: self.read()?, line: Vec::new(), at: 0 })
    }
}

#[derive(Debug)]
struct RunReader {
    file: Arc<File>,
    run: Run,
    block: VecDeque<u8>,
}

impl Read for RunReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.block.is_empty() && self.run.offset < self.run.end {
            let size = usize::try_from(self.run.end - self.run.offset).unwrap_or(BLOCK).min(BLOCK);
            let mut block = vec![0; size];
            self.file.read_exact_at(&mut block, self.run.offset)?;
            self.run.offset += size as u64;
            self.block = block.into();
        }
        self.block.read(out)
    }
}

impl RunReader {
    fn next(&mut self) -> io::Result<Option<SpooledLine>> {
        if self.block.is_empty() && self.run.offset >= self.run.end {
            return Ok(None);
        }
        let (mut flag, mut time, mut length) = ([0; 1], [0; 8], [0; 4]);
        self.read_exact(&mut flag)?;
        self.read_exact(&mut time)?;
        self.read_exact(&mut length)?;
        let mut text = vec![0; u32::from_le_bytes(length) as usize];
        self.read_exact(&mut text)?;
        Ok(Some(SpooledLine { time: (flag != [0]).then(|| i64::from_le_bytes(time)), text }))
    }
}

/// The lines of a [`SpooledStream`] in order.
#[derive(Debug)]
pub struct SpooledLines {
    runs: Vec<RunReader>,
    rest: Arc<Vec<SpooledLine>>,
    next_rest: usize,
    /// The next line of each run, and of the rest under the number after the last run.
    heap: BinaryHeap<Reverse<(SpooledLine, usize)>>,
}

impl SpooledLines {
    fn refill(&mut self, from: usize) -> io::Result<()> {
        let line = match self.runs.get_mut(from) {
            Some(run) => run.next()?,
            None => {
                let line = self.rest.get(self.next_rest).cloned();
                self.next_rest += 1;
                line
            }
        };
        if let Some(line) = line {
            self.heap.push(Reverse((line, from)));
        }
        Ok(())
    }
}

impl Iterator for SpooledLines {
    type Item = io::Result<SpooledLine>;

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse((line, from)) = self.heap.pop()?;
        Some(self.refill(from).map(|()| line))
    }
}

/// The bytes of a [`SpooledStream`] in order.
#[derive(Debug)]
pub struct SpooledBytes {
    lines: SpooledLines,
    line: Vec<u8>,
    at: usize,
}

impl Read for SpooledBytes {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.line.len() {
            let Some(line) = self.lines.next().transpose()? else { return Ok(0) };
            self.line = line.text;
            self.line.push(b'\n');
            self.at = 0;
        }
        let mut left = self.line.get(self.at..).unwrap_or_default();
        let read = left.read(out)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(node: &str) -> Labels {
        [("source".to_owned(), "app".to_owned()), ("node".to_owned(), node.to_owned())].into()
    }

    fn line(time: Option<i64>, text: &str) -> SpooledLine {
        SpooledLine { time, text: text.as_bytes().to_vec() }
    }

    /// Lines in an order that has nothing to do with their times.
    fn shuffled() -> Vec<SpooledLine> {
        (0..1000i64)
            .map(|i| line((i % 10 != 0).then_some(i * 7919 % 1009), &format!("line {}", i % 313)))
            .collect()
    }

    #[test]
    fn arrival_and_memory_do_not_matter() {
        let mut want = shuffled();
        want.sort();
        for memory in [0, 500, 10_000, 1 << 20] {
            for cut in [1, 7, 1000] {
                let mut spool = Spool::new(memory);
                for chunk in shuffled().chunks(cut) {
                    spool.add(labels("a"), chunk.to_vec()).unwrap();
                    spool.add(labels("b"), [line(Some(0), "other")]).unwrap();
                }
                let streams = spool.finish();
                assert_eq!(streams.len(), 2);
                let got: Vec<_> = streams[0].read().unwrap().map(Result::unwrap).collect();
                assert_eq!(got, want, "memory {memory}, cut {cut}");
                assert_eq!(streams[0].lines, 1000);
            }
        }
    }

    #[test]
    fn bytes_have_line_feeds() {
        let mut spool = Spool::new(4);
        spool.add(labels("a"), [line(Some(2), "b"), line(Some(1), ""), line(None, "x")]).unwrap();
        let streams = spool.finish();
        let mut text = String::new();
        streams[0].read_bytes().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "x\n\nb\n");
        assert_eq!(streams[0].bytes, text.len() as u64);
    }
}
