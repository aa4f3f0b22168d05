//! What handlers and workers share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use firstfault_store::{Accepted, NewObservation, NewReport, Observed, Refusal, Store, StoreError};
use tokio::sync::{Notify, broadcast};

use crate::access::People;
use crate::clock;
use crate::config::Config;
use crate::diagnoser::{Diagnoser, ReloadReport};
use crate::guard::Limiter;
use crate::intake::Intake;
use crate::metrics::{Metrics, OutcomeLabel};
use crate::paths::Roots;
use crate::problem::Problem;
use crate::watch::Generations;

/// How many ends of diagnoses a waiting client may be behind before it looks by itself.
const BEHIND: usize = 256;

/// The daemon's state. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Inner>);

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) config: Config,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) diagnoser: Arc<dyn Diagnoser>,
    pub(crate) reports: Intake<NewReport, Result<Accepted, Refusal>>,
    pub(crate) observations: Intake<NewObservation, Observed>,
    pub(crate) roots: Roots,
    pub(crate) metrics: Metrics,
    pub(crate) limiter: Limiter,
    pub(crate) people: People,
    pub(crate) generations: Generations,
    /// Something may be due.
    pub(crate) due: Notify,
    /// Ids of diagnoses that have just got a revision or were parked.
    pub(crate) made: broadcast::Sender<Arc<str>>,
    /// Names this life of the daemon among the holders of leases.
    pub(crate) holder: String,
    stopping: AtomicBool,
}

impl std::ops::Deref for App {
    type Target = Inner;
    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    pub(crate) fn new(
        config: Config,
        store: Arc<dyn Store>,
        diagnoser: Arc<dyn Diagnoser>,
        holder: String,
    ) -> std::io::Result<Self> {
        let (to_reports, to_observations) = (Arc::clone(&store), Arc::clone(&store));
        Ok(Self(Arc::new(Inner {
            reports: Intake::start("reports", move |batch| to_reports.accept(batch, clock::now()))?,
            observations: Intake::start("observations", move |batch| {
                to_observations.observe(batch, clock::now())
            })?,
            roots: Roots::new(&config.roots),
            limiter: Limiter::new(config.limits.rate, config.limits.burst),
            generations: Generations::new(diagnoser.generation()),
            metrics: Metrics::default(),
            people: People::default(),
            due: Notify::new(),
            made: broadcast::channel(BEHIND).0,
            stopping: AtomicBool::new(false),
            config,
            store,
            diagnoser,
            holder,
        })))
    }

    /// Asks the store for something, away from the threads that serve connections.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        act: impl FnOnce(&dyn Store) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        let store = Arc::clone(&self.store);
        match tokio::task::spawn_blocking(move || act(&*store)).await {
            Ok(result) => result.map_err(Problem::from),
            Err(_) => Err(Problem::internal("the store failed; its log says why")),
        }
    }

    /// Takes a report.
    pub(crate) async fn report(&self, report: NewReport) -> Result<Accepted, Problem> {
        let accepted = self.reports.put(report).await?.map_err(|refusal| match refusal {
            Refusal::NotYours => Problem::forbidden(refusal.to_string()).at("workload"),
            Refusal::TooMany(_) => {
                Problem::new(axum::http::StatusCode::CONFLICT, "too-many-reports", refusal.to_string())
            }
        })?;
        self.due.notify_one();
        Ok(accepted)
    }

    /// Waits until a diagnosis has a revision of at least this much of what came in, or is parked; not longer than this.
    pub(crate) async fn wait(&self, id: &str, wanted: u64, longest: Duration) -> Result<(), Problem> {
        let mut made = self.made.subscribe();
        let id = Arc::<str>::from(id);
        let ready = async {
            loop {
                let asked = Arc::clone(&id);
                let entry = self.ask(move |store| store.entry(&asked)).await?;
                let Some(entry) = entry else { return Err(Problem::not_found("diagnosis")) };
                if entry.state == firstfault_store::State::Parked
                    || (entry.revision > 0 && entry.seen >= wanted)
                {
                    return Ok(());
                }
                // Until this one is told of, or too many others were.
                while let Ok(other) = made.recv().await {
                    if other == id {
                        break;
                    }
                }
            }
        };
        tokio::time::timeout(longest, ready).await.unwrap_or(Ok(()))
    }

    /// Builds a generation of what the folders hold now.
    pub(crate) async fn reload(&self) -> Result<ReloadReport, Problem> {
        let diagnoser = Arc::clone(&self.diagnoser);
        let built = tokio::task::spawn_blocking(move || (diagnoser.reload(), diagnoser.generation())).await;
        let (report, generation) =
            built.map_err(|_| Problem::internal("building the generation failed; the running one stays"))?;
        self.metrics.reloads.get_or_create(&OutcomeLabel { outcome: report.outcome.clone() }).inc();
        match report.outcome.as_str() {
            "refused" => {
                tracing::error!(reasons = ?report.reasons, "the new generation is refused; the running one stays")
            }
            outcome => tracing::info!(generation = report.generation, outcome, "reloaded"),
        }
        self.generations.note(&report, generation, clock::now());
        Ok(report)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.due.notify_waiters();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
