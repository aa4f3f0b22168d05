//! The command line of firstfault.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use firstfault::arguments::{Arguments, Command, ConfigCommand, LogFormat};
use firstfault::commands;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let serving = match &arguments.command {
        Command::Serve(options) => Some(options.log_format),
        _ => None,
    };
    log(serving);
    let result = match arguments.command {
        Command::Diagnose(options) => commands::diagnose::run(&options),
        Command::Explain(options) => commands::explain::run(&options),
        Command::Rules(options) => commands::rules::run(&options),
        Command::Schema(options) => commands::schema::run(&options),
        Command::Notify(options) => commands::hand_over::notify(&options),
        Command::Capture(options) => commands::hand_over::capture(&options),
        Command::Drain(options) => commands::hand_over::drain(&options),
        Command::Token => commands::hand_over::token(),
        Command::Run(options) => commands::run::run(&options),
        Command::Serve(options) => commands::serve::run(&options),
        Command::Config(ConfigCommand::Check(options)) => commands::serve::check(&options),
    };
    result.unwrap_or_else(|error| {
        eprintln!("firstfault: {error:#}");
        ExitCode::FAILURE
    })
}

/// Begins to log on standard error; the daemon says more than a command.
fn log(serving: Option<LogFormat>) {
    let usual = if serving.is_some() { "info" } else { "warn" };
    let filter = tracing_subscriber::EnvFilter::try_from_env("FIRSTFAULT_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(usual));
    let colored =
        std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let log =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(colored);
    match serving {
        None => log.without_time().init(),
        Some(LogFormat::Text) => log.init(),
        Some(LogFormat::Json) => log.json().init(),
    }
}
