//! Paths that clients name: below granted roots only, opened beneath, and only what the client could read itself.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use firstfault_beneath as beneath;
use firstfault_model::context::ContextDocument;
use firstfault_model::source::Trust;
use nix::unistd::User;
use rustix::fs::fstat;

use crate::config::Root;
use crate::diagnoser::Opened;

/// Words of a template and what they stand for.
const WORDS: &[&str] = &["id", "cluster", "user", "name"];

/// Who names a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Namer {
    /// The user's number, if it is one of this machine.
    pub(crate) uid: Option<u32>,
    /// Whether the operator vouches for it.
    pub(crate) trusted: bool,
}

/// Why a path is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    /// It is below no root.
    #[error("it is below none of the granted roots")]
    Outside,
    /// It is another user's.
    #[error("it belongs to another user")]
    NotYours,
    /// It cannot be opened.
    #[error("{0}")]
    Open(#[from] beneath::OpenError),
}

/// The granted roots, the deepest first.
#[derive(Debug)]
pub(crate) struct Roots(Vec<Root>);

impl Roots {
    pub(crate) fn new(roots: &[Root]) -> Self {
        let mut roots = roots.to_vec();
        roots.sort_by(|a, b| {
            b.path.as_os_str().len().cmp(&a.path.as_os_str().len()).then(a.path.cmp(&b.path))
        });
        Self(roots)
    }

    /// Opens a folder or regular file.
    pub(crate) fn open(&self, path: &str, namer: Namer) -> Result<Opened, PathError> {
        for root in &self.0 {
            let Some(rest) = root.path.to_str().and_then(|r| path.strip_prefix(r)) else { continue };
            let rest = if root.path == Path::new("/") { Some(rest) } else { rest.strip_prefix('/') };
            if let Some(rest) = rest {
                return open_below(root, rest, namer, Path::new(path));
            }
        }
        Err(PathError::Outside)
    }

    /// Opens what lies at the places of an attempt's logs. What is not there is left out.
    pub(crate) fn of_job(
        &self,
        context: &ContextDocument,
        namer: Namer,
    ) -> Vec<(PathBuf, Result<Opened, PathError>)> {
        let mut out = Vec::new();
        for root in &self.0 {
            let Some(rest) = root.job.as_deref().and_then(|template| expand(template, context)) else {
                continue;
            };
            let path = root.path.join(&rest);
            match open_below(root, &rest, namer, &path) {
                Err(PathError::Open(error)) if error.code() == "not-found" => {}
                opened => out.push((path, opened)),
            }
        }
        out
    }
}

fn open_below(root: &Root, rest: &str, namer: Namer, path: &Path) -> Result<Opened, PathError> {
    let folder = beneath::open_root(&root.path).map_err(beneath::OpenError::from)?;
    beneath::check_path(rest)?;
    let file: OwnedFd = match beneath::open_folder(&folder, rest) {
        Ok(folder) => folder,
        Err(beneath::OpenError::System(e)) if e.kind() == std::io::ErrorKind::NotADirectory => {
            beneath::open_file(&folder, rest)?.0.into()
        }
        Err(error) => return Err(error.into()),
    };
    let owner = fstat(&file).map_err(|e| beneath::OpenError::from(std::io::Error::from(e)))?.st_uid;
    // What root owns was put there by the operator.
    if !(namer.trusted || root.shared || owner == 0 || namer.uid == Some(owner)) {
        return Err(PathError::NotYours);
    }
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    Ok(Opened { name, origin: path.to_owned(), file, trust: root.trust })
}

/// The number of a user of this machine.
pub(crate) fn uid_of(name: &str) -> Option<u32> {
    User::from_name(name).ok().flatten().map(|user| user.uid.as_raw())
}

/// Looks whether a template is one.
pub(crate) fn check_template(template: &str) -> Result<(), String> {
    let mut rest = template;
    while let Some((_, after)) = rest.split_once('{') {
        let (word, after) = after.split_once('}').ok_or("a '{' without its '}'")?;
        if !WORDS.contains(&word) {
            return Err(format!("'{{{word}}}' is not known: {{{}}}", WORDS.join("}, {")));
        }
        rest = after;
    }
    beneath::check_path(template).map_err(|e| e.to_string())
}

/// The path of an attempt; none if a word is not known or could lead elsewhere.
fn expand(template: &str, context: &ContextDocument) -> Option<String> {
    let mut out = template.to_owned();
    let values = [&context.id, &context.cluster, &context.user, &context.name];
    for (word, value) in WORDS.iter().zip(values) {
        let key = format!("{{{word}}}");
        if out.contains(&key) {
            let value = value.as_deref()?;
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_.+@".contains(c);
            if value.is_empty() || value.starts_with('.') || !value.chars().all(plain) {
                return None;
            }
            out = out.replace(&key, value);
        }
    }
    Some(out)
}

/// A folder of the daemon's own.
pub(crate) fn own_folder(path: &Path, name: &str, trust: Trust) -> std::io::Result<Opened> {
    let file = std::fs::File::open(path)?.into();
    Ok(Opened { name: name.to_owned(), origin: Path::new("/").join(name), file, trust })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn roots(dir: &Path, shared: bool) -> Roots {
        let root =
            Root { path: dir.join("jobs"), job: Some("{user}/{id}".into()), trust: Trust::Workload, shared };
        Roots::new(&[root])
    }

    fn tree() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("jobs/ada/7")).unwrap();
        std::fs::create_dir_all(dir.path().join("jobs-of-others")).unwrap();
        std::fs::write(dir.path().join("jobs/ada/train.log"), "x").unwrap();
        std::fs::write(dir.path().join("secret"), "x").unwrap();
        symlink("../../secret", dir.path().join("jobs/ada/link")).unwrap();
        dir
    }

    const OPERATOR: Namer = Namer { uid: None, trusted: true };

    #[test]
    fn only_what_is_below_a_root_is_opened() {
        let dir = tree();
        let roots = roots(dir.path(), false);
        let at = |rest: &str| format!("{}/{rest}", dir.path().display());
        roots.open(&at("jobs/ada/7"), OPERATOR).unwrap();
        assert_eq!(roots.open(&at("jobs/ada/train.log"), OPERATOR).unwrap().name, "train.log");
        for path in [
            "secret",
            "jobs",
            "jobs-of-others",
            "jobs/",
            "jobs/../secret",
            "jobs/ada/link",
            "jobs/ada/none",
            "jobs/./ada",
            "jobs//ada",
            "jobs/ada/7\0",
        ] {
            roots.open(&at(path), OPERATOR).unwrap_err();
        }
        for path in ["", "/", "jobs/ada/7", "/etc/passwd", "/proc/self/fd/0"] {
            roots.open(path, OPERATOR).unwrap_err();
        }
    }

    #[test]
    fn what_others_own_is_not_theirs_to_name() {
        let dir = tree();
        let path = format!("{}/jobs/ada/7", dir.path().display());
        let owner = fstat(std::fs::File::open(&path).unwrap()).unwrap().st_uid;
        let stranger = Namer { uid: Some(owner + 1), trusted: false };
        let is_root = owner == 0;
        assert_eq!(roots(dir.path(), false).open(&path, stranger).is_ok(), is_root);
        assert!(roots(dir.path(), true).open(&path, stranger).is_ok());
        assert!(roots(dir.path(), false).open(&path, Namer { uid: Some(owner), trusted: false }).is_ok());
    }

    #[test]
    fn the_place_of_a_job_follows_from_what_is_known() {
        let dir = tree();
        let roots = roots(dir.path(), false);
        let of = |user: &str, id: &str| {
            let context = ContextDocument {
                user: Some(user.into()),
                id: Some(id.into()),
                ..ContextDocument::default()
            };
            roots.of_job(&context, OPERATOR).len()
        };
        assert_eq!(
            (of("ada", "7"), of("ada", "8"), of("..", "7"), of("ada/7", "x"), of("", "7")),
            (1, 0, 0, 0, 0)
        );
        assert!(
            check_template("{id").is_err()
                && check_template("{pid}").is_err()
                && check_template("../{id}").is_err()
        );
    }
}
