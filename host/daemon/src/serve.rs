//! Starts the daemon, and stops it without losing anything.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use firstfault_store::{Policy, SqliteStore, Store, StoreError};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::fs::{FlockOperation, flock};
use sd_notify::NotifyState;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::app::App;
use crate::config::Config;
use crate::diagnoser::Diagnoser;
use crate::listen::{Bound, bind_tcp, bind_unix};
use crate::{api, clock, drain, watch, worker};

/// How often old diagnoses are removed.
const TIDY: Duration = Duration::from_secs(600);

/// Why the daemon does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Its folder.
    #[error("the folder '{path}' cannot be used: {source}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another daemon has the folder.
    #[error("another daemon works in '{0}'")]
    Taken(PathBuf),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An address.
    #[error("cannot listen on '{address}': {source}")]
    Listen {
        /// Which.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The system.
    #[error("the daemon cannot start: {0}")]
    Start(#[from] io::Error),
}

/// Serves until a signal ends it.
///
/// # Errors
/// It cannot start.
pub async fn serve(config: Config, diagnoser: Arc<dyn Diagnoser>) -> Result<(), ServeError> {
    let _lock = claim(&config)?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&config.state.join("store.sqlite"))?);
    let holder = format!("{}-{}", std::process::id(), clock::now());
    let cut = store.recover(&holder, clock::now())?;
    if cut > 0 {
        tracing::warn!(cut, "diagnoses were cut off when the daemon ended last");
    }
    let stop_within = config.limits.stop;
    let connections = Arc::new(Semaphore::new(config.limits.connections));
    let (unix, listen, workers) = (config.unix.clone(), config.listen.clone(), config.limits.workers);
    let app = App::new(config, store, diagnoser, holder)?;

    let mut bound = Vec::new();
    if let Some(unix) = unix {
        let address = unix.path.display().to_string();
        bound.push(bind_unix(unix).map_err(|source| ServeError::Listen { address, source })?);
    }
    for listen in listen {
        let address = listen.address.to_string();
        bound.push(bind_tcp(listen).await.map_err(|source| ServeError::Listen { address, source })?);
    }
    // Caught before it is said that the daemon is ready.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;

    let router = api::router(&app);
    let graceful = Arc::new(GracefulShutdown::new());
    let mut accepting = JoinSet::new();
    let mut addresses = Vec::new();
    for one in bound {
        addresses.push(one.shown());
        accepting.spawn(Bound::accept(
            one,
            app.clone(),
            router.clone(),
            Arc::clone(&connections),
            Arc::clone(&graceful),
        ));
    }
    let mut working = JoinSet::new();
    for _ in 0..workers {
        working.spawn(worker::work(app.clone()));
    }
    let mut side = JoinSet::new();
    side.spawn(watch::watch(app.clone()));
    side.spawn(drain::drain(app.clone()));
    side.spawn(tidy(app.clone()));
    tracing::info!(?addresses, generation = app.generations.current().id, "serving");
    tell(&[NotifyState::Ready]);
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => {
                if let Err(problem) = app.reload().await {
                    tracing::error!(?problem, "reload");
                }
            }
        }
    }
    tell(&[NotifyState::Stopping]);
    tracing::info!("stopping: what is in work is finished or given back");
    app.stop();
    accepting.shutdown().await;
    side.shutdown().await;
    let finish = async { while working.join_next().await.is_some() {} };
    let close = async {
        // Nobody accepts any more, so nobody else holds it.
        if let Ok(graceful) = Arc::try_unwrap(graceful) {
            graceful.shutdown().await;
        }
    };
    let (_, finished) =
        tokio::join!(tokio::time::timeout(stop_within, close), tokio::time::timeout(stop_within, finish));
    if finished.is_err() {
        let holder = app.holder.clone();
        let given = app.ask(move |store| store.release(&holder, clock::now())).await;
        tracing::warn!(?given, "what was in work was given back");
    }
    if let Some(unix) = &app.config.unix {
        // The next start replaces it, if it cannot be removed.
        drop(fs::remove_file(&unix.path));
    }
    Ok(())
}

/// Makes the folder and holds it: a second daemon would take the first one's work for cut off.
fn claim(config: &Config) -> Result<File, ServeError> {
    let fail = |source| ServeError::Folder { path: config.state.clone(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&config.state).map_err(fail)?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(config.state.join("lock"))
        .map_err(fail)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .map_err(|_| ServeError::Taken(config.state.clone()))?;
    // What an earlier life had spooled.
    for entry in fs::read_dir(&config.state).map_err(fail)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("session-") {
            drop(fs::remove_dir_all(entry.path()));
        }
    }
    Ok(lock)
}

async fn tidy(app: App) {
    let retention = &app.config.retention;
    let policy =
        Policy { age: i64::try_from(retention.age.as_millis()).unwrap_or(i64::MAX), bytes: retention.bytes };
    loop {
        if let Ok(removed) = app.ask(move |store| store.retain(&policy, clock::now())).await
            && removed.old + removed.much > 0
        {
            tracing::info!(old = removed.old, much = removed.much, "removed diagnoses");
        }
        tokio::time::sleep(TIDY).await;
    }
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!("the service manager cannot be told: {error}");
    }
}
