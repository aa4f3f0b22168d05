//! What hooks call at the end of a job: says what is known of it and hands that to the daemon, or leaves it in a folder for later.
//!
//! No scheduler's program is run, nothing is waited for beyond a few milliseconds, and nothing that goes wrong is the job's trouble.

pub mod capture;
pub mod client;
pub mod generic;
pub mod hostlist;
pub mod kubernetes;
pub mod slurm;
pub mod spool;

use std::path::Path;
use std::time::{Duration, Instant};

use firstfault_daemon::request::DiagnosisRequest;

/// Variables of the environment.
pub type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What became of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handed {
    /// The daemon has it.
    Over,
    /// It lies in the folder.
    Spooled,
}

/// Hands a report over within a time, else spools it.
///
/// # Errors
/// The daemon refuses it, or it could be neither handed over nor spooled.
pub fn hand(
    request: &DiagnosisRequest,
    socket: &Path,
    folder: &Path,
    within: Duration,
) -> anyhow::Result<Handed> {
    let began = Instant::now();
    let body = serde_json::to_vec(request)?;
    let why = match client::post(socket, "/v1/diagnoses", &body, within) {
        Ok(answer) if answer.is_taken() => {
            // What others had to leave goes the same way, as far as there is time.
            spool::drain(socket, folder, within.saturating_sub(began.elapsed()));
            return Ok(Handed::Over);
        }
        Ok(answer) if !answer.is_temporary() => {
            anyhow::bail!("the daemon does not take it: {}", answer.text())
        }
        Ok(answer) => answer.text(),
        Err(error) => error.to_string(),
    };
    spool::keep(folder, &body).map_err(|e| {
        anyhow::anyhow!(
            "the daemon cannot be reached ({why}), and '{}' cannot be written: {e}",
            folder.display()
        )
    })?;
    Ok(Handed::Spooled)
}
