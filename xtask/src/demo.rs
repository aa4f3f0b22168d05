//! The demonstration: what firstfault says about a sample incident.

use std::process::Command;

use crate::build;
use crate::run::Runner;
use crate::workspace::Workspace;

const INCIDENT: &str = "examples/incidents/nvlink_xid149";

/// Builds, then prints the diagnosis. The program inherits the terminal, and with it the decision on colour.
pub(crate) fn run(workspace: &Workspace, runner: &mut Runner) -> anyhow::Result<()> {
    build::all(workspace, runner)?;
    let mut command = Command::new(workspace.program("firstfault"));
    command.args(["diagnose", INCIDENT]).current_dir(workspace.root());
    runner.step("diagnose a sample incident", &mut command)
}
