//! The compiler targets that the plugins need, fetched when they are missing.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::run;
use crate::workspace::Workspace;

/// The target of every shipped plugin: it has no system to call, so a plugin imports nothing but firstfault.
pub(crate) const PLUGIN: &str = "wasm32-unknown-unknown";

/// Makes sure that the installed compiler can build for `target`.
pub(crate) fn ensure(workspace: &Workspace, target: &str) -> anyhow::Result<()> {
    if is_installed(workspace, target)? {
        return Ok(());
    }
    eprintln!("xtask: the target {target} is missing: rustup target add {target}");
    let advice = format!(
        "the compiler cannot build for {target}: run `rustup target add {target}` in {}, or, where the compiler \
         does not come from rustup, install its standard library for {target}",
        workspace.root().display()
    );
    let status =
        Command::new("rustup").args(["target", "add", target]).current_dir(workspace.root()).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => bail!("rustup failed ({status}); {advice}"),
        Err(error) => bail!("rustup could not be started ({error}); {advice}"),
    }
    if !is_installed(workspace, target)? {
        bail!(
            "rustup added {target}, but to another compiler than {}; {advice}",
            sysroot(workspace)?.display()
        );
    }
    Ok(())
}

/// Where the compiler that builds this workspace is installed.
pub(crate) fn sysroot(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    Ok(PathBuf::from(ask(workspace, &["--print", "sysroot"])?))
}

/// The commit that the compiler was built from, if it says one.
pub(crate) fn compiler_commit(workspace: &Workspace) -> anyhow::Result<Option<String>> {
    let version = ask(workspace, &["-vV"])?;
    let commit = version.lines().find_map(|line| line.strip_prefix("commit-hash: "));
    Ok(commit.filter(|it| *it != "unknown").map(str::to_owned))
}

fn is_installed(workspace: &Workspace, target: &str) -> anyhow::Result<bool> {
    let folder = ask(workspace, &["--print", "target-libdir", "--target", target])?;
    let Ok(entries) = std::fs::read_dir(&folder) else { return Ok(false) };
    // The folder alone says little: an interrupted installation leaves it empty.
    Ok(entries.flatten().any(|it| it.file_name().to_string_lossy().starts_with("libcore-")))
}

fn ask(workspace: &Workspace, arguments: &[&str]) -> anyhow::Result<String> {
    let output = run::output(Command::new("rustc").args(arguments).current_dir(workspace.root()))?;
    let text = String::from_utf8(output.stdout).context("rustc answered with something that is not UTF-8")?;
    Ok(text.trim_end().to_owned())
}
