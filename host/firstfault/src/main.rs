//! The command line of firstfault.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use firstfault::arguments::{Arguments, Command};
use firstfault::commands;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let filter = tracing_subscriber::EnvFilter::try_from_env("FIRSTFAULT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .init();
    let result = match arguments.command {
        Command::Diagnose(options) => commands::diagnose::run(&options),
        Command::Explain(options) => commands::explain::run(&options),
        Command::Rules(options) => commands::rules::run(&options),
        Command::Schema(options) => commands::schema::run(&options),
    };
    result.unwrap_or_else(|error| {
        eprintln!("firstfault: {error:#}");
        ExitCode::FAILURE
    })
}
