//! The build: plugins to modules, modules to components, components to machine code, and then the program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use crate::component;
use crate::run::{HOST, Runner};
use crate::targets;
use crate::workspace::Workspace;

/// Examples (there may be none) make cargo choose features as it does for tests. What is tested is then what was
/// built, and is not built twice.
const AS_FOR_TESTS: &str = "--examples";

/// Everything, ending with the program.
pub(crate) fn all(workspace: &Workspace, runner: &mut Runner) -> anyhow::Result<()> {
    plugins(workspace, runner)?;
    precompile(workspace, runner)?;
    runner.cargo("build the program", &["build"], &HOST, &["--lib", "--bins", AS_FOR_TESTS])
}

/// The plugins as components in `target/wasm`.
pub(crate) fn plugins(workspace: &Workspace, runner: &mut Runner) -> anyhow::Result<()> {
    targets::ensure(workspace, targets::PLUGIN)?;
    let flags = reproducible_flags(workspace)?;
    // A folder of its own: its flags differ, and it must not wait for the lock of a build of the host.
    let folder = workspace.target().join("wasm-build");
    let names = workspace.plugins()?;
    for name in &names {
        let module = module(runner, &folder, name, &flags)?;
        let bytes = fs::read(&module).with_context(|| format!("cannot read {}", module.display()))?;
        let component = component::encode(&bytes).with_context(|| format!("the plugin {name}"))?;
        write_if_changed(&ready(workspace, name, "wasm"), &component)?;
    }
    remove_others(workspace, &names)
}

/// Builds one plugin and says where the module is.
///
/// `cargo rustc` rather than `cargo build`: a library that is also an `rlib` gets no link-time optimisation, which
/// makes the module half as large again. One at a time also keeps the bytes of a plugin independent of the
/// features that another one asks of a shared dependency.
fn module(runner: &mut Runner, folder: &Path, name: &str, flags: &str) -> anyhow::Result<PathBuf> {
    let package = format!("firstfault-plugin-{name}");
    let mut command = runner.cargo_command();
    command
        .args(["rustc", "--quiet", "--profile", "wasm", "--target", targets::PLUGIN, "--package", &package])
        .args(["--lib", "--crate-type", "cdylib", "--target-dir"])
        .arg(folder)
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .env_remove("RUSTFLAGS");
    runner.step(&format!("build the plugin {name}"), &mut command)?;
    let file = format!("{}.wasm", package.replace('-', "_"));
    Ok(folder.join(targets::PLUGIN).join("wasm").join(file))
}

/// Flags that keep the folders of this machine out of the modules, in cargo's encoded form.
fn reproducible_flags(workspace: &Workspace) -> anyhow::Result<String> {
    let mut renamed = vec![(workspace.root().to_owned(), String::from("/firstfault"))];
    if let Some(home) = cargo_home() {
        renamed.push((home, String::from("/cargo")));
    }
    // With the component rust-src installed, the compiler writes the real place of the standard library's sources
    // instead of this one.
    if let Some(commit) = targets::compiler_commit(workspace)? {
        let sources = targets::sysroot(workspace)?.join("lib/rustlib/src/rust");
        renamed.push((sources, format!("/rustc/{commit}")));
    }
    let flags = renamed.into_iter().map(|(from, to)| format!("--remap-path-prefix={}={to}", from.display()));
    Ok(flags.collect::<Vec<_>>().join("\u{1f}"))
}

fn cargo_home() -> Option<PathBuf> {
    match std::env::var_os("CARGO_HOME") {
        Some(folder) if !folder.is_empty() => Some(PathBuf::from(folder)),
        _ => std::env::home_dir().map(|home| home.join(".cargo")),
    }
}

/// Machine code for the components, made by the same engine that will run it.
fn precompile(workspace: &Workspace, runner: &mut Runner) -> anyhow::Result<()> {
    runner.cargo("build the precompiler", &["build"], &HOST, &["--bin", "precompile", AS_FOR_TESTS])?;
    let program = workspace.program("precompile");
    let mut command = Command::new(&program);
    command.current_dir(workspace.root());
    let mut stale = false;
    for name in workspace.plugins()? {
        let (wasm, machine) = (ready(workspace, &name, "wasm"), ready(workspace, &name, "cwasm"));
        if !is_newer(&machine, &[&wasm, &program]) {
            command.arg(wasm).arg(machine);
            stale = true;
        }
    }
    if stale { runner.step("precompile the plugins", &mut command) } else { Ok(()) }
}

fn ready(workspace: &Workspace, name: &str, extension: &str) -> PathBuf {
    workspace.wasm().join(name).with_extension(extension)
}

/// Whether a file exists and was written after all of the others.
fn is_newer(file: &Path, others: &[&Path]) -> bool {
    let modified = |path: &Path| fs::metadata(path).and_then(|it| it.modified()).ok();
    modified(file).is_some_and(|own| others.iter().all(|it| modified(it).is_some_and(|other| other <= own)))
}

/// Leaves the file and its time alone when nothing changed, so that nothing behind it is built again.
fn write_if_changed(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let write = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        // By way of another name: whoever reads in the meantime sees the old file or the new one.
        let partial = path.with_extension("partial");
        fs::write(&partial, bytes)?;
        fs::rename(&partial, path)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Removes what plugins that are gone have left behind: it would be bundled. In a folder that somebody chose, other
/// things may lie with good reason.
fn remove_others(workspace: &Workspace, names: &[String]) -> anyhow::Result<()> {
    let folder = workspace.wasm();
    if folder != workspace.root().join("target/wasm") {
        return Ok(());
    }
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let path = entry?.path();
        let ours = path.extension().is_some_and(|it| it == "wasm" || it == "cwasm");
        let known = path.file_stem().is_some_and(|it| names.iter().any(|name| it == name.as_str()));
        if ours && !known {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}
