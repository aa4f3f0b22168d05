//! What is counted, in the names and units of Prometheus.

use std::sync::atomic::{AtomicI64, AtomicU64};

use firstfault_store::Counts;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Upper bounds in seconds: of answers, and of diagnoses.
const BOUNDS: [f64; 13] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0, 600.0];

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct RequestLabels {
    pub(crate) route: String,
    pub(crate) method: String,
    pub(crate) status: u16,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct StateLabel {
    pub(crate) state: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct VerdictLabels {
    pub(crate) verdict: String,
    pub(crate) domain: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct OutcomeLabel {
    pub(crate) outcome: String,
}

#[derive(Debug, Clone, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(crate) struct PluginLabels {
    pub(crate) plugin: String,
    pub(crate) status: String,
}

type Seconds = Gauge<f64, AtomicU64>;

/// All of it.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) requests: Family<RequestLabels, Counter>,
    pub(crate) request_seconds: Histogram,
    pub(crate) diagnosis_seconds: Histogram,
    pub(crate) outcomes: Family<OutcomeLabel, Counter>,
    pub(crate) verdicts: Family<VerdictLabels, Counter>,
    pub(crate) plugins: Family<PluginLabels, Counter>,
    pub(crate) reloads: Family<OutcomeLabel, Counter>,
    pub(crate) connections: Gauge<i64, AtomicI64>,
    pub(crate) refused_connections: Counter,
    pub(crate) spooled: Counter,
    queue: Family<StateLabel, Gauge<i64, AtomicI64>>,
    queue_age: Seconds,
    store_bytes: Gauge<i64, AtomicI64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("firstfault");
        let histogram = || Histogram::new(BOUNDS);
        let metrics = Self {
            requests: Family::default(),
            request_seconds: histogram(),
            diagnosis_seconds: histogram(),
            outcomes: Family::default(),
            verdicts: Family::default(),
            plugins: Family::default(),
            reloads: Family::default(),
            connections: Gauge::default(),
            refused_connections: Counter::default(),
            spooled: Counter::default(),
            queue: Family::default(),
            queue_age: Gauge::default(),
            store_bytes: Gauge::default(),
            registry: Registry::default(),
        };
        registry.register("http_requests", "Requests answered", metrics.requests.clone());
        registry.register_with_unit(
            "http_request",
            "Time to the answer",
            Unit::Seconds,
            metrics.request_seconds.clone(),
        );
        registry.register_with_unit(
            "diagnosis",
            "Time of one diagnosis",
            Unit::Seconds,
            metrics.diagnosis_seconds.clone(),
        );
        registry.register("diagnoses", "Diagnoses by what came of them", metrics.outcomes.clone());
        registry.register("verdicts", "Final verdicts by domain", metrics.verdicts.clone());
        registry.register("plugin_calls", "Diagnoses by plugin and what came of it", metrics.plugins.clone());
        registry.register("reloads", "Reloads by what came of them", metrics.reloads.clone());
        registry.register("connections", "Open connections", metrics.connections.clone());
        registry.register(
            "connections_refused",
            "Connections that were closed at once",
            metrics.refused_connections.clone(),
        );
        registry.register("spooled_reports", "Reports taken from the spool folder", metrics.spooled.clone());
        registry.register("queue_diagnoses", "Diagnoses by state", metrics.queue.clone());
        registry.register_with_unit(
            "queue_oldest_due",
            "How long the oldest of the queue is due",
            Unit::Seconds,
            metrics.queue_age.clone(),
        );
        registry.register_with_unit("store", "Size of the store", Unit::Bytes, metrics.store_bytes.clone());
        Self { registry, ..metrics }
    }
}

impl Metrics {
    /// In the text format.
    pub(crate) fn text(&self, counts: &Counts, now: i64) -> String {
        for (state, count) in &counts.states {
            let label = StateLabel { state: (*state).to_owned() };
            self.queue.get_or_create(&label).set(i64::try_from(*count).unwrap_or(i64::MAX));
        }
        let age = counts.oldest_due.map_or(0, |due| now.saturating_sub(due).max(0));
        self.queue_age.set(std::time::Duration::from_millis(u64::try_from(age).unwrap_or(0)).as_secs_f64());
        self.store_bytes.set(i64::try_from(counts.bytes).unwrap_or(i64::MAX));
        let mut out = String::new();
        // Writing to a string does not fail.
        match encode(&mut out, &self.registry) {
            Ok(()) => out,
            Err(std::fmt::Error) => String::new(),
        }
    }
}
