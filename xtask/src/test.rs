//! Every check of the sources, in the order in which a failure is cheapest to learn.

use crate::build;
use crate::run::{self, HOST, Runner};
use crate::workspace::Workspace;

/// This tool, as `cargo xtask` builds it.
const TOOL: [&str; 3] = ["--release", "--package", "xtask"];

/// Builds, then checks the format, lints and runs all tests. The first step that fails ends it.
pub(crate) fn run(workspace: &Workspace, runner: &mut Runner) -> anyhow::Result<()> {
    let result = steps(workspace, runner);
    runner.print_times();
    result?;
    let (count, took) = runner.total();
    eprintln!("xtask: all is well: {count} steps in {}", run::seconds(took));
    Ok(())
}

fn steps(workspace: &Workspace, runner: &mut Runner) -> anyhow::Result<()> {
    runner.cargo("check the format", &["fmt"], &["--all"], &["--check"])?;
    build::all(workspace, runner)?;
    let deny = ["--all-targets", "--", "-D", "warnings"];
    runner.cargo("lint the program", &["clippy"], &HOST, &deny)?;
    runner.cargo("lint the tool", &["clippy"], &TOOL, &deny)?;
    let (what, rest): (&[&str], &[&str]) =
        if run::works(runner.cargo_command().args(["nextest", "--version"])) {
            (&["nextest", "run"], &[])
        } else {
            (&["test"], &["--lib", "--bins", "--tests"])
        };
    runner.cargo("test the program", what, &HOST, rest)?;
    runner.cargo("test the tool", what, &TOOL, &[])
}
