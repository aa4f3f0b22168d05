//! Running a program and taking its time and its memory from the system.

use std::io::Read as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use wait4::Wait4 as _;

/// What one run took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// From the start to what was waited for.
    pub(crate) wall: Duration,
    /// Processor time, of all threads and of the processes that it waited for.
    pub(crate) cpu: Duration,
    /// The largest resident set, in bytes. Never smaller than this tool's own, which is a few megabytes.
    pub(crate) peak: u64,
}

/// A run from the start to the end; what it prints is thrown away.
pub(crate) fn whole(command: &mut Command) -> anyhow::Result<Sample> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    finish(command, child, || start.elapsed())
}

/// A run from the start to the first byte on its standard output.
pub(crate) fn first_output(command: &mut Command) -> anyhow::Result<Sample> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
    let mut output = child.stdout.take().context("the output was not captured")?;
    let mut byte = [0];
    if output.read(&mut byte)? == 0 {
        bail!("{command:?} printed nothing");
    }
    let wall = start.elapsed();
    std::io::copy(&mut output, &mut std::io::sink())?;
    finish(command, child, || wall)
}

fn finish(
    command: &Command,
    child: std::process::Child,
    wall: impl FnOnce() -> Duration,
) -> anyhow::Result<Sample> {
    let used = child.wait4().with_context(|| format!("cannot wait for {command:?}"))?;
    let wall = wall();
    if !used.status.success() {
        bail!("{command:?} failed: {}", used.status);
    }
    Ok(Sample { wall, cpu: used.rusage.utime + used.rusage.stime, peak: used.rusage.maxrss })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_a_program() {
        let sample = whole(Command::new("sh").args(["-c", "exit 0"])).unwrap();
        assert!(sample.peak > 0);
        let sample = first_output(Command::new("sh").args(["-c", "echo x"])).unwrap();
        assert!(sample.wall > Duration::ZERO);
    }

    #[test]
    fn a_program_that_fails_or_says_nothing_is_an_error() {
        assert!(whole(Command::new("sh").args(["-c", "exit 3"])).is_err());
        assert!(first_output(Command::new("sh").args(["-c", "exit 0"])).is_err());
    }
}
