//! The private folder of compiled code of a site's own plugins.
//!
//! Compiled code is run as it is. So the folder and each file in it must belong to this user, and nobody else may be able
//! to write there; anything else is ignored and compiled anew.

use std::fs::{DirBuilder, File};
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

/// Bytes of one file.
const MAX_FILE: u64 = 512 << 20;

/// A folder that was found private.
#[derive(Debug)]
pub(crate) struct CodeCache {
    path: PathBuf,
    folder: OwnedFd,
}

/// Bytes that lay in the private folder.
#[derive(Debug)]
pub(crate) struct Stored(Vec<u8>);

impl Stored {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl CodeCache {
    /// Opens the folder, and makes it if it is not there.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::open(path, flags, Mode::empty())?;
        private(&File::from(folder.try_clone()?), 0o077)?;
        Ok(Self { path: path.to_path_buf(), folder })
    }

    /// A file by its name; `None` if there is none that can be trusted.
    pub(crate) fn get(&self, name: &str) -> Option<Stored> {
        match self.read(name) {
            Ok(bytes) => Some(Stored(bytes)),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(e) => {
                tracing::warn!(folder = %self.path.display(), name, error = %e, "stored code is not used");
                None
            }
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.folder, name, flags, Mode::empty())?);
        private(&file, 0o022)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a regular file"));
        }
        let mut bytes = Vec::new();
        file.take(MAX_FILE).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Stores a file; another process that stores the same at the same time does no harm.
    pub(crate) fn put(&self, name: &str, bytes: &[u8]) {
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(&self.path)?;
            file.write_all(bytes)?;
            file.as_file().sync_data()?;
            file.persist(self.path.join(name))?;
            Ok(())
        };
        if let Err(e) = write() {
            tracing::warn!(folder = %self.path.display(), name, error = %e, "compiled code could not be stored");
        }
    }
}

/// Belongs to this user, and has none of the permissions in `refused`.
fn private(file: &File, refused: u32) -> io::Result<()> {
    let metadata = file.metadata()?;
    let fault = if metadata.uid() != rustix::process::geteuid().as_raw() {
        "it belongs to another user"
    } else if metadata.mode() & refused != 0 {
        "others have access to it; run chmod go= on it"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, fault))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn chmod(path: &Path, mode: u32) {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_put_is_got() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/cache");
        let cache = CodeCache::open(&path).unwrap();
        assert!(cache.get("a").is_none());
        cache.put("a", b"1");
        cache.put("a", b"2");
        assert_eq!(cache.get("a").unwrap().bytes(), b"2");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(&path).unwrap().count(), 1);
    }

    #[test]
    fn what_others_can_write_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cache");
        let cache = CodeCache::open(&path).unwrap();
        cache.put("a", b"1");
        chmod(&path.join("a"), 0o622);
        assert!(cache.get("a").is_none());
        std::fs::write(dir.path().join("b"), "2").unwrap();
        symlink("../b", path.join("b")).unwrap();
        assert!(cache.get("b").is_none());
        chmod(&path, 0o770);
        assert!(CodeCache::open(&path).unwrap_err().to_string().contains("chmod"));
    }
}
