//! Running the steps of a task: each is shown, timed, and named when it fails.

use std::env;
use std::ffi::OsString;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

use crate::workspace::Workspace;

/// What is built when the program is built, in every step alike.
///
/// The whole workspace: a part alone may be given other features of a shared dependency, and the largest of these
/// takes minutes to build. Without this tool: it asks for features of the same WebAssembly crates, and the program
/// would be built with them, but not by a plain `cargo build`.
pub(crate) const HOST: [&str; 4] = ["--release", "--workspace", "--exclude", "xtask"];

/// Runs steps in the workspace's folder and remembers how long each took.
#[derive(Debug)]
pub(crate) struct Runner {
    root: std::path::PathBuf,
    steps: Vec<(String, Duration)>,
}

impl Runner {
    /// A runner without steps.
    pub(crate) fn new(workspace: &Workspace) -> Runner {
        Runner { root: workspace.root().to_owned(), steps: Vec::new() }
    }

    /// A command that starts cargo in the workspace.
    ///
    /// What cargo told *this* program about its own package is taken out: build scripts that look at these variables
    /// would otherwise run again whenever cargo is started from here and from a shell in turn.
    pub(crate) fn cargo_command(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        command.current_dir(&self.root);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs `cargo WHAT` on these packages as the step `name`.
    pub(crate) fn cargo(
        &mut self,
        name: &str,
        what: &[&str],
        packages: &[&str],
        rest: &[&str],
    ) -> anyhow::Result<()> {
        let mut command = self.cargo_command();
        command.args(what).args(packages).args(rest);
        self.step(name, &mut command)
    }

    /// Runs a command to its end; a failure is an error that names the step.
    pub(crate) fn step(&mut self, name: &str, command: &mut Command) -> anyhow::Result<()> {
        let line = shown(command);
        eprintln!("xtask: {name}: {line}");
        let start = Instant::now();
        let status = command.status().with_context(|| format!("{name}: cannot start `{line}`"))?;
        let took = start.elapsed();
        if !status.success() {
            bail!("the step \"{name}\" failed after {} ({status}): {line}", seconds(took));
        }
        self.steps.push((name.to_owned(), took));
        Ok(())
    }

    /// The steps that were run, each with its time, on standard error.
    pub(crate) fn print_times(&self) {
        for (name, took) in &self.steps {
            eprintln!("xtask: {:>9}  {name}", seconds(*took));
        }
    }

    /// How many steps were run, and their time together.
    pub(crate) fn total(&self) -> (usize, Duration) {
        (self.steps.len(), self.steps.iter().map(|it| it.1).sum())
    }
}

/// Runs a command for its output; anything but success is an error with what the command said.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<Output> {
    let line = shown(command);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("cannot start `{line}`"))?;
    if !output.status.success() {
        bail!("`{line}` failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(output)
}

/// Whether a command can be started and succeeds; nothing is shown.
pub(crate) fn works(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).output().is_ok_and(|it| it.status.success())
}

/// A time with one decimal, in seconds.
pub(crate) fn seconds(time: Duration) -> String {
    let tenths = (time.as_millis() + 50) / 100;
    format!("{}.{} s", tenths / 10, tenths % 10)
}

/// A command as a person would type it in the folder where it runs.
fn shown(command: &Command) -> String {
    let folder = command.get_current_dir().map(|it| format!("{}/", it.display())).unwrap_or_default();
    let program = std::path::Path::new(command.get_program());
    let mut line = match program.file_name() {
        Some(name) if name == "cargo" => String::from("cargo"),
        _ => program.display().to_string().replacen(&folder, "", 1),
    };
    for argument in command.get_args() {
        let argument = argument.to_string_lossy();
        let argument = argument.strip_prefix(&folder).unwrap_or(&argument);
        line.push(' ');
        if argument.is_empty() || argument.contains([' ', '\'', '"', '$', '*']) {
            line.push_str(&format!("{argument:?}"));
        } else {
            line.push_str(argument);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_a_command_as_it_is_typed() {
        let mut command = Command::new("/opt/bin/cargo");
        command.args(["test", "--", "a b", "/work/target/x"]).current_dir("/work");
        assert_eq!(shown(&command), "cargo test -- \"a b\" target/x");
    }

    #[test]
    fn rounds_to_tenths_of_a_second() {
        assert_eq!(seconds(Duration::from_millis(49)), "0.0 s");
        assert_eq!(seconds(Duration::from_millis(12_951)), "13.0 s");
    }
}
