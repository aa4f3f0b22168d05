//! What a call of a connector or collector is granted.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{Dir, FileType};

use crate::attributes;
use crate::beneath::{self, OpenError};
use crate::error::RuntimeError;

/// Entries of one folder.
const MAX_ENTRIES: usize = 1_000_000;

/// Grants of one call. Requests and programs cannot be granted yet.
#[derive(Debug, Clone)]
pub struct Capabilities {
    /// Files and folders, read-only.
    pub files: FileGrants,
    /// How long the call may take.
    pub deadline: Duration,
}

/// Roots beneath which files may be listed, read and attached. Cheap to clone; holds one descriptor per root.
#[derive(Debug, Clone, Default)]
pub struct FileGrants {
    roots: Arc<Vec<Root>>,
}

/// One root.
#[derive(Debug)]
struct Root {
    name: String,
    folder: OwnedFd,
    /// For a root that is itself a file.
    only: Option<Only>,
}

/// A root that is itself a file.
#[derive(Debug)]
struct Only {
    /// The name that is shown.
    shown: String,
    /// The name in the root's folder; none: what is held as the folder is the file itself.
    actual: Option<OsString>,
}

/// What a root is.
#[derive(Debug)]
pub enum Granted {
    /// A folder or regular file by its path.
    Path(PathBuf),
    /// An open folder, or an open regular file with the name to show: what lies at its path by now does not matter.
    Open(String, OwnedFd),
}

/// One entry of a folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) kind: &'static str,
    pub(crate) size: u64,
}

impl FileGrants {
    /// Grants folders and single files under names of `[a-z0-9_-]`. A path that is a link is followed, once and now: it is
    /// the operator who named it.
    ///
    /// # Errors
    /// A name that is malformed or given twice, or a path that is neither a folder nor a regular file.
    pub fn new(roots: Vec<(String, PathBuf)>) -> Result<Self, RuntimeError> {
        Self::of(roots.into_iter().map(|(name, path)| (name, Granted::Path(path))).collect())
    }

    /// The same of paths and of what is open already.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn of(roots: Vec<(String, Granted)>) -> Result<Self, RuntimeError> {
        let mut names = BTreeSet::new();
        let mut opened = Vec::with_capacity(roots.len());
        for (name, granted) in roots {
            let shown = match &granted {
                Granted::Path(path) => path.display().to_string(),
                Granted::Open(shown, _) => shown.clone(),
            };
            let refuse = |reason: String| RuntimeError::Grant { path: shown.clone(), reason };
            attributes::word("the name of the root", &name, 64, true).map_err(refuse)?;
            if !names.insert(name.clone()) {
                return Err(refuse(format!("two roots are named '{name}'")));
            }
            let root = match granted {
                Granted::Path(path) => Root::open(name, &path),
                Granted::Open(shown, file) => Root::held(name, shown, file),
            };
            opened.push(root.map_err(|e| refuse(e.to_string()))?);
        }
        Ok(Self { roots: Arc::new(opened) })
    }

    /// Names of the roots in the order that they were given.
    pub(crate) fn names(&self) -> Vec<String> {
        self.roots.iter().map(|r| r.name.clone()).collect()
    }

    pub(crate) fn has(&self, root: &str) -> bool {
        self.roots.iter().any(|r| r.name == root)
    }

    fn root(&self, name: &str) -> Result<&Root, OpenError> {
        self.roots.iter().find(|r| r.name == name).ok_or_else(|| {
            OpenError::System(io::Error::new(io::ErrorKind::NotFound, "no root of this name is granted"))
        })
    }

    /// Opens a regular file; also returns its size.
    pub(crate) fn open(&self, root: &str, path: &str) -> Result<(File, u64), OpenError> {
        let root = self.root(root)?;
        match &root.only {
            None => beneath::open_file(&root.folder, path),
            Some(only) => {
                beneath::check_path(path)?;
                if path != only.shown {
                    return Err(not_found());
                }
                only.open(&root.folder)
            }
        }
    }

    /// Entries directly in a folder, in byte order of their names.
    pub(crate) fn list(&self, root: &str, folder: &str) -> Result<Vec<Entry>, OpenError> {
        let root = self.root(root)?;
        if let Some(only) = &root.only {
            if !folder.is_empty() {
                return Err(not_found());
            }
            let (_, size) = only.open(&root.folder)?;
            return Ok(vec![Entry { path: only.shown.clone(), kind: "file", size }]);
        }
        let fd = beneath::open_folder(&root.folder, folder)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&fd).map_err(io::Error::from)? {
            let entry = entry.map_err(io::Error::from)?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if entries.len() == MAX_ENTRIES {
                return Err(OpenError::Kind("the folder has more than 1,000,000 entries"));
            }
            let mut kind = entry.file_type();
            let mut size = 0;
            if matches!(kind, FileType::RegularFile | FileType::Unknown) {
                // A file that is removed while the folder is listed is left out.
                let Ok(stat) = beneath::stat_entry(&fd, name) else { continue };
                kind = FileType::from_raw_mode(stat.st_mode);
                size = u64::try_from(stat.st_size).unwrap_or(0);
            }
            // A name that is not UTF-8 cannot be asked for, so it is shown as what cannot be opened.
            let (text, utf8) = match name.to_str() {
                Ok(text) => (text.to_owned(), true),
                Err(_) => (name.to_string_lossy().into_owned(), false),
            };
            let kind = match kind {
                FileType::RegularFile if utf8 => "file",
                FileType::Directory if utf8 => "folder",
                FileType::Symlink => "link",
                _ => "other",
            };
            let path = if folder.is_empty() { text } else { format!("{folder}/{text}") };
            entries.push(Entry { path, kind, size: if kind == "file" { size } else { 0 } });
        }
        entries.sort_unstable();
        Ok(entries)
    }
}

fn not_found() -> OpenError {
    OpenError::System(io::Error::new(io::ErrorKind::NotFound, "there is no such file"))
}

impl Only {
    fn open(&self, folder: &OwnedFd) -> Result<(File, u64), OpenError> {
        match &self.actual {
            Some(actual) => beneath::open_file(folder, actual.to_str().ok_or_else(not_found)?),
            None => beneath::reopen_file(folder),
        }
    }
}

impl Root {
    fn held(name: String, shown: String, file: OwnedFd) -> io::Result<Self> {
        let only = match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
            FileType::Directory => None,
            FileType::RegularFile => Some(Only { shown, actual: None }),
            _ => {
                let what = "it is neither a folder nor a regular file";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
            }
        };
        Ok(Self { name, folder: file, only })
    }

    fn open(name: String, path: &Path) -> io::Result<Self> {
        let whole = path.canonicalize()?;
        if whole.is_dir() {
            return Ok(Self { name, folder: beneath::open_root(&whole)?, only: None });
        }
        if !beneath::is_regular(&whole)? {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is neither a folder nor a regular file",
            ));
        }
        let (Some(folder), Some(actual)) = (whole.parent(), whole.file_name()) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no name"));
        };
        if actual.to_str().is_none() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "its name is not UTF-8; grant its folder or rename it",
            ));
        }
        let shown = path.file_name().unwrap_or(actual).to_string_lossy().into_owned();
        let only = Some(Only { shown, actual: Some(actual.to_os_string()) });
        Ok(Self { name, folder: beneath::open_root(folder)?, only })
    }
}

/// A file that a plugin handed to the reader. It holds no descriptor: there may be 200,000 of them.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// Name of the root.
    pub root: String,
    /// Relative to the root.
    pub path: String,
    /// `source`, and where given `node`, `rank`, `stream`, `part`; and what else the plugin says.
    pub labels: BTreeMap<String, String>,
    /// Bytes when it was attached.
    pub size: u64,
    pub(crate) grants: FileGrants,
}

impl Attachment {
    /// Opens the file beneath its root, again without following links.
    ///
    /// # Errors
    /// It is gone, or is no regular file any more.
    pub fn open(&self) -> io::Result<File> {
        Ok(self.grants.open(&self.root, &self.path)?.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(dir: &Path) -> FileGrants {
        FileGrants::new(vec![("logs".into(), dir.to_path_buf()), ("given-0".into(), dir.join("b.log"))])
            .unwrap()
    }

    #[test]
    fn entries_are_sorted_and_have_kinds() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("b.log"), "12345").unwrap();
        std::fs::create_dir(dir.path().join("a")).unwrap();
        std::fs::write(dir.path().join("a/x"), "").unwrap();
        std::os::unix::fs::symlink("b.log", dir.path().join("c")).unwrap();
        let grants = grants(dir.path());
        let shown: Vec<_> =
            grants.list("logs", "").unwrap().into_iter().map(|e| (e.path, e.kind, e.size)).collect();
        assert_eq!(
            shown,
            [("a".into(), "folder", 0), ("b.log".into(), "file", 5), ("c".to_owned(), "link", 0)]
        );
        assert_eq!(grants.list("logs", "a").unwrap()[0].path, "a/x");
        assert_eq!(grants.list("logs", "c").unwrap_err().code(), "denied");
        assert_eq!(grants.list("other", "").unwrap_err().code(), "not-found");
    }

    #[test]
    fn a_root_that_is_a_file_shows_only_itself() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("b.log"), "12345").unwrap();
        std::fs::write(dir.path().join("c.log"), "").unwrap();
        let grants = grants(dir.path());
        assert_eq!(grants.list("given-0", "").unwrap().len(), 1);
        assert_eq!(grants.open("given-0", "b.log").unwrap().1, 5);
        assert_eq!(grants.open("given-0", "c.log").unwrap_err().code(), "not-found");
        assert_eq!(grants.open("given-0", "../c.log").unwrap_err().code(), "malformed");
    }

    #[test]
    fn what_cannot_be_granted() {
        let dir = tempfile::tempdir().unwrap();
        for (name, path) in [("Logs", dir.path().to_path_buf()), ("a", dir.path().join("none"))] {
            FileGrants::new(vec![(name.into(), path)]).unwrap_err();
        }
        let twice = vec![("a".into(), dir.path().to_path_buf()), ("a".into(), dir.path().to_path_buf())];
        assert!(FileGrants::new(twice).unwrap_err().to_string().contains("named 'a'"));
        FileGrants::new(vec![("null".into(), "/dev/null".into())]).unwrap_err();
    }
}
