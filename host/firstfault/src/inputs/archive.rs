//! Takes a tar archive apart, as far as its regular files go. Whoever made the archive is not trusted: files are made only in a folder
//! that is new and private, of path components that are checked one by one; links, devices and the like are never made; and what
//! it may cost in bytes and entries is bounded, whatever its headers say.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use firstfault_model::diagnosis::NotRead;
use tar::EntryType;

/// Reasons of entries that stay behind; the first one is what the files of a folder are refused with.
const LINK: &str = "a link: give what it points to instead";
const NOT_REGULAR: &str = "not a regular file";
const OUTSIDE: &str = "leads out of the archive";
const NAME: &str = "not a name that a file can have";

/// Names of archives.
const ENDINGS: &[&str] = &[".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst"];

/// What an archive may cost.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of all files.
    pub bytes: u64,
    /// Bytes of one file.
    pub file: u64,
    /// Entries.
    pub entries: u64,
    /// Bytes for each byte of the compressed archive, beyond `free`.
    pub ratio: u64,
    /// Bytes for which the ratio does not matter.
    pub free: u64,
    /// Bytes of headers for one entry: long names and attributes are held in memory.
    pub header: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes: 128 << 30,
            file: 64 << 30,
            entries: 200_000,
            ratio: 500,
            free: 1 << 30,
            header: 1 << 20,
        }
    }
}

/// What came of an archive.
#[derive(Debug, Default)]
pub struct Unpacked {
    /// The one folder that holds everything, if there is one.
    pub top: Option<String>,
    /// Entries that stayed behind, as paths below `top`.
    pub not_read: Vec<NotRead>,
    /// Why it was not read to its end.
    pub broken: Option<String>,
}

/// The name of an archive without its ending; `None` if it has none of an archive.
#[must_use]
pub fn stem(name: &str) -> Option<&str> {
    ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).filter(|stem| !stem.is_empty())
}

/// Takes apart a decompressed archive that has `packed` bytes as it is stored. What comes before damage is kept.
///
/// # Errors
/// The folder cannot be written.
pub fn unpack(stream: impl Read, packed: u64, into: &Path, limits: &Limits) -> io::Result<Unpacked> {
    let left = Rc::new(Cell::new(0));
    let mut archive = tar::Archive::new(Metered { stream, left: Rc::clone(&left) });
    let mut out = Unpacked::default();
    let mut taken = Taken { into, tops: BTreeSet::new(), lone: true, bytes: 0 };
    let most = limits.bytes.min(packed.saturating_mul(limits.ratio).max(limits.free));
    left.set(limits.header);
    let mut entries = archive.entries()?;
    for number in 0_u64.. {
        left.set(limits.header);
        let mut entry = match entries.next() {
            None => break,
            Some(Ok(entry)) => entry,
            Some(Err(e)) => {
                out.broken = Some(format!("damaged or cut off after {number} entries: {e}"));
                break;
            }
        };
        if number == limits.entries {
            out.broken = Some(format!("more than {number} entries; the rest is not read"));
            break;
        }
        let raw = entry.path_bytes().into_owned();
        let kind = entry.header().entry_type();
        let size = entry.size();
        if matches!(kind, EntryType::XGlobalHeader) {
            continue;
        }
        let place = components(&raw);
        let refused = match (&place, kind) {
            (Err(reason), _) => Some(*reason),
            (_, EntryType::Directory) => None,
            (_, EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse) => None,
            (_, EntryType::Symlink | EntryType::Link) => Some(LINK),
            _ => Some(NOT_REGULAR),
        };
        left.set(u64::MAX);
        if let (Ok(parts), None) = (&place, refused) {
            taken.note(parts, kind == EntryType::Directory);
            if kind == EntryType::Directory || parts.is_empty() {
                continue;
            }
            let room = most.saturating_sub(taken.bytes);
            let too_large = size > limits.file;
            if !too_large && size <= room {
                match taken.file(parts, &mut entry)? {
                    Kept::Whole => continue,
                    Kept::NoPlace => out.skip(parts.join("/"), NAME.to_owned()),
                    Kept::Broken(e) => {
                        out.broken = Some(format!("damaged or cut off in '{}': {e}", parts.join("/")));
                        break;
                    }
                }
            } else if too_large {
                out.skip(parts.join("/"), format!("larger than {} bytes", limits.file));
            } else {
                out.broken = Some(format!(
                    "its files have more than {most} bytes together; those from '{}' on are not read",
                    parts.join("/")
                ));
                break;
            }
        } else if let Some(reason) = refused {
            if let Ok(parts) = &place {
                taken.note(parts, false);
            }
            out.skip(shown(&raw), reason.to_owned());
        }
        // What is left of it is passed over here, where it is not taken for headers. It costs time as what is taken does.
        if size > most.saturating_sub(taken.bytes) {
            out.broken =
                Some(format!("its files have more than {most} bytes together; the rest is not read"));
            break;
        }
        taken.bytes += size;
        if let Err(e) = io::copy(&mut entry, &mut io::sink()) {
            out.broken = Some(format!("damaged or cut off after {number} entries: {e}"));
            break;
        }
    }
    out.top = taken.top();
    if let Some(top) = &out.top {
        let prefix = format!("{top}/");
        for entry in &mut out.not_read {
            if let Some(below) = entry.path.strip_prefix(&prefix) {
                entry.path = below.to_owned();
            }
        }
    }
    Ok(out)
}

impl Unpacked {
    fn skip(&mut self, path: String, reason: String) {
        self.not_read.push(NotRead { path, reason });
    }
}

/// The components of a path, of which `.` says nothing.
fn components(path: &[u8]) -> Result<Vec<&str>, &'static str> {
    let path = std::str::from_utf8(path).map_err(|_| NAME)?;
    if path.starts_with('/') {
        return Err(OUTSIDE);
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if parts.contains(&"..") {
        return Err(OUTSIDE);
    }
    let fits = path.len() <= 4096 && parts.iter().all(|part| part.len() <= 255 && !part.contains('\0'));
    if fits { Ok(parts) } else { Err(NAME) }
}

fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    let text = text.strip_prefix("./").unwrap_or(&text);
    text.chars()
        .take(500)
        .flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] })
        .collect()
}

/// What was taken so far.
struct Taken<'a> {
    into: &'a Path,
    tops: BTreeSet<String>,
    /// Whether all that was taken lies within one folder.
    lone: bool,
    bytes: u64,
}

/// How the writing of a file ended.
enum Kept {
    Whole,
    /// There is a folder of this name, or a file on the way.
    NoPlace,
    /// The archive ends or is damaged; what came is kept.
    Broken(io::Error),
}

impl Taken<'_> {
    fn note(&mut self, parts: &[&str], folder: bool) {
        if let Some(top) = parts.first() {
            self.tops.insert((*top).to_owned());
            self.lone &= parts.len() > 1 || folder;
        }
    }

    /// The folder that everything lies in. One that is itself a part of an incident folder is none to leave out.
    fn top(&self) -> Option<String> {
        let top = self.tops.first().filter(|_| self.tops.len() == 1 && self.lone)?;
        (top != "logs" && self.into.join(top).is_dir()).then(|| top.clone())
    }

    fn file(&mut self, parts: &[&str], entry: &mut impl Read) -> io::Result<Kept> {
        let path: PathBuf = self.into.join(parts.iter().collect::<PathBuf>());
        let no_place = |e: &io::Error| {
            use io::ErrorKind::{AlreadyExists, InvalidFilename, IsADirectory, NotADirectory};
            matches!(e.kind(), AlreadyExists | InvalidFilename | IsADirectory | NotADirectory)
        };
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| File::create(&path));
        // A later entry of a name takes the place of an earlier one, as `tar -x` does.
        let mut file = match made {
            Ok(file) => file,
            Err(e) if no_place(&e) => return Ok(Kept::NoPlace),
            Err(e) => return Err(e),
        };
        let mut block = vec![0; 256 << 10];
        loop {
            match entry.read(&mut block) {
                Ok(0) => return Ok(Kept::Whole),
                Ok(have) => {
                    self.bytes += have as u64;
                    file.write_all(block.get(..have).unwrap_or_default())?;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Ok(Kept::Broken(e)),
            }
        }
    }
}

/// Gives no more than a number of bytes that is set anew for each entry: headers claim any length for names, and a few compressed bytes
/// can become as many as they like.
struct Metered<R> {
    stream: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left.get()).unwrap_or(usize::MAX).min(out.len());
        if most == 0 && !out.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the names of an entry are too long"));
        }
        let have = self.stream.read(out.get_mut(..most).unwrap_or_default())?;
        if self.left.get() != u64::MAX {
            self.left.set(self.left.get() - have as u64);
        }
        Ok(have)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An archive of (kind, path, bytes); paths are written as they are.
    fn tar(entries: &[(EntryType, &str, &[u8])]) -> Vec<u8> {
        let mut out = tar::Builder::new(Vec::new());
        for (kind, path, bytes) in entries {
            let mut header = tar::Header::new_gnu();
            header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_entry_type(*kind);
            header.set_size(bytes.len() as u64);
            if matches!(kind, EntryType::Symlink | EntryType::Link) {
                header.set_link_name("/etc/passwd").unwrap();
            }
            header.set_cksum();
            out.append(&header, *bytes).unwrap();
        }
        out.into_inner().unwrap()
    }

    fn unpacked(archive: &[u8], limits: &Limits) -> (Unpacked, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let into = folder.path().join("in");
        std::fs::create_dir(&into).unwrap();
        let out = unpack(archive, archive.len() as u64, &into, limits).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside the folder");
        let mut files = Vec::new();
        let mut folders = vec![into.clone()];
        while let Some(below) = folders.pop() {
            for entry in std::fs::read_dir(below).unwrap().map(Result::unwrap) {
                let kind = entry.file_type().unwrap();
                assert!(kind.is_dir() || kind.is_file(), "{:?}", entry.path());
                if kind.is_dir() {
                    folders.push(entry.path());
                } else {
                    let path = entry.path().strip_prefix(&into).unwrap().display().to_string();
                    files.push(format!("{path} {}", entry.metadata().unwrap().len()));
                }
            }
        }
        files.sort();
        (out, files)
    }

    fn reasons(out: &Unpacked) -> Vec<String> {
        out.not_read.iter().map(|n| format!("{}: {}", n.path, n.reason)).collect()
    }

    const FILE: EntryType = EntryType::Regular;

    #[test]
    fn files_are_taken_and_one_folder_left_out() {
        let archive = tar(&[
            (EntryType::Directory, "./incident/", b""),
            (FILE, "./incident/logs/n1/app.log", b"one"),
            (FILE, "incident/context.json", b"{}"),
            (FILE, "incident/context.json", b"{ }"),
        ]);
        let (out, files) = unpacked(&archive, &Limits::default());
        assert_eq!(out.top.as_deref(), Some("incident"));
        assert_eq!(files, ["incident/context.json 3", "incident/logs/n1/app.log 3"]);
        assert!(out.not_read.is_empty() && out.broken.is_none());
        for entries in [
            &[(FILE, "logs/n1/app.log", b"x".as_slice())][..],
            &[(FILE, "a/x", b"x"), (FILE, "b/x", b"x")],
            &[(FILE, "x", b"x")],
        ] {
            assert_eq!(unpacked(&tar(entries), &Limits::default()).0.top, None);
        }
    }

    #[test]
    fn nothing_but_files_below_the_folder_is_made() {
        let archive = tar(&[
            (FILE, "../outside", b"x"),
            (FILE, "a/../../outside", b"x"),
            (FILE, "/etc/outside", b"x"),
            (EntryType::Symlink, "a/link", b""),
            (FILE, "a/link/below", b"x"),
            (EntryType::Link, "a/hard", b""),
            (EntryType::Fifo, "a/fifo", b""),
            (EntryType::Char, "a/device", b""),
            (FILE, "a/log", b"x"),
            (FILE, "a/log/below", b"x"),
            (FILE, "a", b"x"),
        ]);
        let (out, files) = unpacked(&archive, &Limits::default());
        assert_eq!(files, ["a/link/below 1", "a/log 1"]);
        let mut told = reasons(&out);
        told.sort();
        assert_eq!(
            told,
            [
                "../outside: leads out of the archive",
                "/etc/outside: leads out of the archive",
                "a/../../outside: leads out of the archive",
                "a/device: not a regular file",
                "a/fifo: not a regular file",
                "a/hard: a link: give what it points to instead",
                "a/link: a link: give what it points to instead",
                "a/log/below: not a name that a file can have",
                "a: not a name that a file can have",
            ]
        );
    }

    #[test]
    fn costs_are_bounded() {
        let large = vec![b'x'; 3000];
        let archive = tar(&[(FILE, "a", &large), (FILE, "b", b"x"), (FILE, "c", &large)]);
        let few = Limits { entries: 2, ..Limits::default() };
        let (out, files) = unpacked(&archive, &few);
        assert!(out.broken.unwrap().contains("more than 2 entries") && files.len() == 2);
        let (out, files) = unpacked(&archive, &Limits { file: 100, ..Limits::default() });
        assert_eq!(files, ["b 1"]);
        assert_eq!(reasons(&out), ["a: larger than 100 bytes", "c: larger than 100 bytes"]);
        let (out, files) = unpacked(&archive, &Limits { bytes: 4000, ..Limits::default() });
        assert!(out.broken.unwrap().contains("'c'") && files == ["a 3000", "b 1"]);
        let folder = tempfile::tempdir().unwrap();
        let limits = Limits { ratio: 10, free: 0, ..Limits::default() };
        let out = unpack(archive.as_slice(), 50, folder.path(), &limits).unwrap();
        assert!(out.broken.unwrap().contains("more than 500 bytes"));
    }

    #[test]
    fn names_that_are_too_long_are_not_held() {
        let mut archive = tar(&[(EntryType::GNULongName, "././@LongLink", &vec![b'a'; 100_000])]);
        archive.truncate(archive.len() - 1024);
        archive.extend(tar(&[(FILE, "b", b"x")]));
        let (out, files) = unpacked(&archive, &Limits { header: 10_000, ..Limits::default() });
        assert!(out.broken.is_some() && files.is_empty());
        let (out, files) = unpacked(&archive, &Limits::default());
        assert_eq!((files.len(), out.not_read.len()), (0, 1));
    }

    #[test]
    fn what_comes_before_the_damage_is_kept() {
        let archive = tar(&[(FILE, "a/x", b"12345"), (FILE, "a/y", &[b'y'; 2000])]);
        let (out, files) = unpacked(&archive[..2048], &Limits::default());
        assert!(out.broken.unwrap().contains("cut off") && files == ["a/x 5", "a/y 512"], "{files:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        /// Whatever the bytes, nothing is made outside, and it ends.
        #[test]
        fn any_bytes(changes in prop::collection::vec((0..4096_usize, any::<u8>()), 0..12), cut in 0..4096_usize, repair: bool) {
            let mut archive = tar(&[(FILE, "a/x", b"12345"), (EntryType::XHeader, "h", b"20 path=../../../x1\n"), (FILE, "b", b"x")]);
            for (at, byte) in changes {
                if let Some(old) = archive.get_mut(at) {
                    *old = byte;
                }
            }
            if repair && archive.len() >= 512 {
                let mut header = tar::Header::new_old();
                header.as_mut_bytes().copy_from_slice(&archive[..512]);
                header.set_cksum();
                archive[..512].copy_from_slice(header.as_bytes());
            }
            archive.truncate(archive.len().saturating_sub(cut / 4));
            unpacked(&archive, &Limits { bytes: 1 << 20, ..Limits::default() });
        }
    }
}
