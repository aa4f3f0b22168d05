//! `log`: a plugin's messages in the daemon's log, bounded and escaped.

use std::sync::Arc;

use crate::bindings::log::{Host as LogHost, Level};
use crate::host::Host;
use crate::text::printable;

/// Messages of one call that are written.
const MAX_MESSAGES: u32 = 256;
/// Bytes of one message.
const MAX_MESSAGE: usize = 1 << 10;

/// The log of one call.
#[derive(Debug)]
pub(crate) struct Log {
    plugin: Arc<str>,
    written: u32,
    left_out: u64,
}

impl Log {
    pub(crate) const fn new(plugin: Arc<str>) -> Self {
        Self { plugin, written: 0, left_out: 0 }
    }

    pub(crate) fn write(&mut self, level: Level, message: &str) {
        if self.written >= MAX_MESSAGES {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        self.written += 1;
        let plugin = &*self.plugin;
        let message = printable(message, MAX_MESSAGE);
        match level {
            Level::Error => tracing::error!(target: "firstfault::plugin", plugin, "{message}"),
            Level::Warn => tracing::warn!(target: "firstfault::plugin", plugin, "{message}"),
            Level::Info => tracing::info!(target: "firstfault::plugin", plugin, "{message}"),
            Level::Debug => tracing::debug!(target: "firstfault::plugin", plugin, "{message}"),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if self.left_out > 0 {
            tracing::warn!(target: "firstfault::plugin", plugin = &*self.plugin,
                "{} further messages of this call were left out", self.left_out);
        }
    }
}

impl LogHost for Host {
    fn write(&mut self, level: Level, message: String) -> wasmtime::Result<()> {
        self.meter.tick_for(message.len())?;
        self.log.write(level, &message);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_beyond_the_bound_are_counted() {
        let mut log = Log::new("p".into());
        for _ in 0..300 {
            log.write(Level::Info, "x");
        }
        assert_eq!((log.written, log.left_out), (256, 44));
    }
}
