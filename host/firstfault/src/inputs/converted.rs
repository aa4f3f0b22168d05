//! Exports and reports as the lines that the reader knows, in temporary files without a name.

use std::fs::File;
use std::io::{self, BufReader, BufWriter};

use firstfault_reader::numbered::Numbered;
use firstfault_reader::recognise::Content;
use firstfault_reader::{Part, bug_report, bytes, container, journal};

/// Most decompressed bytes of a file that are converted.
const MOST_BYTES: u64 = 64 << 30;

/// What a file was made into.
#[derive(Debug)]
pub struct Converted {
    /// Messages of the kernel, if there are any.
    pub kernel: Option<Spooled>,
    /// Other messages of the system, if there are any.
    pub rest: Option<Spooled>,
    /// All of it, where it stays what it was.
    pub whole: Option<Spooled>,
    /// The host, if all of it is one's.
    pub host: Option<String>,
    /// What is left out of it, and why it ends early.
    pub left_out: Vec<String>,
}

/// A temporary file that is gone when the last of its parts is.
#[derive(Debug)]
pub struct Spooled(File);

impl Part for Spooled {
    fn open(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}

/// Converts a file, if its content is one that is to be converted.
///
/// # Errors
/// It cannot be opened, or a temporary file not be written.
pub fn convert(content: Content, file: File) -> io::Result<Option<Converted>> {
    if matches!(content, Content::DockerJson | Content::Cri) {
        return container_log(content, file);
    }
    if !matches!(content, Content::JournalJson | Content::JournalExport | Content::BugReport) {
        return Ok(None);
    }
    let encoding = bytes::encoding(&file)?;
    let decoder = bytes::decoder(file, encoding)?;
    let mut input = BufReader::with_capacity(256 << 10, io::Read::take(decoder, MOST_BYTES));
    let mut parts = journal::Parts { kernel: spool()?, rest: spool()? };
    let mut left_out = Vec::new();
    let (host, lines, error) = if content == Content::BugReport {
        let told = bug_report::part(&mut input, &mut parts)?;
        if told.left > 0 {
            left_out.push(format!(
                "{} of its sections are not read: no log of the kernel or the system",
                told.left
            ));
        }
        (told.host, told.lines, told.error)
    } else {
        let told = journal::part(content, &mut input, &mut parts)?;
        if told.refused > 0 {
            left_out.push(format!(
                "{} of its entries are not read: damaged, or without time or message",
                told.refused
            ));
        }
        let lone = if told.hosts.len() == 1 { told.hosts.into_iter().next() } else { None };
        (lone, told.lines, told.error)
    };
    if let Some(error) = error {
        left_out.push(format!("damaged or cut off after {lines} lines: {error}"));
    } else if input.get_ref().limit() == 0 {
        left_out.push(format!("cut off: what follows {MOST_BYTES} bytes is not read"));
    }
    if parts.kernel.is_empty() && parts.rest.is_empty() && left_out.is_empty() {
        left_out.push("nothing in it is a log of the kernel or the system".to_owned());
    }
    let finish = |part: Numbered<BufWriter<File>>| -> io::Result<Option<Spooled>> {
        if part.is_empty() {
            return Ok(None);
        }
        let file = part.finish(lines)?.into_inner().map_err(io::IntoInnerError::into_error)?;
        Ok(Some(Spooled(file)))
    };
    Ok(Some(Converted {
        kernel: finish(parts.kernel)?,
        rest: finish(parts.rest)?,
        whole: None,
        host,
        left_out,
    }))
}

/// Joins the pieces of lines. A log that has none is read as it is.
fn container_log(content: Content, file: File) -> io::Result<Option<Converted>> {
    let open = |file: File| -> io::Result<_> {
        let encoding = bytes::encoding(&file)?;
        let decoder = bytes::decoder(file, encoding)?;
        Ok(BufReader::with_capacity(1 << 20, io::Read::take(decoder, MOST_BYTES)))
    };
    if content == Content::Cri {
        // A damaged one is left to the reader, which tells how far it came.
        let pieces = container::has_pieces(&mut open(file.try_clone()?)?).unwrap_or(false);
        io::Seek::rewind(&mut &file)?;
        if !pieces {
            return Ok(None);
        }
    }
    let mut input = open(file)?;
    let mut out = spool()?;
    let told = container::joined(content, &mut input, &mut out)?;
    let mut left_out = Vec::new();
    if told.cut > 0 {
        left_out.push(format!("{} of its lines are cut: too long", told.cut));
    }
    if let Some(error) = told.error {
        left_out.push(format!("damaged or cut off after {} lines: {error}", told.lines));
    } else if input.get_ref().limit() == 0 {
        left_out.push(format!("cut off: what follows {MOST_BYTES} bytes is not read"));
    }
    let file = out.finish(told.lines)?.into_inner().map_err(io::IntoInnerError::into_error)?;
    Ok(Some(Converted { kernel: None, rest: None, whole: Some(Spooled(file)), host: None, left_out }))
}

fn spool() -> io::Result<Numbered<BufWriter<File>>> {
    Ok(Numbered::new(BufWriter::with_capacity(256 << 10, tempfile::tempfile()?)))
}
