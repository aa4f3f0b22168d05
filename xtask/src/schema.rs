//! The JSON Schemas of the documents that others read and write, as the program itself states them.

use std::fs;
use std::process::Command;

use anyhow::Context as _;

use crate::build;
use crate::run::{self, Runner};
use crate::workspace::Workspace;

/// The documents, each with the file of its schema.
const SCHEMAS: [(&str, &str); 2] =
    [("diagnosis", "firstfault.diagnosis.v1.json"), ("context", "firstfault.context.v1.json")];

/// Builds, then writes every schema.
pub(crate) fn run(workspace: &Workspace, runner: &mut Runner) -> anyhow::Result<()> {
    build::all(workspace, runner)?;
    let folder = workspace.root().join("schemas");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (document, file) in SCHEMAS {
        let schema = run::output(Command::new(workspace.program("firstfault")).args(["schema", document]))?;
        let path = folder.join(file);
        fs::write(&path, schema.stdout).with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!("xtask: wrote {}", path.display());
    }
    Ok(())
}
