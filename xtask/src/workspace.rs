//! Where things are.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The folders that the tasks read and write, all absolute.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
    wasm: PathBuf,
}

impl Workspace {
    /// The workspace that this program was built from.
    ///
    /// The ready components lie in `target/wasm` of the workspace even when `CARGO_TARGET_DIR` points elsewhere, so
    /// that a plain `cargo build` finds them in either case.
    pub(crate) fn find() -> anyhow::Result<Workspace> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.parent().context("the xtask package lies in no workspace")?;
        if !root.join("Cargo.toml").is_file() {
            bail!(
                "there is no workspace at {} any more: run `cargo xtask` inside the checkout",
                root.display()
            );
        }
        let folder = |variable: &str, otherwise: &str| match env::var_os(variable) {
            Some(folder) if !folder.is_empty() => std::path::absolute(Path::new(&folder)),
            _ => Ok(root.join(otherwise)),
        };
        Ok(Workspace {
            root: root.to_owned(),
            target: folder("CARGO_TARGET_DIR", "target")?,
            wasm: folder("FIRSTFAULT_WASM_DIR", "target/wasm")?,
        })
    }

    /// The folder of the workspace's `Cargo.toml`.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where cargo builds the host.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// Where the ready components go.
    pub(crate) fn wasm(&self) -> &Path {
        &self.wasm
    }

    /// A program that cargo built for this machine.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.target.join("release").join(format!("{name}{}", env::consts::EXE_SUFFIX))
    }

    /// The names of the shipped plugins: the folders of `plugins/` that hold a package, sorted.
    pub(crate) fn plugins(&self) -> anyhow::Result<Vec<String>> {
        let folder = self.root.join("plugins");
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot list {}", folder.display()))? {
            let entry = entry?;
            if entry.path().join("Cargo.toml").is_file() {
                let name = entry.file_name().into_string();
                names.push(name.map_err(|it| anyhow::anyhow!("the folder name {it:?} is not UTF-8"))?);
            }
        }
        if names.is_empty() {
            bail!("there is no plugin in {}", folder.display());
        }
        names.sort();
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_workspace_and_its_plugins() {
        let workspace = Workspace::find().unwrap();
        assert!(workspace.root().join("xtask").is_dir());
        let plugins = workspace.plugins().unwrap();
        assert!(plugins.contains(&"xid".to_owned()));
        assert!(plugins.is_sorted());
    }
}
