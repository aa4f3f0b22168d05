//! What was given on the command line, made into folders and regular files that plugins can be granted.
//!
//! Standard input and pipes are copied to a private temporary folder ([`spooled`]), tar archives are taken apart into one
//! ([`archive`]), and files that are evidently no log are left out with the reason. The temporary folder goes when [`Prepared`] does.
//! [`converted`] makes lines of the exports and reports that plugins then attach.

pub mod archive;
pub mod converted;
pub mod spooled;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, bail};
use firstfault_model::diagnosis::NotRead;
use firstfault_model::source::Trust;
use firstfault_reader::bytes;
use firstfault_reader::recognise::{Content, recognise_file};

/// Name by which standard input is shown.
const STDIN: &str = "stdin";

/// One thing that was given.
#[derive(Debug, Clone)]
pub struct Given {
    /// Its name: of a file or a folder, of the folder within an archive.
    pub name: String,
    /// Where it would lie, had it been given as it is: tells things of equal names apart.
    pub origin: PathBuf,
    /// The folder or regular file to read.
    pub path: PathBuf,
    /// The same, if it is open already: what lies at the path by now does not matter.
    pub open: Option<Arc<OwnedFd>>,
    /// Who vouches for where it came from.
    pub trust: Trust,
}

impl Given {
    fn key(&self) -> (&str, &Path, &Path) {
        (&self.name, &self.origin, &self.path)
    }
}

/// Everything that was given.
#[derive(Debug, Default)]
pub struct Prepared {
    /// What plugins are granted, sorted by name.
    pub given: Vec<Given>,
    /// What is left out of it already.
    pub not_read: Vec<NotRead>,
    folder: Option<tempfile::TempDir>,
    folders: usize,
}

/// Prepares paths; `-` is standard input.
///
/// # Errors
/// A path that is not there or is nothing that can be read, or a temporary folder that cannot be written.
pub fn prepare(paths: &[PathBuf]) -> anyhow::Result<Prepared> {
    let mut prepared = Prepared::default();
    let mut whole = Vec::new();
    for path in paths {
        let one = look(path)?;
        if !whole.contains(&one) {
            whole.push(one);
        }
    }
    // The order in which paths are given decides nothing, not even the names of temporary folders.
    whole.sort();
    for one in whole {
        prepared.add(one)?;
    }
    prepared.given.sort_by(|a, b| a.key().cmp(&b.key()));
    prepared.not_read.sort();
    Ok(prepared)
}

/// Prepares what was opened already.
///
/// # Errors
/// Something that is neither a folder nor a regular file, or a temporary folder that cannot be written.
pub fn prepare_open(opened: Vec<Given>) -> anyhow::Result<Prepared> {
    let mut prepared = Prepared::default();
    for one in opened {
        if one.path.is_dir() { prepared.given.push(one) } else { prepared.file(one)? }
    }
    prepared.given.sort_by(|a, b| a.key().cmp(&b.key()));
    prepared.not_read.sort();
    Ok(prepared)
}

/// A path, and how it is to be read.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Looked {
    Stdin,
    Pipe(PathBuf),
    Folder(PathBuf),
    File(PathBuf),
}

fn look(path: &Path) -> anyhow::Result<Looked> {
    if path == Path::new("-") {
        return Ok(Looked::Stdin);
    }
    let shown = path.display();
    let kind = std::fs::metadata(path).with_context(|| format!("cannot read '{shown}'"))?.file_type();
    if kind.is_fifo() {
        return Ok(Looked::Pipe(path.to_owned()));
    }
    let whole = || std::fs::canonicalize(path).with_context(|| format!("cannot read '{shown}'"));
    if kind.is_dir() {
        Ok(Looked::Folder(whole()?))
    } else if kind.is_file() {
        Ok(Looked::File(whole()?))
    } else {
        let what = if kind.is_socket() { "socket" } else { "device" };
        bail!("cannot read '{shown}': it is a {what}; give a file, a folder, a pipe, or - for standard input")
    }
}

impl Prepared {
    fn add(&mut self, looked: Looked) -> anyhow::Result<()> {
        match looked {
            Looked::Folder(path) => self.given.push(given(&path)),
            Looked::File(path) => {
                let one = given(&path);
                self.file(one)?;
            }
            Looked::Stdin => {
                let input = io::stdin().lock();
                if io::IsTerminal::is_terminal(&input) {
                    bail!(
                        "standard input is a terminal; pipe a log into it, as in: dmesg | firstfault diagnose -"
                    );
                }
                self.spool(input, STDIN.to_owned())?;
            }
            Looked::Pipe(path) => {
                let pipe = File::open(&path).with_context(|| format!("cannot read '{}'", path.display()))?;
                self.spool(pipe, given(&path).name)?;
            }
        }
        Ok(())
    }

    fn spool(&mut self, input: impl io::Read, name: String) -> anyhow::Result<()> {
        let path = self.temporary()?.join(&name);
        let cut = spooled::copy(input, &path, spooled::MOST_BYTES)
            .with_context(|| format!("cannot keep what comes from {name} (TMPDIR names another folder)"))?;
        if cut {
            let reason = format!("cut off: what follows {} bytes is not read", spooled::MOST_BYTES);
            self.not_read.push(NotRead { path: name.clone(), reason });
        }
        self.file(Given {
            origin: Path::new("/").join(&name),
            name,
            path,
            open: None,
            trust: Trust::Unverified,
        })
    }

    /// A regular file: an archive, something that is no log, or what plugins find the meaning of.
    fn file(&mut self, one: Given) -> anyhow::Result<()> {
        let opened = File::open(&one.path).and_then(|file| Ok((recognise_file(&file)?, file)));
        let (content, file) = match opened {
            Ok(opened) => opened,
            Err(e) => {
                self.not_read.push(NotRead { path: one.name, reason: format!("cannot be read: {e}") });
                return Ok(());
            }
        };
        match content {
            Content::NoLog(what) => {
                self.not_read.push(NotRead { path: one.name, reason: what.to_owned() });
                Ok(())
            }
            Content::Tar => self.archive(&one, file),
            Content::Lines if archive::stem(&one.name).is_some() => {
                let reason = "named as a tar archive and is none".to_owned();
                self.not_read.push(NotRead { path: one.name, reason });
                Ok(())
            }
            _ => {
                self.given.push(one);
                Ok(())
            }
        }
    }

    fn archive(&mut self, one: &Given, file: File) -> anyhow::Result<()> {
        let into = self.temporary()?;
        let packed = file.metadata()?.len();
        let encoding = bytes::encoding(&file)?;
        let stream = bytes::decoder(file, encoding)?;
        let unpacked = archive::unpack(stream, packed, &into, &archive::Limits::default())
            .with_context(|| format!("cannot take '{}' apart (TMPDIR names another folder)", one.name))?;
        self.not_read.extend(unpacked.not_read);
        if let Some(reason) = unpacked.broken {
            self.not_read.push(NotRead { path: one.name.clone(), reason });
        }
        let name =
            unpacked.top.clone().unwrap_or_else(|| archive::stem(&one.name).unwrap_or(&one.name).to_owned());
        let path = unpacked.top.map_or_else(|| into.clone(), |top| into.join(top));
        self.given.push(Given {
            origin: one.origin.with_file_name(&name),
            name,
            path,
            open: None,
            trust: one.trust,
        });
        Ok(())
    }

    /// A new folder that nobody else can look into.
    fn temporary(&mut self) -> anyhow::Result<PathBuf> {
        let make = || {
            let private = std::fs::Permissions::from_mode(0o700);
            tempfile::Builder::new().prefix("firstfault-").permissions(private).tempdir()
        };
        let folder = match &mut self.folder {
            Some(folder) => folder,
            none => none.insert(make().context("cannot make a temporary folder")?),
        };
        let path = folder.path().join(self.folders.to_string());
        std::fs::create_dir(&path).context("cannot make a temporary folder")?;
        self.folders += 1;
        Ok(path)
    }
}

fn given(path: &Path) -> Given {
    let name = path.file_name().map_or_else(|| "/".to_owned(), |n| n.to_string_lossy().into_owned());
    Given { name, origin: path.to_owned(), path: path.to_owned(), open: None, trust: Trust::Unverified }
}
