//! What is to be read.

use std::fs::File;
use std::io;
use std::sync::Arc;

use firstfault_model::source::Trust;
use firstfault_model::stream::StreamName;

/// One file of a stream.
pub trait Part: Send + Sync {
    /// Opens it. It may be opened several times, from several threads.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn open(&self) -> io::Result<File>;
}

/// A stream to read: its name, and its files with the oldest first.
#[derive(Clone)]
pub struct Input {
    /// Where it belongs.
    pub name: StreamName,
    /// How far it can be believed.
    pub trust: Trust,
    /// Its files, oldest first.
    pub parts: Vec<Arc<dyn Part>>,
    /// Files between them that are known to be missing.
    pub missing: u64,
}

impl std::fmt::Debug for Input {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("parts", &self.parts.len())
            .finish_non_exhaustive()
    }
}

impl Part for std::path::PathBuf {
    fn open(&self) -> io::Result<File> {
        File::open(self)
    }
}
