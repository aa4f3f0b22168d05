//! One call of one exported function on a fresh instance, with every limit set, and every way to fail told apart.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use wasmtime::component::{
    ComponentExportIndex, ComponentNamedList, Instance, InstancePre, Lift, Lower, ResourceTableError,
};
use wasmtime::{Store, Trap};

use crate::error::{PluginFailure, one_line};
use crate::gate::Gate;
use crate::host::{Host, Stop};
use crate::limits::Limits;

/// Fuel after which an asynchronous call looks whether its deadline has passed: about a millisecond.
const YIELD_INTERVAL: u64 = 1_000_000;

/// A component that is ready to be instantiated.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) pre: InstancePre<Host>,
    pub(crate) limits: Arc<Limits>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) plugin: Arc<str>,
    /// Whether calls have a deadline or import asynchronous functions.
    pub(crate) asynchronous: bool,
}

/// What a call may use up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    /// The exported function, as errors name it.
    pub(crate) call: &'static str,
    pub(crate) fuel: u64,
    pub(crate) transfer: usize,
    pub(crate) deadline: Option<Duration>,
}

/// Looks at an instance before it is called.
pub(crate) type Inspect<'a> = &'a (dyn Fn(&mut Store<Host>, &Instance) -> wasmtime::Result<()> + Sync);

/// A call that ended well.
pub(crate) struct Answer<R> {
    pub(crate) value: R,
    pub(crate) host: Host,
    /// Fuel that the call took, starting the instance not included.
    pub(crate) fuel: u64,
}

/// A call that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    /// The instance does not have the functions that its world requires.
    pub(crate) types: bool,
    pub(crate) failure: Box<PluginFailure>,
}

impl From<Failed> for PluginFailure {
    fn from(failed: Failed) -> Self {
        *failed.failure
    }
}

/// How far a call came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Start,
    Types,
    Call,
}

type Outcome<R> = Result<R, (Phase, wasmtime::Error)>;

impl Program {
    /// Calls an exported function.
    pub(crate) fn call<P, R>(
        &self,
        budget: Budget,
        mut host: Host,
        export: &ComponentExportIndex,
        params: P,
        inspect: Option<Inspect<'_>>,
    ) -> Result<Answer<R>, Failed>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let _permit = self.gate.enter();
        // A deadline that lies beyond what the clock holds is none.
        host.until(budget.deadline.and_then(|after| Instant::now().checked_add(after)));
        let store = self.store(&budget, host);
        let run = || {
            if self.asynchronous {
                self.run_on_own_thread(&budget, store, export, params, inspect)
            } else {
                let mut store = store;
                let outcome = self.run(&budget, &mut store, export, params, inspect);
                self.conclude(&budget, store, outcome)
            }
        };
        let ended = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
            Err(self.host_failure(&budget, "the host panicked while it served the plugin"))
        });
        if let Err(failed) = &ended {
            tracing::debug!(plugin = &*self.plugin, call = budget.call, failure = %failed.failure, "plugin call failed");
        }
        ended
    }

    fn store(&self, budget: &Budget, host: Host) -> Store<Host> {
        let mut store = Store::new(self.pre.engine(), host);
        store.limiter(|host| &mut host.limiter);
        store.set_hostcall_fuel(budget.transfer);
        store.set_max_component_handles(self.limits.handles);
        store
    }

    fn run<P, R>(
        &self,
        budget: &Budget,
        store: &mut Store<Host>,
        export: &ComponentExportIndex,
        params: P,
        inspect: Option<Inspect<'_>>,
    ) -> Outcome<R>
    where
        P: ComponentNamedList + Lower,
        R: ComponentNamedList + Lift + 'static,
    {
        store.set_fuel(self.limits.start_fuel).map_err(|e| (Phase::Start, e))?;
        let instance = self.pre.instantiate(&mut *store).map_err(|e| (Phase::Start, e))?;
        if let Some(inspect) = inspect {
            inspect(store, &instance).map_err(|e| (Phase::Types, e))?;
        }
        let function = instance.get_typed_func::<P, R>(&mut *store, export).map_err(|e| (Phase::Types, e))?;
        store.set_fuel(budget.fuel).map_err(|e| (Phase::Call, e))?;
        function.call(&mut *store, params).map_err(|e| (Phase::Call, e))
    }

    async fn run_async<P, R>(
        &self,
        budget: &Budget,
        store: &mut Store<Host>,
        export: &ComponentExportIndex,
        params: P,
        inspect: Option<Inspect<'_>>,
    ) -> Outcome<R>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let starting = |e| (Phase::Start, e);
        store.set_fuel(self.limits.start_fuel).map_err(starting)?;
        store.fuel_async_yield_interval(Some(YIELD_INTERVAL)).map_err(starting)?;
        let instance = self.pre.instantiate_async(&mut *store).await.map_err(starting)?;
        if let Some(inspect) = inspect {
            inspect(store, &instance).map_err(|e| (Phase::Types, e))?;
        }
        let function = instance.get_typed_func::<P, R>(&mut *store, export).map_err(|e| (Phase::Types, e))?;
        store.set_fuel(budget.fuel).map_err(|e| (Phase::Call, e))?;
        function.call_async(&mut *store, params).await.map_err(|e| (Phase::Call, e))
    }

    /// Asynchronous calls get a thread, because the caller may itself be a task of a runtime, which cannot wait for another.
    fn run_on_own_thread<P, R>(
        &self,
        budget: &Budget,
        mut store: Store<Host>,
        export: &ComponentExportIndex,
        params: P,
        inspect: Option<Inspect<'_>>,
    ) -> Result<Answer<R>, Failed>
    where
        P: ComponentNamedList + Lower + Send + Sync,
        R: ComponentNamedList + Lift + Send + Sync + 'static,
    {
        let work = move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_time()
                .build()
                .map_err(|e| self.host_failure(budget, &format!("no event loop could be made: {e}")))?;
            let outcome = runtime.block_on(async {
                let call = Box::pin(self.run_async(budget, &mut store, export, params, inspect));
                match budget.deadline {
                    Some(after) => tokio::time::timeout(after, call)
                        .await
                        .unwrap_or_else(|_| Err((Phase::Call, Stop::Deadline.into()))),
                    None => call.await,
                }
            });
            self.conclude(budget, store, outcome)
        };
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new()
                .name("plugin".to_owned())
                .spawn_scoped(scope, work)
                .map_err(|e| self.host_failure(budget, &format!("no thread could be started: {e}")))?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    fn conclude<R>(
        &self,
        budget: &Budget,
        mut store: Store<Host>,
        outcome: Outcome<R>,
    ) -> Result<Answer<R>, Failed> {
        store.data_mut().log_output();
        match outcome {
            Ok(value) => {
                let fuel = budget.fuel.saturating_sub(store.get_fuel().unwrap_or(0));
                Ok(Answer { value, host: store.into_data(), fuel })
            }
            Err((phase, error)) => {
                tracing::debug!(plugin = &*self.plugin, call = budget.call, error = ?error, "plugin call ended");
                let failure = self.classify(budget, phase, &error, store.data().limiter.refused.as_deref());
                Err(Failed { types: phase == Phase::Types, failure: Box::new(failure) })
            }
        }
    }

    fn host_failure(&self, budget: &Budget, reason: &str) -> Failed {
        let failure = PluginFailure::Host {
            plugin: Arc::clone(&self.plugin),
            call: budget.call,
            reason: reason.to_owned(),
        };
        Failed { types: false, failure: Box::new(failure) }
    }

    fn classify(
        &self,
        budget: &Budget,
        phase: Phase,
        error: &wasmtime::Error,
        refused: Option<&str>,
    ) -> PluginFailure {
        let (plugin, call) = (Arc::clone(&self.plugin), budget.call);
        if let Some(stop) = error.downcast_ref::<Stop>() {
            return match stop {
                Stop::Deadline => {
                    PluginFailure::Deadline { plugin, call, after: budget.deadline.unwrap_or_default() }
                }
                Stop::Limit(what) => PluginFailure::Limit { plugin, call, what: what.clone() },
                Stop::Malformed(what) => PluginFailure::Malformed { plugin, call, what: what.clone() },
                Stop::Trap(reason) => PluginFailure::Trap { plugin, call, reason: reason.clone() },
                Stop::Host(reason) => PluginFailure::Host { plugin, call, reason: reason.clone() },
            };
        }
        let trap = error.downcast_ref::<Trap>();
        if trap == Some(&Trap::OutOfFuel) {
            let fuel = if phase == Phase::Start { self.limits.start_fuel } else { budget.fuel };
            return PluginFailure::OutOfFuel { plugin, call, fuel };
        }
        // Memory that was refused usually shows as an abort somewhat later.
        if let Some(what) = refused {
            return PluginFailure::Limit { plugin, call, what: what.to_owned() };
        }
        let text = one_line(error);
        let full =
            error.downcast_ref::<ResourceTableError>().is_some_and(|e| matches!(e, ResourceTableError::Full));
        if full || text.contains("store handle limit exceeded") {
            let what = format!("more than {} handles at a time", self.limits.handles);
            return PluginFailure::Limit { plugin, call, what };
        }
        if trap == Some(&Trap::StackOverflow) {
            return PluginFailure::Limit { plugin, call, what: "its stack of 512 KiB".to_owned() };
        }
        if text.contains("too much data is being copied") {
            let what = format!("more than {} bytes at once", budget.transfer);
            return PluginFailure::Limit { plugin, call, what };
        }
        match (trap, phase) {
            (Some(trap), Phase::Start) => {
                PluginFailure::Trap { plugin, call, reason: format!("while it started: {trap}") }
            }
            (Some(trap), _) => PluginFailure::Trap { plugin, call, reason: trap.to_string() },
            // The machine, not the plugin, lacks something.
            (None, Phase::Start) if text.contains("os error") => {
                PluginFailure::Host { plugin, call, reason: format!("it cannot be started: {text}") }
            }
            (None, Phase::Start) => {
                PluginFailure::Limit { plugin, call, what: format!("it cannot be started: {text}") }
            }
            (None, Phase::Types) => PluginFailure::Malformed { plugin, call, what: text },
            (None, Phase::Call) => match error.downcast_ref::<wasmtime_wasi::I32Exit>() {
                Some(exit) => {
                    PluginFailure::Trap { plugin, call, reason: format!("it exited with status {}", exit.0) }
                }
                None => PluginFailure::Malformed { plugin, call, what: text },
            },
        }
    }
}
