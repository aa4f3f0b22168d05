//! What `bindgen!` makes of the plugin interfaces: one module per world, the shared interfaces generated once.
//!
//! All imports may trap, so that a host function can end a call that exhausted a limit. The exported functions are
//! called through typed functions, because one world is called both synchronously and asynchronously.

/// The world `telemetry-collector`, and the interfaces that it shares with the others.
pub(crate) mod collector {
    wasmtime::component::bindgen!({
        path: "../../wit/0.1.0",
        world: "telemetry-collector",
        imports: { default: trappable },
        with: {
            "firstfault:plugin/context.execution-context": crate::host::context::ContextHandle,
            "firstfault:plugin/http.exchange": crate::host::http::Exchange,
        },
    });
}

/// The world `context-connector`.
pub(crate) mod connector {
    wasmtime::component::bindgen!({
        path: "../../wit/0.1.0",
        world: "context-connector",
        imports: { default: trappable },
        with: {
            "firstfault:plugin/types": crate::bindings::collector::firstfault::plugin::types,
            "firstfault:plugin/log": crate::bindings::collector::firstfault::plugin::log,
            "firstfault:plugin/context": crate::bindings::collector::firstfault::plugin::context,
            "firstfault:plugin/files": crate::bindings::collector::firstfault::plugin::files,
            "firstfault:plugin/http": crate::bindings::collector::firstfault::plugin::http,
            "firstfault:plugin/process": crate::bindings::collector::firstfault::plugin::process,
        },
    });
}

/// The world `rule-module`.
pub(crate) mod module {
    wasmtime::component::bindgen!({
        path: "../../wit/0.1.0",
        world: "rule-module",
        imports: { default: trappable },
        with: {
            "firstfault:plugin/types": crate::bindings::collector::firstfault::plugin::types,
            "firstfault:plugin/log": crate::bindings::collector::firstfault::plugin::log,
        },
    });
}

pub(crate) use collector::exports::firstfault::plugin::collector as collecting;
pub(crate) use collector::firstfault::plugin::{context, files, http, log, process, sink, types};
pub(crate) use module::exports::firstfault::plugin::rules;
pub(crate) use module::firstfault::plugin::{tables, view};
