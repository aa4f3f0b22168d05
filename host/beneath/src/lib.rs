//! Opens files beneath a folder and nowhere else: no `..`, no absolute path, no link on the way, no device, no FIFO.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat, openat2};
use rustix::io::Errno;

/// Bytes of a path.
const MAX_PATH: usize = 4096;
/// How often a lookup that a concurrent rename disturbed is repeated.
const ATTEMPTS: usize = 16;

/// Why something cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The path is not one that this interface takes.
    #[error("{0}")]
    Path(&'static str),
    /// It is there and is not what was asked for.
    #[error("{0}")]
    Kind(&'static str),
    /// The operating system refuses.
    #[error("{0}")]
    System(#[from] io::Error),
}

impl OpenError {
    /// The code of the plugin interface.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Path(_) => "malformed",
            Self::Kind(_) => "denied",
            Self::System(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                "not-found"
            }
            Self::System(e) if e.kind() == io::ErrorKind::PermissionDenied => "denied",
            Self::System(_) => "unavailable",
        }
    }
}

impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::System(e) => e,
            OpenError::Path(what) => Self::new(io::ErrorKind::InvalidInput, what),
            OpenError::Kind(what) => Self::new(io::ErrorKind::PermissionDenied, what),
        }
    }
}

/// Opens a folder that the operator named, to open others beneath it. Links in this path are the operator's and followed.
pub fn open_root(path: &std::path::Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Checks a relative path: non-empty components between `/`, none of them `.` or `..`.
pub fn check_path(path: &str) -> Result<(), OpenError> {
    if path.is_empty() {
        return Err(OpenError::Path("the path is empty"));
    }
    if path.len() > MAX_PATH {
        return Err(OpenError::Path("the path has more than 4096 bytes"));
    }
    if path.starts_with('/') {
        return Err(OpenError::Path("the path is absolute; paths are relative to their root"));
    }
    if path.contains('\0') {
        return Err(OpenError::Path("the path contains a NUL"));
    }
    for component in path.split('/') {
        match component {
            "" => return Err(OpenError::Path("the path has an empty component")),
            "." | ".." => return Err(OpenError::Path("the path has a component '.' or '..'")),
            _ => {}
        }
    }
    Ok(())
}

/// Opens a regular file for reading; also returns its size.
pub fn open_file(root: impl AsFd, path: &str) -> Result<(File, u64), OpenError> {
    check_path(path)?;
    // Looking first: merely opening a device may already do something.
    regular(&fstat(lookup(root.as_fd(), path, OFlags::PATH | OFlags::NOFOLLOW)?).map_err(io::Error::from)?)?;
    let fd = lookup(root.as_fd(), path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
    let stat = fstat(&fd).map_err(io::Error::from)?;
    regular(&stat)?;
    Ok((File::from(fd), u64::try_from(stat.st_size).unwrap_or(0)))
}

/// Opens a regular file that is open already once more, with a position of its own; also returns its size.
pub fn reopen_file(file: &OwnedFd) -> Result<(File, u64), OpenError> {
    regular(&fstat(file).map_err(io::Error::from)?)?;
    let again = File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let size = again.metadata()?.len();
    Ok((again, size))
}

/// Opens a folder for listing; `""` is the root itself.
pub fn open_folder(root: impl AsFd, path: &str) -> Result<OwnedFd, OpenError> {
    let path = if path.is_empty() {
        "."
    } else {
        check_path(path)?;
        path
    };
    lookup(root.as_fd(), path, OFlags::RDONLY | OFlags::DIRECTORY)
}

fn regular(stat: &Stat) -> Result<(), OpenError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Symlink => Err(OpenError::Kind("it is a link, and links are not followed")),
        FileType::Directory => Err(OpenError::Kind("it is a folder, not a file")),
        _ => Err(OpenError::Kind("it is not a regular file")),
    }
}

fn lookup(root: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, OpenError> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    for _ in 0..ATTEMPTS {
        match openat2(root.as_fd(), path, flags | OFlags::CLOEXEC, Mode::empty(), resolve) {
            Ok(fd) => return Ok(fd),
            Err(Errno::AGAIN | Errno::INTR) => {}
            // Old kernels do not have the call, and some sandboxes forbid it.
            Err(Errno::NOSYS | Errno::PERM) => return by_component(root, path, flags),
            Err(e) => return Err(refused(e)),
        }
    }
    Err(refused(Errno::AGAIN))
}

/// The same without `openat2`: one component at a time, none of which may be a link.
fn by_component(root: impl AsFd, path: &str, flags: OFlags) -> Result<OwnedFd, OpenError> {
    let step = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (folders, last) = path.rsplit_once('/').unwrap_or(("", path));
    let mut at: Option<OwnedFd> = None;
    for component in folders.split('/').filter(|c| !c.is_empty()) {
        let next = match &at {
            None => openat(root.as_fd(), component, step, Mode::empty()),
            Some(folder) => openat(folder, component, step, Mode::empty()),
        };
        at = Some(next.map_err(refused)?);
    }
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match &at {
        None => openat(root.as_fd(), last, flags, Mode::empty()),
        Some(folder) => openat(folder, last, flags, Mode::empty()),
    }
    .map_err(refused)
}

fn refused(errno: Errno) -> OpenError {
    match errno {
        Errno::LOOP | Errno::XDEV => OpenError::Kind("a link is on the way, and links are not followed"),
        other => OpenError::System(other.into()),
    }
}

/// Looks at one entry of an open folder without following it.
pub fn stat_entry(folder: impl AsFd, name: &std::ffi::CStr) -> io::Result<Stat> {
    Ok(rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Whether a file lies at an absolute path that the operator gave.
pub fn is_regular(path: &std::path::Path) -> io::Result<bool> {
    let stat = rustix::fs::statat(CWD, path, rustix::fs::AtFlags::empty())?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, OwnedFd) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("root/a/b")).unwrap();
        std::fs::write(dir.path().join("outside"), "secret").unwrap();
        std::fs::write(dir.path().join("root/a/b/log"), "line\n").unwrap();
        symlink("../../outside", dir.path().join("root/a/out")).unwrap();
        symlink("b/log", dir.path().join("root/a/in")).unwrap();
        symlink("a", dir.path().join("root/link")).unwrap();
        symlink("/etc", dir.path().join("root/etc")).unwrap();
        let fifo = dir.path().join("root/fifo");
        rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let fd = open_root(&dir.path().join("root")).unwrap();
        (dir, fd)
    }

    #[test]
    fn a_file_beneath_is_opened() {
        let (_dir, root) = folder();
        let (mut file, size) = open_file(&root, "a/b/log").unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!((text.as_str(), size), ("line\n", 5));
    }

    #[test]
    fn nothing_else_is() {
        let (_dir, root) = folder();
        for (path, code) in [
            ("", "malformed"),
            ("/etc/passwd", "malformed"),
            ("../outside", "malformed"),
            ("a/../a/b/log", "malformed"),
            ("a//b/log", "malformed"),
            ("./a/b/log", "malformed"),
            ("a/b/log/", "malformed"),
            ("a/b/log\0", "malformed"),
            ("a/out", "denied"),
            ("a/in", "denied"),
            ("link/b/log", "denied"),
            ("etc/passwd", "denied"),
            ("fifo", "denied"),
            ("a/b", "denied"),
            ("a/none", "not-found"),
            ("a/b/log/x", "not-found"),
        ] {
            let error = open_file(&root, path).unwrap_err();
            assert_eq!(error.code(), code, "{path}: {error}");
        }
        assert!(open_file(&root, &"x/".repeat(4000)).is_err());
    }

    #[test]
    fn the_same_without_openat2() {
        let (_dir, root) = folder();
        let flags = OFlags::RDONLY | OFlags::NONBLOCK;
        by_component(&root, "a/b/log", flags).unwrap();
        by_component(&root, ".", flags | OFlags::DIRECTORY).unwrap();
        for path in ["a/out", "a/in", "link/b/log", "etc/passwd", "a/none"] {
            by_component(&root, path, flags).unwrap_err();
        }
    }

    #[test]
    fn folders() {
        let (_dir, root) = folder();
        open_folder(&root, "").unwrap();
        open_folder(&root, "a/b").unwrap();
        for path in ["..", "link", "etc", "a/b/log", "fifo"] {
            open_folder(&root, path).unwrap_err();
        }
    }
}
