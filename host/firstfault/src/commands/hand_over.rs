//! `firstfault notify`, `firstfault drain`, `firstfault token`

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use firstfault_daemon::request::DiagnosisRequest;

use crate::arguments::{CaptureOptions, HandOverOptions, Hook, NotifyOptions};
use crate::notify::{self, Handed, capture, generic, kubernetes, slurm, spool};

/// How long `drain` may take.
const DRAIN: Duration = Duration::from_secs(60);

/// A variable of the environment of the hook.
pub(super) fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "a hook is told in its environment what has ended")]
    std::env::var(name).ok()
}

/// Hands over a report. What goes wrong is told on standard error, and is no error unless that is asked for.
///
/// # Errors
/// None that `strict` does not ask for.
pub fn notify(options: &NotifyOptions) -> anyhow::Result<ExitCode> {
    let handed = report(&options.hook).and_then(|request| match request {
        None => Ok(()),
        Some(request) => {
            if let Hook::Slurm { capture: true, log, .. } = &options.hook {
                detach(&request, &options.to, log)?;
            }
            let within = Duration::from_millis(options.within);
            let handed = notify::hand(&request, &options.to.socket, &options.to.spool, within)?;
            if handed == Handed::Spooled {
                eprintln!(
                    "firstfault: the daemon cannot be reached; the report is in '{}'",
                    options.to.spool.display()
                );
            }
            Ok(())
        }
    });
    match handed {
        Err(error) if options.strict => Err(error),
        Err(error) => {
            eprintln!("firstfault: {error:#}");
            Ok(ExitCode::SUCCESS)
        }
        Ok(()) => Ok(ExitCode::SUCCESS),
    }
}

fn report(hook: &Hook) -> anyhow::Result<Option<DiagnosisRequest>> {
    match hook {
        Hook::Slurm { all, .. } => Ok(slurm::report(&variable, *all)),
        Hook::Kubernetes => {
            let report = kubernetes::report(&variable);
            report
                .map(Some)
                .context("neither JOB_NAME nor POD_NAME is set: the manifest must say which workload this is")
        }
        Hook::Generic(typed) => generic::report(typed).map(Some),
    }
}

/// Starts the process that takes this node's evidence, and does not wait for it.
fn detach(request: &DiagnosisRequest, to: &HandOverOptions, log: &[String]) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find this program")?;
    let mut command = Command::new(program);
    command.arg("capture").arg("--socket").arg(&to.socket).arg("--spool").arg(&to.spool);
    for log in log {
        command.arg("--log").arg(log);
    }
    // A group of its own: what ends the hook does not end it.
    let mut child = command
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("cannot start the process that takes this node's evidence")?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(&serde_json::to_vec(request)?).context("cannot tell it what to take")?;
    }
    Ok(())
}

/// Takes this node's evidence and pushes it, or leaves it in the folder.
///
/// # Errors
/// What is on standard input is no report, or the evidence can be neither pushed nor left.
pub fn capture(options: &CaptureOptions) -> anyhow::Result<ExitCode> {
    let request: DiagnosisRequest = serde_json::from_reader(std::io::stdin().lock())?;
    let mut files: Vec<(String, PathBuf)> =
        capture::FILES.iter().map(|(source, path)| ((*source).to_owned(), PathBuf::from(path))).collect();
    for log in &options.log {
        let (source, path) = log.split_once('=').context("--log is written as SOURCE=PATH")?;
        files.push((source.to_owned(), PathBuf::from(path)));
    }
    let lines = capture::take(&request, &files);
    if lines.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let push = capture::Push::pack(&request, &lines)?;
    if push.send(&options.to.socket).is_err() {
        push.keep(&options.to.spool)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Hands over what lies in the folder.
///
/// # Errors
/// Something is left.
pub fn drain(options: &HandOverOptions) -> anyhow::Result<ExitCode> {
    let drained = spool::drain(&options.socket, &options.spool, DRAIN);
    super::print(&format!(
        "{} handed over, {} refused, {} left\n",
        drained.taken, drained.refused, drained.left
    ))?;
    Ok(if drained.left == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Makes a token.
///
/// # Errors
/// The system has no random bytes.
pub fn token() -> anyhow::Result<ExitCode> {
    let mut bytes = [0; 32];
    File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .context("cannot read random bytes")?;
    let token: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    let digest = firstfault_daemon::access::token_digest(&token);
    super::print(&format!("token   {token}\nsha256  {digest}\n"))?;
    Ok(ExitCode::SUCCESS)
}
