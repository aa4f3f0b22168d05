//! WASI 0.2 for components whose language brings it: all of it virtual.
//!
//! The clock stands still, randomness follows from the component and its input, there is no environment, no argument, no
//! file and no network, and what is printed goes to the plugin's log. Waiting for the clock ends the call: it would depend
//! on the machine.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use wasmtime::component::{HasData, HasSelf, Linker, Resource, ResourceTable};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream, WasiCli, WasiCliView as _};
use wasmtime_wasi::clocks::{WasiClocks, WasiClocksView as _};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemView as _};
use wasmtime_wasi::p2::bindings as p2;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock;
use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};
use wasmtime_wasi::p2::{DynPollable, OutputStream, Pollable, StreamError, StreamResult};
use wasmtime_wasi::{HostWallClock, WasiCtx, WasiCtxView, WasiView};

use crate::bindings::log::Level;
use crate::host::Host;

/// Bytes of output that are kept for the log.
const MAX_OUTPUT: usize = 64 << 10;
/// Random bytes of one answer.
const MAX_RANDOM: u64 = 1 << 20;
/// Bytes that may be printed at a time.
const MAX_WRITE: usize = 4096;

/// The virtual system of one call.
pub(crate) struct Wasi {
    ctx: WasiCtx,
    output: Output,
    random: Random,
}

impl Wasi {
    /// A system at a time (nanoseconds since 1970) and with a seed.
    pub(crate) fn new(time: i64, seed: [u8; 32]) -> Self {
        let output = Output::default();
        let ctx = WasiCtx::builder()
            .wall_clock(StandingClock(Duration::from_nanos(u64::try_from(time).unwrap_or(0))))
            .stdout(output.clone())
            .stderr(output.clone())
            .build();
        Self { ctx, output, random: Random { seed, counter: 0 } }
    }
}

/// SHA-256 in counter mode.
struct Random {
    seed: [u8; 32],
    counter: u64,
}

impl Random {
    fn block(&mut self) -> [u8; 32] {
        self.counter += 1;
        Sha256::new().chain_update(self.seed).chain_update(self.counter.to_le_bytes()).finalize().into()
    }

    fn number(&mut self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.block();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl Host {
    fn random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        if len > MAX_RANDOM {
            return Err(crate::host::Stop::Limit(format!("{len} random bytes at once")).into());
        }
        let len = usize::try_from(len).unwrap_or(0);
        self.work(1 + len / 64)?;
        let random = &mut self.virtual_system().random;
        let mut bytes = Vec::with_capacity(len + 32);
        while bytes.len() < len {
            bytes.extend(random.block());
        }
        bytes.truncate(len);
        Ok(bytes)
    }

    fn random_number(&mut self) -> wasmtime::Result<u64> {
        self.work(1)?;
        Ok(self.virtual_system().random.number())
    }

    fn virtual_system(&mut self) -> &mut Wasi {
        self.wasi.get_or_insert_with(|| Wasi::new(0, [0; 32]))
    }
}

impl random::Host for Host {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(len)
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.random_number()
    }
}

impl insecure::Host for Host {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        self.random_bytes(len)
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.random_number()
    }
}

impl insecure_seed::Host for Host {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        Ok((self.random_number()?, self.random_number()?))
    }
}

struct StandingClock(Duration);

impl HostWallClock for StandingClock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        self.0
    }
}

impl monotonic_clock::Host for Host {
    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(0)
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(1)
    }

    fn subscribe_instant(&mut self, _: u64) -> wasmtime::Result<Resource<DynPollable>> {
        Err(no_waiting())
    }

    fn subscribe_duration(&mut self, _: u64) -> wasmtime::Result<Resource<DynPollable>> {
        Err(no_waiting())
    }
}

fn no_waiting() -> wasmtime::Error {
    crate::host::Stop::Trap("it waits for the clock, and a plugin's clock stands still".to_owned()).into()
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        let wasi = self.wasi.get_or_insert_with(|| Wasi::new(0, [0; 32]));
        WasiCtxView { ctx: &mut wasi.ctx, table: &mut self.resources }
    }
}

impl Host {
    /// Moves what was printed to the log.
    pub(crate) fn log_output(&mut self) {
        let Some(wasi) = &self.wasi else { return };
        let bytes = std::mem::take(&mut *wasi.output.0.lock().unwrap_or_else(PoisonError::into_inner));
        for line in String::from_utf8_lossy(&bytes).lines() {
            self.log.write(Level::Info, line);
        }
    }
}

struct HasTable;

impl HasData for HasTable {
    type Data<'a> = &'a mut ResourceTable;
}

/// Adds the interfaces. Input and output are asynchronous, so that components with WASI are called asynchronously.
pub(crate) fn add_to_linker(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let l = linker;
    p2::io::error::add_to_linker::<Host, HasTable>(l, |h| &mut h.resources)?;
    p2::io::poll::add_to_linker::<Host, HasTable>(l, |h| &mut h.resources)?;
    p2::io::streams::add_to_linker::<Host, HasTable>(l, |h| &mut h.resources)?;
    p2::clocks::wall_clock::add_to_linker::<Host, WasiClocks>(l, Host::clocks)?;
    monotonic_clock::add_to_linker::<Host, HasSelf<Host>>(l, |h| h)?;
    random::add_to_linker::<Host, HasSelf<Host>>(l, |h| h)?;
    insecure::add_to_linker::<Host, HasSelf<Host>>(l, |h| h)?;
    insecure_seed::add_to_linker::<Host, HasSelf<Host>>(l, |h| h)?;
    p2::cli::environment::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::exit::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::stdin::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::stdout::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::stderr::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::terminal_input::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::terminal_output::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::terminal_stdin::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::terminal_stdout::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::cli::terminal_stderr::add_to_linker::<Host, WasiCli>(l, Host::cli)?;
    p2::filesystem::types::add_to_linker::<Host, WasiFilesystem>(l, Host::filesystem)?;
    p2::filesystem::preopens::add_to_linker::<Host, WasiFilesystem>(l, Host::filesystem)?;
    Ok(())
}

/// Standard output and standard error of a plugin; what exceeds the bound is swallowed.
#[derive(Debug, Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Output {
    fn keep(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MAX_OUTPUT.saturating_sub(kept.len());
        kept.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(self.clone())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

#[wasmtime_wasi::async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}

impl OutputStream for Output {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        self.keep(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> Result<usize, StreamError> {
        Ok(MAX_WRITE)
    }
}

impl tokio::io::AsyncWrite for Output {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.keep(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
