//! What was pushed, made into folders that the same reader reads as any files. The order in which it came plays no part.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use firstfault_model::source::Trust;
use firstfault_model::time::Timestamp;
use firstfault_store::{Store, StoreError};
use tempfile::TempDir;

use crate::diagnoser::Opened;
use crate::observation::{Batch, Line};
use crate::paths::own_folder;

/// The folders of one diagnosis, and what was left out.
#[derive(Debug, Default)]
pub(crate) struct Spooled {
    pub(crate) inputs: Vec<Opened>,
    pub(crate) not_read: Vec<(String, String)>,
    /// Held until they are read.
    pub(crate) folder: Option<TempDir>,
}

/// Why what was pushed cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SpoolError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("what was pushed cannot be written to a temporary folder: {0}")]
    Io(#[from] io::Error),
}

/// Writes all observations of a diagnosis below a folder.
pub(crate) fn spool(store: &dyn Store, diagnosis: &str, below: &Path) -> Result<Spooled, SpoolError> {
    let mut by_trust: BTreeMap<Trust, Batch> = BTreeMap::new();
    let mut unreadable = 0_u64;
    store.observations(diagnosis, &mut |_, body| match serde_json::from_slice::<Batch>(body) {
        Ok(mut batch) => {
            let all = by_trust.entry(batch.trust.unwrap_or(Trust::Unverified)).or_default();
            all.lines.append(&mut batch.lines);
            all.metrics.append(&mut batch.metrics);
            all.rejected += batch.rejected;
        }
        Err(_) => unreadable += 1,
    })?;
    let mut out = Spooled::default();
    if by_trust.is_empty() {
        return Ok(out);
    }
    let dir = tempfile::Builder::new().prefix("session-").tempdir_in(below)?;
    for (trust, mut batch) in by_trust {
        let name = match trust {
            Trust::Host => "pushed-host",
            Trust::Workload => "pushed-workload",
            Trust::Unverified => "pushed",
        };
        let folder = dir.path().join(name);
        fs::create_dir(&folder)?;
        batch.lines.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        write_lines(&folder, &batch.lines)?;
        write_metrics(&folder, &mut batch.metrics)?;
        if batch.rejected > 0 {
            out.not_read.push((
                name.to_owned(),
                format!("{} pushed lines were rejected as malformed", batch.rejected),
            ));
        }
        out.inputs.push(own_folder(&folder, name, trust)?);
    }
    if unreadable > 0 {
        out.not_read.push(("pushed".to_owned(), format!("{unreadable} observations cannot be read back")));
    }
    out.folder = Some(dir);
    Ok(out)
}

type Key<'a> = (&'a str, Option<&'a str>, Option<u32>, Option<i64>, &'a str);

/// By stream, then by stamp, then by bytes: equal lines of one stamp are all there, in any order the same.
fn key(line: &Line) -> Key<'_> {
    (&line.source, line.node.as_deref(), line.rank, line.order, &line.text)
}

fn write_lines(folder: &Path, lines: &[Line]) -> io::Result<()> {
    for stream in lines.chunk_by(|a, b| (&a.source, &a.node, a.rank) == (&b.source, &b.node, b.rank)) {
        let Some(first) = stream.first() else { continue };
        let mut path = folder.join("logs");
        path.extend(first.node.as_deref().map(component));
        fs::create_dir_all(&path)?;
        let source = if first.source.is_empty() { "unstated".to_owned() } else { component(&first.source) };
        let rank = first.rank.map_or_else(String::new, |rank| format!(".{rank}"));
        path.push(format!("{source}{rank}.log"));
        // Two names that differ only in what a file name cannot hold share a file.
        let file = fs::OpenOptions::new().append(true).create(true).open(path)?;
        let mut file = BufWriter::new(file);
        for line in stream {
            if let Some(time) = line.order.filter(|_| line.dated) {
                write!(file, "{} ", Timestamp(time))?;
            }
            file.write_all(line.text.as_bytes())?;
            file.write_all(b"\n")?;
        }
        file.flush()?;
    }
    Ok(())
}

fn write_metrics(folder: &Path, metrics: &mut [serde_json::Value]) -> io::Result<()> {
    if metrics.is_empty() {
        return Ok(());
    }
    let mut texts: Vec<String> = metrics.iter().map(ToString::to_string).collect();
    texts.sort();
    fs::create_dir_all(folder.join("metrics"))?;
    for (i, text) in texts.iter().enumerate() {
        fs::write(folder.join(format!("metrics/{i}.json")), text)?;
    }
    Ok(())
}

/// A name as a part of a path.
fn component(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.:".contains(c) { c } else { '_' };
    let name: String = name.chars().take(200).map(plain).collect();
    if name.is_empty() || name.starts_with('.') { format!("_{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_folder() {
        for (name, part) in
            [("n1.example", "n1.example"), ("..", "_.."), ("a/b", "a_b"), ("", "_"), ("/etc", "_etc")]
        {
            assert_eq!(component(name), part);
        }
    }

    #[test]
    fn any_order_gives_the_same_files() {
        let line = |order: i64, text: &str| Line {
            source: "kernel".into(),
            node: Some("n1".into()),
            rank: None,
            order: Some(order),
            dated: true,
            text: text.into(),
        };
        let mut lines = [line(2, "b"), line(1, "a"), line(2, "a"), line(2, "b")];
        let mut texts = Vec::new();
        for _ in 0..2 {
            lines.reverse();
            let dir = tempfile::tempdir().unwrap();
            let mut sorted = lines.to_vec();
            sorted.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
            write_lines(dir.path(), &sorted).unwrap();
            texts.push(fs::read_to_string(dir.path().join("logs/n1/kernel.log")).unwrap());
        }
        assert_eq!(texts[0], texts[1]);
        assert_eq!(texts[0].lines().count(), 4);
    }
}
