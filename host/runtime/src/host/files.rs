//! `files`: listing, reading, attaching and skipping beneath the granted roots.

use std::collections::BTreeSet;
use std::io::Read as _;

use crate::attributes::{MAX_SENTENCE, shown};
use crate::beneath::OpenError;
use crate::bindings::files::{Entry as WitEntry, Host as FilesHost};
use crate::bindings::types::Error;
use crate::grants::{Attachment, Entry, FileGrants};
use crate::host::{Host, Stop, error, length};
use crate::text::printable;

/// Files that one call may attach, and that it may skip.
const MAX_FILES: usize = 200_000;
/// Entries of one answer.
const MAX_ENTRIES: usize = 4096;
/// Bytes of a file that is read whole.
const MAX_READ: u64 = 64 << 20;

/// A file that was seen and left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Name of the root.
    pub root: String,
    /// Relative to the root; control characters are escaped.
    pub path: String,
    /// Why; control characters are escaped.
    pub reason: String,
}

/// The files of one call.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) grants: FileGrants,
    pub(crate) attachments: Vec<Attachment>,
    pub(crate) skipped: Vec<Skipped>,
    attached: BTreeSet<(String, String)>,
    /// The folder that was listed last, so that paging through a large one reads it once.
    listing: Option<(String, String, Vec<Entry>)>,
}

fn refused(root: &str, path: &str, e: &OpenError) -> Error {
    error(e.code(), format!("'{}' in '{}' cannot be opened: {e}", shown(path), shown(root)))
}

impl Files {
    /// The entries, and how many were looked at for them.
    fn list(
        &mut self,
        root: &str,
        folder: &str,
        offset: usize,
        limit: usize,
    ) -> (Result<Vec<WitEntry>, Error>, usize) {
        let mut cost = 0;
        let cached = self.listing.as_ref().is_some_and(|(r, f, _)| r == root && f == folder);
        if !cached || offset == 0 {
            match self.grants.list(root, folder) {
                Ok(entries) => {
                    cost = entries.len();
                    self.listing = Some((root.to_owned(), folder.to_owned(), entries));
                }
                Err(e) => return (Err(refused(root, folder, &e)), cost),
            }
        }
        let entries = self.listing.iter().flat_map(|(_, _, entries)| entries);
        let entry = |e: &Entry| WitEntry { path: e.path.clone(), kind: e.kind.to_owned(), size: e.size };
        let page: Vec<_> = entries.skip(offset).take(limit.min(MAX_ENTRIES)).map(entry).collect();
        cost += page.len();
        (Ok(page), cost)
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
        let limit = limit.min(MAX_READ);
        let too_large = || error("too-large", format!("'{}' has more than {limit} bytes", shown(path)));
        let (file, size) = self.grants.open(root, path).map_err(|e| refused(root, path, &e))?;
        if size > limit {
            return Err(too_large());
        }
        let mut bytes = Vec::new();
        file.take(limit + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| error("unavailable", format!("'{}' cannot be read: {e}", shown(path))))?;
        if bytes.len() as u64 > limit {
            return Err(too_large());
        }
        Ok(bytes)
    }

    fn attach(&mut self, root: String, path: String, labels: Vec<(String, String)>) -> Result<(), Error> {
        if self.attachments.len() >= MAX_FILES {
            return Err(error("limit", "more than 200,000 files are attached; attach fewer"));
        }
        let labels = crate::labels::check(labels).map_err(|e| error("malformed", e))?;
        let (_, size) = self.grants.open(&root, &path).map_err(|e| refused(&root, &path, &e))?;
        if !self.attached.insert((root.clone(), path.clone())) {
            return Err(error("malformed", format!("'{}' is already attached", shown(&path))));
        }
        self.attachments.push(Attachment { root, path, labels, size, grants: self.grants.clone() });
        Ok(())
    }

    fn skip(&mut self, root: String, path: &str, reason: &str) -> Result<(), Stop> {
        if self.skipped.len() >= MAX_FILES {
            return Err(Stop::Limit("more than 200,000 files are skipped".to_owned()));
        }
        if !self.grants.has(&root) {
            return Err(Stop::Malformed(format!(
                "`files.skip` names the root '{}', which is not granted",
                shown(&root)
            )));
        }
        self.skipped.push(Skipped {
            root,
            path: printable(path, MAX_SENTENCE),
            reason: printable(reason, MAX_SENTENCE),
        });
        Ok(())
    }
}

impl FilesHost for Host {
    fn roots(&mut self) -> wasmtime::Result<Vec<String>> {
        self.meter.tick()?;
        Ok(self.files.grants.names())
    }

    fn list(
        &mut self,
        root: String,
        folder: String,
        offset: u32,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<WitEntry>, Error>> {
        self.meter.tick_for(root.len() + folder.len())?;
        let (answer, cost) = self.files.list(&root, &folder, offset as usize, limit as usize);
        self.meter.spend(cost)?;
        Ok(answer)
    }

    fn read(&mut self, root: String, path: String, limit: u64) -> wasmtime::Result<Result<Vec<u8>, Error>> {
        self.meter.tick_for(root.len() + path.len())?;
        let answer = self.files.read(&root, &path, limit);
        self.meter.spend(answer.as_ref().map_or(0, |bytes| bytes.len() / 4096))?;
        Ok(answer)
    }

    fn attach(
        &mut self,
        root: String,
        path: String,
        labels: Vec<(String, String)>,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.meter.tick_for(root.len() + path.len() + length(&labels))?;
        Ok(self.files.attach(root, path, labels))
    }

    fn skip(&mut self, root: String, path: String, reason: String) -> wasmtime::Result<()> {
        self.meter.tick_for(root.len() + path.len() + reason.len())?;
        Ok(self.files.skip(root, &path, &reason)?)
    }
}
