//! The files that the operator granted.

use crate::Error;
use crate::bindings::host::firstfault::plugin::files as host;
pub use crate::bindings::host::firstfault::plugin::files::Entry;

/// Most entries that the host gives in one call.
const PAGE: u32 = 4096;

/// The granted files. [`HostFiles`] is the host; a test brings its own.
pub trait Files {
    /// Names of the granted roots.
    fn roots(&self) -> Vec<String>;

    /// How many entries a page holds; one with fewer is the last.
    fn page_size(&self) -> u32 {
        PAGE
    }

    /// One page of the entries directly in a folder, in byte order of their names.
    ///
    /// # Errors
    /// What the host says: `not-found`, `denied`.
    fn page(&self, root: &str, folder: &str, offset: u32) -> Result<Vec<Entry>, Error>;

    /// A small file whole.
    ///
    /// # Errors
    /// What the host says: `not-found`, `denied`, `too-large`.
    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, Error>;

    /// Hands a file to the host's reader.
    ///
    /// # Errors
    /// What the host says: `not-found`, `denied`, `malformed` (a label), `limit`.
    fn attach(&self, root: &str, path: &str, labels: &[(String, String)]) -> Result<(), Error>;

    /// Says that a file was seen and left out, and why.
    fn skip(&self, root: &str, path: &str, reason: &str);

    /// All entries directly in a folder.
    ///
    /// # Errors
    /// As [`Files::page`].
    fn list(&self, root: &str, folder: &str) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        loop {
            let page = self.page(root, folder, u32::try_from(entries.len()).unwrap_or(u32::MAX))?;
            let last = page.len() < self.page_size() as usize;
            if entries.is_empty() {
                entries = page;
            } else {
                entries.extend(page);
            }
            if last {
                return Ok(entries);
            }
        }
    }
}

/// The host's files.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostFiles;

impl Files for HostFiles {
    fn roots(&self) -> Vec<String> {
        host::roots()
    }

    fn page(&self, root: &str, folder: &str, offset: u32) -> Result<Vec<Entry>, Error> {
        host::list(root, folder, offset, PAGE)
    }

    fn read(&self, root: &str, path: &str, limit: u64) -> Result<Vec<u8>, Error> {
        host::read(root, path, limit)
    }

    fn attach(&self, root: &str, path: &str, labels: &[(String, String)]) -> Result<(), Error> {
        host::attach(root, path, labels)
    }

    fn skip(&self, root: &str, path: &str, reason: &str) {
        host::skip(root, path, reason);
    }
}
