//! `cargo xtask`: everything that is done with the sources beyond a plain `cargo build`.
//!
//! Each command brings what it needs (the wasm target, the plugins, the program), so that none of them has another
//! step before it. It must itself build in seconds on a fresh machine and so links nothing of the host.

mod bench;
mod build;
mod component;
mod demo;
mod run;
mod schema;
mod targets;
mod test;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::run::Runner;
use crate::workspace::Workspace;

/// Builds, tests, shows and measures firstfault.
#[derive(Parser, Debug)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Build the plugins, then the program with them inside
    Build {
        /// Stop when the plugins are in target/wasm
        #[arg(long)]
        plugins: bool,
    },
    /// Build, then print the diagnosis of a sample incident
    Demo,
    /// Build, then run every check of format and lint, and every test
    Test,
    /// Build, then measure on a large generated incident
    Bench(bench::Options),
    /// Build, then write the JSON Schemas in schemas/ anew
    Schema,
    /// Format all sources
    Fmt,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> anyhow::Result<()> {
    let workspace = Workspace::find()?;
    let mut runner = Runner::new(&workspace);
    match command {
        Command::Build { plugins: true } => build::plugins(&workspace, &mut runner),
        Command::Build { plugins: false } => build::all(&workspace, &mut runner),
        Command::Demo => demo::run(&workspace, &mut runner),
        Command::Test => test::run(&workspace, &mut runner),
        Command::Bench(options) => bench::run(&workspace, &mut runner, &options),
        Command::Schema => schema::run(&workspace, &mut runner),
        Command::Fmt => runner.cargo("format", &["fmt"], &["--all"], &[]),
    }
}
