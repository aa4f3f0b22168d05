//! `sink`: where a collector's observations go.

use crate::attributes::shown;
use crate::bindings::sink::{Host as SinkHost, Observation};
use crate::bindings::types::Error;
use crate::host::{Host, Stop, UNIT, error, length};
use crate::limits::Limits;
use crate::spool::{Spool, SpooledLine};

/// Bytes of one line.
const MAX_LINE: usize = 1 << 20;
/// Streams of one call.
const MAX_STREAMS: usize = 200_000;

/// The observations of one call.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) spool: Spool,
    bytes_left: u64,
    /// Lines that were refused because the call had brought too much.
    pub(crate) refused: u64,
}

impl Sink {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { spool: Spool::new(limits.spool_memory_bytes), bytes_left: limits.spool_bytes, refused: 0 }
    }

    fn observe(
        &mut self,
        labels: Vec<(String, String)>,
        lines: Vec<Observation>,
    ) -> Result<Result<(), Error>, Stop> {
        let labels = match crate::labels::check(labels) {
            Ok(labels) => labels,
            Err(e) => return Ok(Err(error("malformed", e))),
        };
        let bad = lines.iter().find(|l| l.text.len() > MAX_LINE || l.text.contains(&b'\n'));
        if let Some(line) = bad {
            let start = String::from_utf8_lossy(line.text.get(..80).unwrap_or(&line.text));
            return Ok(Err(error(
                "malformed",
                format!("a line contains a line feed or has more than 1 MiB: '{}'", shown(&start)),
            )));
        }
        // Each line costs its length and what is kept beside it, so that empty lines are bounded as well.
        let bytes: u64 = lines.iter().map(|l| l.text.len() as u64 + 16).sum();
        let full = self.spool.streams() >= MAX_STREAMS && !self.spool.knows(&labels);
        let (Some(left), false) = (self.bytes_left.checked_sub(bytes), full) else {
            self.refused = self.refused.saturating_add(lines.len() as u64);
            return Ok(Err(error(
                "limit",
                "the observations of this call are too many; ask the store for fewer streams or a shorter window",
            )));
        };
        self.bytes_left = left;
        let lines = lines.into_iter().map(|l| SpooledLine { time: l.time, text: l.text });
        self.spool
            .add(labels, lines)
            .map_err(|e| Stop::Host(format!("observations cannot be written to a temporary file: {e}")))?;
        Ok(Ok(()))
    }
}

impl SinkHost for Host {
    fn observe(
        &mut self,
        labels: Vec<(String, String)>,
        lines: Vec<Observation>,
    ) -> wasmtime::Result<Result<(), Error>> {
        self.meter.tick_for(length(&labels))?;
        self.meter.spend(lines.iter().map(|line| line.text.len() + 16).sum::<usize>() / UNIT)?;
        Ok(self.sink.observe(labels, lines)?)
    }
}
