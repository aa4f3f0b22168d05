//! A loaded plugin, and its calls.

use std::fmt;
use std::sync::Arc;

use firstfault_model::context::ExecutionContext;
use firstfault_model::event::{Amendment, EventDraft};
use firstfault_model::time::Timestamp;
use wasmtime::component::{ComponentExportIndex, Resource};

use crate::attributes::check as check_attributes;
use crate::bindings::types::Error;
use crate::bindings::{collecting, rules as wit_rules};
use crate::call::{Answer, Budget, Program};
use crate::collect::{self, Collected, Focus, Interest};
use crate::digest::Fields;
use crate::error::PluginFailure;
use crate::evidence::{Tables, View};
use crate::grants::Capabilities;
use crate::host::Host;
use crate::host::context::ContextHandle;
use crate::rules::{self, RuleHit};
use crate::wasi::Wasi;
use crate::worlds::World;

/// A plugin that was loaded and described itself. Cheap to clone; calls may run side by side.
#[derive(Clone)]
pub struct Plugin {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) program: Program,
    pub(crate) version: String,
    pub(crate) digest: String,
    pub(crate) world: World,
    pub(crate) manifest: String,
    pub(crate) wasi: bool,
    pub(crate) functions: Vec<ComponentExportIndex>,
}

impl fmt::Debug for Plugin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plugin")
            .field("name", &self.name())
            .field("version", &self.version())
            .field("digest", &self.digest())
            .field("world", &self.world())
            .finish_non_exhaustive()
    }
}

/// The answer of a function that may return an error.
type Fallible<T> = (Result<T, Error>,);

impl Plugin {
    /// Its name, as it describes itself.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.program.plugin
    }

    /// Its version, as it describes itself.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.inner.version
    }

    /// Digest of the component: `sha256:` and 64 digits.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.inner.digest
    }

    /// Its world.
    #[must_use]
    pub fn world(&self) -> World {
        self.inner.world
    }

    /// The TOML text that it describes itself with; of a rule module its pack.
    #[must_use]
    pub fn manifest(&self) -> &str {
        &self.inner.manifest
    }

    /// Resolves a workload reference to its attempts, the newest first (a context connector).
    ///
    /// # Errors
    /// The call failed; nothing of it may be used.
    pub fn resolve(
        &self,
        reference: &[(String, String)],
        capabilities: &Capabilities,
    ) -> Result<Vec<ExecutionContext>, PluginFailure> {
        const CALL: &str = "resolve";
        let export = self.export(World::ContextConnector, CALL, 0)?;
        check_attributes(reference)
            .map_err(|e| self.malformed(CALL, format!("the workload reference: {e}")))?;
        let mut host = self.host();
        host.files.grants = capabilities.files.clone();
        self.add_wasi(&mut host, 0, |input| _ = input.add(CALL).add_pairs(reference));
        let answer: Answer<Fallible<Vec<Resource<ContextHandle>>>> =
            self.inner.program.call(self.collecting(CALL, capabilities), host, export, (reference,), None)?;
        let Answer { value, mut host, .. } = answer;
        let handles = self.accept(CALL, value)?;
        if handles.len() > collect::MAX_ATTEMPTS {
            let what = format!("{} attempts, where {} are allowed", handles.len(), collect::MAX_ATTEMPTS);
            return Err(self.malformed(CALL, what));
        }
        let mut contexts = Vec::with_capacity(handles.len());
        for handle in handles {
            let context = host.resources.delete(handle).map_err(|e| self.malformed(CALL, e.to_string()))?;
            contexts.push(Arc::unwrap_or_clone(context.0));
        }
        Ok(contexts)
    }

    /// Collects what is known of an attempt (a telemetry collector).
    ///
    /// # Errors
    /// The call failed; nothing of it may be used.
    pub fn collect(
        &self,
        context: Arc<ExecutionContext>,
        focus: &Focus,
        interest: &Interest,
        capabilities: &Capabilities,
    ) -> Result<Collected, PluginFailure> {
        const CALL: &str = "collect";
        let export = self.export(World::TelemetryCollector, CALL, 0)?;
        let mut host = self.host();
        host.files.grants = capabilities.files.clone();
        let end = context.document.end.map_or(0, |t| t.0);
        let id = context.document.id.clone().unwrap_or_default();
        self.add_wasi(&mut host, end, |input| _ = input.add(CALL).add(id).add(format!("{focus:?}")));
        let handle =
            host.resources.push(ContextHandle(context)).map_err(|e| self.malformed(CALL, e.to_string()))?;
        let borrowed: Resource<ContextHandle> = Resource::new_borrow(handle.rep());
        let params = (borrowed, collecting::Focus::from(focus), collecting::Interest::from(interest));
        let answer: Answer<Fallible<collecting::Report>> =
            self.inner.program.call(self.collecting(CALL, capabilities), host, export, params, None)?;
        let Answer { value, host, .. } = answer;
        let report = collect::report(self.accept(CALL, value)?).map_err(|e| self.malformed(CALL, e))?;
        let mut attachments = host.files.attachments;
        attachments.sort_by(|a, b| (&a.root, &a.path).cmp(&(&b.root, &b.path)));
        let mut skipped = host.files.skipped;
        skipped.sort_by(|a, b| (&a.root, &a.path, &a.reason).cmp(&(&b.root, &b.path, &b.reason)));
        let refused_lines = host.sink.refused;
        Ok(Collected {
            attachments,
            spooled: host.sink.spool.finish(),
            skipped,
            refused_lines,
            line_bytes_allowed: self.inner.program.limits.spool_bytes,
            report,
        })
    }

    /// Turns one batch of hits into events (a rule module). Hits of an event are indices into the batch.
    ///
    /// # Errors
    /// The call failed; nothing of it may be used.
    pub fn extract(
        &self,
        hits: &[RuleHit],
        tables: Arc<dyn Tables>,
    ) -> Result<Vec<EventDraft>, PluginFailure> {
        self.extract_counted(hits, tables).map(|(events, _)| events)
    }

    /// The same with the fuel that it took.
    pub(crate) fn extract_counted(
        &self,
        hits: &[RuleHit],
        tables: Arc<dyn Tables>,
    ) -> Result<(Vec<EventDraft>, u64), PluginFailure> {
        const CALL: &str = "extract";
        let export = self.export(World::RuleModule, CALL, 0)?;
        let mut host = self.host().with_evidence(tables, None);
        self.add_wasi(&mut host, 0, |input| {
            input.add(CALL);
            rules::digest(hits, input);
        });
        let batch: Vec<wit_rules::Hit> = hits.iter().map(Into::into).collect();
        let budget = self.ruling(CALL, self.inner.program.limits.extract_fuel);
        let answer: Answer<Fallible<Vec<wit_rules::Event>>> =
            self.inner.program.call(budget, host, export, (batch.as_slice(),), None)?;
        let events = self.accept(CALL, answer.value)?;
        let events = rules::events(events, hits.len()).map_err(|e| self.malformed(CALL, e))?;
        Ok((events, answer.fuel))
    }

    /// Looks at the whole and amends it (a rule module). Events are the numbers that the view gave.
    ///
    /// # Errors
    /// The call failed; nothing of it may be used.
    pub fn refine(
        &self,
        view: Arc<dyn View>,
        tables: Arc<dyn Tables>,
    ) -> Result<Vec<Amendment>, PluginFailure> {
        const CALL: &str = "refine";
        let export = self.export(World::RuleModule, CALL, 1)?;
        let end = view.context("end").and_then(|text| Timestamp::parse(&text)).map_or(0, |t| t.0);
        let id = view.context("id").unwrap_or_default();
        let mut host = self.host().with_evidence(tables, Some(view));
        self.add_wasi(&mut host, end, |input| _ = input.add(CALL).add(id));
        let budget = self.ruling(CALL, self.inner.program.limits.refine_fuel);
        let answer: Answer<Fallible<Vec<wit_rules::Amendment>>> =
            self.inner.program.call(budget, host, export, (), None)?;
        let amendments = self.accept(CALL, answer.value)?;
        rules::amendments(amendments, &answer.host.evidence.handed).map_err(|e| self.malformed(CALL, e))
    }

    fn export(
        &self,
        world: World,
        call: &'static str,
        function: usize,
    ) -> Result<&ComponentExportIndex, PluginFailure> {
        let found = self.inner.functions.get(function).filter(|_| self.inner.world == world);
        found.ok_or_else(|| PluginFailure::Unsupported {
            plugin: Arc::clone(&self.inner.program.plugin),
            call,
            world: self.inner.world.name(),
        })
    }

    fn host(&self) -> Host {
        Host::new(&self.inner.program.plugin, &self.inner.program.limits)
    }

    /// Adds the virtual system where the component imports it: its seed is the component and the input.
    fn add_wasi(&self, host: &mut Host, time: i64, input: impl FnOnce(&mut Fields)) {
        if self.inner.wasi {
            let mut seed = Fields::default();
            seed.add(&self.inner.digest);
            input(&mut seed);
            host.wasi = Some(Wasi::new(time, seed.finish()));
        }
    }

    fn collecting(&self, call: &'static str, capabilities: &Capabilities) -> Budget {
        let limits = &self.inner.program.limits;
        Budget {
            call,
            fuel: limits.collect_fuel,
            transfer: limits.collect_transfer_bytes,
            deadline: Some(capabilities.deadline),
        }
    }

    fn ruling(&self, call: &'static str, fuel: u64) -> Budget {
        Budget { call, fuel, transfer: self.inner.program.limits.rule_transfer_bytes, deadline: None }
    }

    fn accept<T>(&self, call: &'static str, (value,): Fallible<T>) -> Result<T, PluginFailure> {
        value.map_err(|error| collect::failure(&self.inner.program.plugin, call, error))
    }

    fn malformed(&self, call: &'static str, what: String) -> PluginFailure {
        PluginFailure::Malformed { plugin: Arc::clone(&self.inner.program.plugin), call, what }
    }
}
