//! Loads plugins: checks, compiles or takes stored code, links, and asks for the description.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::component::{Component, HasSelf, InstancePre, Linker};
use wasmtime::{Engine, Store};

use crate::bindings::{self, collecting, rules as wit_rules, types};
use crate::cache::CodeCache;
use crate::call::{Budget, Inspect, Program};
use crate::describe;
use crate::digest::digest;
use crate::engine;
use crate::error::{LoadError, RuntimeError, one_line};
use crate::format;
use crate::gate::Gate;
use crate::host::Host;
use crate::host::context::ContextHandle;
use crate::limits::Limits;
use crate::plugin::{Inner, Plugin};
use crate::precompiled::{self, Code, Precompiled};
use crate::worlds::{self, Shape, World};

/// How a runtime is set up.
#[derive(Debug, Clone, Default)]
pub struct RuntimeOptions {
    /// Private folder for compiled code; `None`: plugins without embedded code are compiled each time.
    pub cache_dir: Option<PathBuf>,
    /// Limits of all calls.
    pub limits: Limits,
}

/// Loads and runs plugins. One per process: it holds the engine.
pub struct Runtime {
    engine: Engine,
    compatibility: String,
    cache: Option<CodeCache>,
    limits: Arc<Limits>,
    gate: Arc<Gate>,
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime")
            .field("compatibility", &self.compatibility)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Runtime {
    /// Sets up the engine. A cache that cannot be used is logged and done without.
    ///
    /// # Errors
    /// The engine cannot be set up on this machine, for want of memory or of support for its processor.
    pub fn new(options: RuntimeOptions) -> Result<Self, RuntimeError> {
        let (engine, most) = engine::new_engine()?;
        let compatibility = engine::compatibility(&engine);
        let cache = options.cache_dir.and_then(|path| {
            CodeCache::open(&path)
                .inspect_err(
                    |error| tracing::warn!(folder = %path.display(), %error, "no cache of compiled code"),
                )
                .ok()
        });
        let gate = Gate::new(options.limits.concurrent_calls.clamp(1, most));
        Ok(Self { engine, compatibility, cache, limits: Arc::new(options.limits), gate: Arc::new(gate) })
    }

    /// The engine's settings, on which compiled code depends, in 64 hexadecimal digits.
    #[must_use]
    pub fn compatibility(&self) -> &str {
        &self.compatibility
    }

    /// Loads a plugin. `origin` says in errors where it came from. `precompiled` is used only where it was made of exactly
    /// these bytes for exactly these engine settings; else the component is compiled.
    ///
    /// # Errors
    /// It is no plugin of a known world, or does not describe itself.
    pub fn load(
        &self,
        origin: &str,
        wasm: &[u8],
        precompiled: Option<Precompiled<'_>>,
    ) -> Result<Plugin, LoadError> {
        self.load_within(origin, wasm, precompiled, &self.limits)
    }

    /// The same for a plugin that has limits of its own. How many calls run at one time stays the runtime's matter.
    ///
    /// # Errors
    /// As for [`Self::load`].
    pub fn load_within(
        &self,
        origin: &str,
        wasm: &[u8],
        precompiled: Option<Precompiled<'_>>,
        limits: &Arc<Limits>,
    ) -> Result<Plugin, LoadError> {
        check(origin, wasm, limits)?;
        let digest = digest(wasm);
        let component = match self.stored(origin, &digest, precompiled) {
            Some(component) => component,
            None => self.compile(origin, wasm, &digest)?,
        };
        let shape = worlds::inspect(origin, &self.engine, &component)?;
        let pre = self.link(origin, &component, &shape)?;
        let asynchronous = shape.wasi || shape.world != World::RuleModule;
        let mut program = Program {
            pre,
            limits: Arc::clone(limits),
            gate: Arc::clone(&self.gate),
            plugin: origin.into(),
            asynchronous,
        };
        let manifest = self.describe(origin, &program, &shape)?;
        let head = describe::head(origin, shape.world, &manifest)?;
        program.plugin = head.name.into();
        let Shape { world, wasi, functions, .. } = shape;
        let inner = Inner { program, version: head.version, digest, world, manifest, wasi, functions };
        Ok(Plugin { inner: Arc::new(inner) })
    }

    /// Compiles a component into bytes for [`Precompiled::embedded`].
    ///
    /// # Errors
    /// It is no component, or cannot be compiled.
    pub fn precompile(&self, origin: &str, wasm: &[u8]) -> Result<Vec<u8>, LoadError> {
        check(origin, wasm, &self.limits)?;
        let code = self.compiled(origin, || self.engine.precompile_component(wasm))?;
        Ok(precompiled::seal(&digest(wasm), &self.compatibility, &code))
    }

    /// Embedded code, or code of the cache, if it fits.
    pub(crate) fn stored(
        &self,
        origin: &str,
        digest: &str,
        embedded: Option<Precompiled<'_>>,
    ) -> Option<Component> {
        let from = |code: Result<Code<'_>, String>| {
            let component = code
                .and_then(|code| crate::trusted::deserialize(&self.engine, &code).map_err(|e| one_line(&e)));
            component
                .inspect_err(|reason| tracing::warn!(origin, reason, "stored code is not used, compiling"))
                .ok()
        };
        if let Some(component) = embedded.and_then(|f| from(Code::embedded(f, digest, &self.compatibility))) {
            return Some(component);
        }
        let file = self.cache.as_ref()?.get(&self.cache_name(digest))?;
        from(Code::cached(&file, digest, &self.compatibility))
    }

    fn compile(&self, origin: &str, wasm: &[u8], digest: &str) -> Result<Component, LoadError> {
        let component = self.compiled(origin, || Component::from_binary(&self.engine, wasm))?;
        if let Some(cache) = &self.cache {
            match component.serialize() {
                Ok(code) => cache
                    .put(&self.cache_name(digest), &precompiled::seal(digest, &self.compatibility, &code)),
                Err(error) => tracing::warn!(origin, %error, "compiled code cannot be stored"),
            }
        }
        Ok(component)
    }

    fn compiled<T>(
        &self,
        origin: &str,
        compile: impl FnOnce() -> wasmtime::Result<T>,
    ) -> Result<T, LoadError> {
        let failed = |reason: String| LoadError::Compile { origin: origin.to_owned(), reason };
        match catch_unwind(AssertUnwindSafe(compile)) {
            Ok(done) => done.map_err(|e| failed(one_line(&e))),
            Err(_) => Err(failed("the compiler panicked; report this with the component".to_owned())),
        }
    }

    fn cache_name(&self, digest: &str) -> String {
        let digest = digest.trim_start_matches("sha256:");
        format!("{digest}-{}.cwasm", self.compatibility.get(..16).unwrap_or(&self.compatibility))
    }

    fn link(
        &self,
        origin: &str,
        component: &Component,
        shape: &Shape,
    ) -> Result<InstancePre<Host>, LoadError> {
        type Own = HasSelf<Host>;
        let build = || {
            let mut linker = Linker::<Host>::new(&self.engine);
            let l = &mut linker;
            match shape.world {
                World::ContextConnector => {
                    bindings::connector::ContextConnector::add_to_linker::<_, Own>(l, |h| h)?;
                }
                World::TelemetryCollector => {
                    bindings::collector::TelemetryCollector::add_to_linker::<_, Own>(l, |h| h)?;
                }
                World::RuleModule => bindings::module::RuleModule::add_to_linker::<_, Own>(l, |h| h)?,
            }
            if shape.wasi {
                crate::wasi::add_to_linker(l)?;
            }
            linker.instantiate_pre(component)
        };
        build()
            .map_err(|e: wasmtime::Error| LoadError::Link { origin: origin.to_owned(), reason: one_line(&e) })
    }

    fn describe(&self, origin: &str, program: &Program, shape: &Shape) -> Result<String, LoadError> {
        let mut host = Host::new(&program.plugin, &program.limits);
        if shape.wasi {
            host.wasi = Some(crate::wasi::Wasi::new(0, [0; 32]));
        }
        let budget = Budget {
            call: "describe",
            fuel: program.limits.describe_fuel,
            transfer: describe::MAX_MANIFEST + (1 << 20),
            deadline: None,
        };
        let inspect: Inspect<'_> = &|store, instance| check_types(store, instance, shape);
        let answer = program.call::<_, (String,)>(budget, host, &shape.describe, (), Some(inspect));
        match answer {
            Ok(answer) => Ok(answer.value.0),
            Err(failed) if failed.types => {
                Err(LoadError::Link { origin: origin.to_owned(), reason: failed.failure.to_string() })
            }
            Err(failed) => Err(LoadError::Describe { origin: origin.to_owned(), failure: failed.failure }),
        }
    }
}

fn check(origin: &str, wasm: &[u8], limits: &Limits) -> Result<(), LoadError> {
    let limit = limits.component_bytes;
    if wasm.len() > limit {
        return Err(LoadError::TooLarge { origin: origin.to_owned(), size: wasm.len(), limit });
    }
    format::check(origin, wasm)
}

/// Finds out when loading, not when diagnosing, whether the exported functions have the types of their world.
fn check_types(
    store: &mut Store<Host>,
    instance: &wasmtime::component::Instance,
    shape: &Shape,
) -> wasmtime::Result<()> {
    type Handle = wasmtime::component::Resource<ContextHandle>;
    type Pairs<'a> = &'a [(String, String)];
    for (i, export) in shape.functions.iter().enumerate() {
        let s = &mut *store;
        match (shape.world, i) {
            (World::ContextConnector, _) => {
                instance.get_typed_func::<(Pairs<'_>,), (Result<Vec<Handle>, types::Error>,)>(s, export)?;
            }
            (World::TelemetryCollector, _) => {
                type Params = (Handle, collecting::Focus, collecting::Interest);
                instance.get_typed_func::<Params, (Result<collecting::Report, types::Error>,)>(s, export)?;
            }
            (World::RuleModule, 0) => {
                type Answer = (Result<Vec<wit_rules::Event>, types::Error>,);
                instance.get_typed_func::<(&[wit_rules::Hit],), Answer>(s, export)?;
            }
            (World::RuleModule, _) => {
                instance
                    .get_typed_func::<(), (Result<Vec<wit_rules::Amendment>, types::Error>,)>(s, export)?;
            }
        }
    }
    Ok(())
}
