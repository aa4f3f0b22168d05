//! `firstfault run -- command`: the command as if it were started without, and a report if it fails.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

use anyhow::Context as _;
use firstfault_model::time::Timestamp;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};
use tokio::signal;
use tokio::signal::unix::SignalKind;

use crate::arguments::{GenericReport, RunOptions};
use crate::notify::{self, Handed, generic};

/// How long the report may take: nothing waits behind it.
const WITHIN: Duration = Duration::from_secs(1);

/// Runs it, and ends as it ended.
///
/// # Errors
/// It cannot be started.
pub fn run(options: &RunOptions) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let start = now();
    let (pid, status) = runtime.block_on(async {
        let (program, arguments) = options.command.split_first().context("no command is given")?;
        // Before there is anybody who could send one.
        let signals = Signals::catch().context("cannot catch signals")?;
        let mut child = Command::new(program)
            .args(arguments)
            .spawn()
            .with_context(|| format!("cannot run '{}'", program.to_string_lossy()))?;
        let pid = child.id().unwrap_or(0);
        anyhow::Ok((pid, wait(&mut child, signals).await?))
    })?;
    if !status.success() {
        report(options, pid, start, status);
    }
    Ok(ExitCode::from(code(status)))
}

/// Signals that are sent to this process and meant for the command.
struct Signals {
    terminate: signal::unix::Signal,
    hangup: signal::unix::Signal,
    first: signal::unix::Signal,
    second: signal::unix::Signal,
    /// A terminal sends these to the command as well: they only must not end this process before it.
    interrupt: signal::unix::Signal,
    quit: signal::unix::Signal,
}

impl Signals {
    /// Catches them from now on.
    fn catch() -> io::Result<Self> {
        let of = signal::unix::signal;
        Ok(Self {
            terminate: of(SignalKind::terminate())?,
            hangup: of(SignalKind::hangup())?,
            first: of(SignalKind::user_defined1())?,
            second: of(SignalKind::user_defined2())?,
            interrupt: of(SignalKind::interrupt())?,
            quit: of(SignalKind::quit())?,
        })
    }

    /// The next one that is to be handed on.
    async fn next(&mut self) -> Signal {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Signal::SIGTERM,
                _ = self.hangup.recv() => return Signal::SIGHUP,
                _ = self.first.recv() => return Signal::SIGUSR1,
                _ = self.second.recv() => return Signal::SIGUSR2,
                _ = self.interrupt.recv() => {}
                _ = self.quit.recv() => {}
            }
        }
    }
}

/// Waits for the child, and hands on to it what is sent to this process.
async fn wait(child: &mut Child, mut signals: Signals) -> io::Result<ExitStatus> {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).map(Pid::from_raw);
    loop {
        let sent = tokio::select! {
            status = child.wait() => return status,
            sent = signals.next() => sent,
        };
        if let Some(pid) = pid
            && let Err(error) = kill(pid, sent)
        {
            eprintln!("firstfault: cannot hand on {sent}: {error}");
        }
    }
}

/// As a shell says it.
fn code(status: ExitStatus) -> u8 {
    let number = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(number).unwrap_or(1)
}

fn report(options: &RunOptions, pid: u32, start: Timestamp, status: ExitStatus) {
    let host = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    let host = host.unwrap_or_else(|| "localhost".to_owned());
    let typed = GenericReport {
        id: options.id.clone().unwrap_or_else(|| format!("{host}-{pid}-{}", start.0 / 1_000_000_000)),
        scheduler: Some("run".to_owned()),
        cluster: None,
        attempt: None,
        name: options.command.first().map(|c| c.to_string_lossy().into_owned()),
        user: None,
        start: Some(start.to_string()),
        end: Some(now().to_string()),
        exit_code: Some(code(status).into()),
        nodes: None,
        logs: options.logs.clone(),
    };
    let handed = generic::report(&typed)
        .and_then(|request| notify::hand(&request, &options.to.socket, &options.to.spool, WITHIN));
    match handed {
        Ok(Handed::Over) => {}
        Ok(Handed::Spooled) => eprintln!(
            "firstfault: the daemon cannot be reached; the report is in '{}'",
            options.to.spool.display()
        ),
        Err(error) => eprintln!("firstfault: {error:#}"),
    }
}

#[expect(clippy::disallowed_methods, reason = "when the command ran is what is reported")]
fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}
