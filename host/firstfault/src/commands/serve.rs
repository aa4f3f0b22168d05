//! `firstfault serve` and `firstfault config check`

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use firstfault_daemon::config::{self, Config};

use crate::arguments::{ConfigOptions, ServeOptions};
use crate::served::Served;

/// Threads that wait for the store, besides those that diagnose.
const BLOCKING: usize = 16;

/// Runs the daemon until a signal ends it.
///
/// # Errors
/// It cannot start.
pub fn run(options: &ServeOptions) -> anyhow::Result<ExitCode> {
    let config = read(&options.config)?;
    let served = Served::start(config.rules.clone(), config.plugins.clone())?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("firstfault")
        // Each holds memory of its own, and what they wait for is one disk.
        .max_blocking_threads(config.limits.workers + BLOCKING)
        .build()
        .context("cannot start threads")?;
    let ended = runtime.block_on(firstfault_daemon::serve(config, Arc::new(served)));
    // A diagnosis that ran into its deadline may still be at it.
    runtime.shutdown_timeout(Duration::from_secs(1));
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// Checks the configuration.
///
/// # Errors
/// What is wrong with it.
pub fn check(options: &ConfigOptions) -> anyhow::Result<ExitCode> {
    let config = read(&options.config)?;
    let mut listens: Vec<String> = config.unix.iter().map(|unix| unix.path.display().to_string()).collect();
    listens.extend(config.listen.iter().map(|listen| listen.address.to_string()));
    super::print(&format!("{} is sound; it listens on {}\n", options.config.display(), listens.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

fn read(path: &std::path::Path) -> anyhow::Result<Config> {
    #[expect(clippy::disallowed_methods, reason = "this is where the daemon's configuration is read")]
    let variable = |name: &str| std::env::var(name).ok();
    Ok(config::load(path, variable)?)
}
