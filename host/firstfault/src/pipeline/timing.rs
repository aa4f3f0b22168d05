//! How long the stages took. Told on request, and never part of a finding.

use std::time::{Duration, Instant};

/// A stop-watch.
#[derive(Debug)]
pub struct Timing {
    last: Instant,
    stages: Vec<(&'static str, Duration)>,
}

impl Default for Timing {
    fn default() -> Self {
        Self { last: Instant::now(), stages: Vec::new() }
    }
}

impl Timing {
    /// Ends a stage.
    pub fn mark(&mut self, stage: &'static str) {
        let now = Instant::now();
        self.stages.push((stage, now.duration_since(self.last)));
        self.last = now;
    }

    /// `load 3 ms, read 120 ms, ...`
    #[must_use]
    pub fn report(&self) -> String {
        let parts: Vec<String> = self
            .stages
            .iter()
            .map(|(stage, took)| {
                format!("{stage} {}.{:01} ms", took.as_millis(), took.subsec_micros() / 100 % 10)
            })
            .collect();
        parts.join(", ")
    }
}
