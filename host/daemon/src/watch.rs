//! Generations that were used and refused, and the watch on the folders that they are built of.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use serde::Serialize;
use tokio::sync::mpsc;
use utoipa::ToSchema;

use crate::app::App;
use crate::clock;
use crate::diagnoser::{GenerationInfo, ReloadReport};

/// How many generations are remembered.
const REMEMBERED: usize = 32;
/// How long a folder must be quiet: editors and copies write in steps.
const QUIET: Duration = Duration::from_millis(250);
/// How long a folder may be restless before it is looked at all the same.
const RESTLESS: Duration = Duration::from_secs(1);
/// How often folders are looked at unasked: a watch is only a hint.
const RECONCILE: Duration = Duration::from_secs(10);

/// A generation that was built, and what became of it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Built {
    /// Its digest; of a refused one that of the one which stayed.
    pub(crate) id: String,
    /// `started`, `swapped` or `refused`.
    pub(crate) outcome: String,
    /// When.
    pub(crate) at: String,
    /// Why it was refused.
    pub(crate) reasons: Vec<String>,
    /// Whether it is in use.
    pub(crate) active: bool,
}

/// What was built in this life of the daemon, the newest last.
#[derive(Debug)]
pub(crate) struct Generations(Mutex<(GenerationInfo, VecDeque<Built>)>);

impl Generations {
    pub(crate) fn new(first: GenerationInfo) -> Self {
        let built = Built {
            id: first.id.clone(),
            outcome: "started".to_owned(),
            at: clock::timestamp(clock::now()).to_string(),
            reasons: Vec::new(),
            active: true,
        };
        Self(Mutex::new((first, VecDeque::from([built]))))
    }

    pub(crate) fn note(&self, report: &ReloadReport, current: GenerationInfo, now: i64) {
        if report.outcome == "unchanged" {
            return;
        }
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let swapped = report.outcome == "swapped";
        if swapped {
            held.1.iter_mut().for_each(|built| built.active = false);
        }
        let built = Built {
            id: report.generation.clone(),
            outcome: report.outcome.clone(),
            at: clock::timestamp(now).to_string(),
            reasons: report.reasons.clone(),
            active: swapped,
        };
        // Folders that stay broken are told of once.
        let same =
            |last: &Built| (&last.outcome, &last.reasons) == (&built.outcome, &built.reasons) && !swapped;
        if !held.1.back().is_some_and(same) {
            held.1.push_back(built);
        }
        if held.1.len() > REMEMBERED {
            held.1.pop_front();
        }
        held.0 = current;
    }

    pub(crate) fn current(&self) -> GenerationInfo {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    pub(crate) fn all(&self) -> Vec<Built> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.iter().rev().cloned().collect()
    }
}

/// Reloads when a folder changes, until the daemon stops.
pub(crate) async fn watch(app: App) {
    let folders = app.diagnoser.folders();
    if folders.is_empty() {
        return;
    }
    let (hint, mut hints) = mpsc::channel::<()>(1);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Reading files is what a reload does itself.
        if event.map_or(true, |event| !event.kind.is_access()) {
            // One hint is as good as many.
            hint.try_send(()).ok();
        }
    })
    .inspect_err(|error| tracing::warn!("folders cannot be watched, and are looked at every 10 s: {error}"))
    .ok();
    while !app.is_stopping() {
        // Again each time: a folder that was moved away and made anew has lost its watch.
        if let Some(watcher) = &mut watcher {
            attach(watcher, &folders);
        }
        if let Ok(Some(())) = tokio::time::timeout(RECONCILE, hints.recv()).await {
            let quiet = async { while let Ok(Some(())) = tokio::time::timeout(QUIET, hints.recv()).await {} };
            drop(tokio::time::timeout(RESTLESS, quiet).await);
        }
        if let Err(problem) = app.reload().await {
            tracing::error!(?problem, "reload");
        }
    }
}

fn attach(watcher: &mut RecommendedWatcher, folders: &[PathBuf]) {
    for folder in folders {
        // The folder above tells when this one is swapped.
        for path in [Some(folder.as_path()), folder.parent()].into_iter().flatten() {
            if let Err(error) = watcher.watch(path, RecursiveMode::NonRecursive) {
                tracing::debug!(path = %path.display(), "not watched: {error}");
            }
        }
    }
}
