//! Reports that could not be handed over, one file each.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use firstfault_model::canonical::digest;

use super::capture::Push;
use super::client;

/// Most reports that the folder holds: beyond it something else is wrong.
const MOST_FILES: usize = 10_000;

/// Keeps a report. The same report is one file.
///
/// # Errors
/// The folder cannot be written, or is full.
pub fn keep(folder: &Path, body: &[u8]) -> io::Result<PathBuf> {
    write(folder, digest(body).trim_start_matches("sha256:"), "json", body)
}

/// Writes a file that is seen only when it is whole.
pub(super) fn write(folder: &Path, name: &str, extension: &str, body: &[u8]) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    if fs::read_dir(folder)?.take(MOST_FILES).count() == MOST_FILES {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "it holds 10,000 reports already"));
    }
    let path = folder.join(format!("{name}.{extension}"));
    let mut file = tempfile::Builder::new().prefix(".report-").tempfile_in(folder)?;
    file.write_all(body)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|e| e.error)?;
    Ok(path)
}

/// What became of the folder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Drained {
    /// Reports that the daemon took.
    pub taken: usize,
    /// Reports that it refused; they are set aside.
    pub refused: usize,
    /// Reports that are left.
    pub left: usize,
}

/// Hands over what lies in the folder, as far as there is time.
pub fn drain(socket: &Path, folder: &Path, within: Duration) -> Drained {
    let began = Instant::now();
    let mut out = Drained::default();
    let Ok(entries) = fs::read_dir(folder) else { return out };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.extension().is_some_and(|e| e == "json" || e == "push"))
        .collect();
    paths.sort();
    for path in paths {
        let left = within.saturating_sub(began.elapsed());
        if left.is_zero() {
            out.left += 1;
            continue;
        }
        if path.extension().is_some_and(|e| e == "push") {
            let sent = Push::read(&path).and_then(|push| push.send(socket));
            if sent.is_ok() {
                out.taken += 1;
                drop(fs::remove_file(&path));
            } else {
                out.left += 1;
            }
            continue;
        }
        // One that another call has taken meanwhile.
        let Ok(body) = fs::read(&path) else { continue };
        match client::post(socket, "/v1/diagnoses", &body, left) {
            Ok(answer) if answer.is_taken() => {
                out.taken += 1;
                drop(fs::remove_file(&path));
            }
            Ok(answer) if !answer.is_temporary() => {
                out.refused += 1;
                drop(fs::rename(&path, path.with_extension("refused")));
            }
            _ => out.left += 1,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_report_is_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("spool");
        for body in [b"{}", b"{}", b"[]"] {
            keep(&folder, body).unwrap();
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        let drained = drain(&dir.path().join("no-socket"), &folder, Duration::from_secs(1));
        assert_eq!(drained, Drained { left: 2, ..Drained::default() });
    }
}
