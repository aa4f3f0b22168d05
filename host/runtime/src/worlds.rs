//! Which world a component targets, told from its exports and imports before anything is linked.

use std::collections::BTreeSet;

use wasmtime::Engine;
use wasmtime::component::{Component, ComponentExportIndex};

use crate::error::LoadError;

/// The worlds of `firstfault:plugin@0.1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum World {
    /// Says what ran.
    ContextConnector,
    /// Brings what is known of it.
    TelemetryCollector,
    /// Turns matched lines into events.
    RuleModule,
}

impl World {
    const ALL: [Self; 3] = [Self::ContextConnector, Self::TelemetryCollector, Self::RuleModule];

    /// Its name in the interface package.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ContextConnector => "context-connector",
            Self::TelemetryCollector => "telemetry-collector",
            Self::RuleModule => "rule-module",
        }
    }

    /// The interface that a component of this world exports besides `manifest`.
    const fn interface(self) -> &'static str {
        match self {
            Self::ContextConnector => "connector",
            Self::TelemetryCollector => "collector",
            Self::RuleModule => "rules",
        }
    }

    /// Functions of that interface.
    const fn functions(self) -> &'static [&'static str] {
        match self {
            Self::ContextConnector => &["resolve"],
            Self::TelemetryCollector => &["collect"],
            Self::RuleModule => &["extract", "refine"],
        }
    }

    /// Interfaces of the package that it may import. `types` has no functions and is always there.
    const fn imports(self) -> &'static [&'static str] {
        match self {
            Self::ContextConnector => &["types", "log", "context", "files", "http", "process"],
            Self::TelemetryCollector => &["types", "log", "context", "files", "http", "process", "sink"],
            Self::RuleModule => &["types", "log", "view", "tables"],
        }
    }
}

/// Interfaces of WASI 0.2 that every world may import, all of them virtual.
const WASI: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/stderr",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:cli/terminal-stderr",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:clocks/wall-clock",
    "wasi:clocks/monotonic-clock",
    "wasi:random/random",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:filesystem/types",
    "wasi:filesystem/preopens",
];

/// What a component is.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) world: World,
    /// Whether it imports anything of WASI.
    pub(crate) wasi: bool,
    pub(crate) describe: ComponentExportIndex,
    /// The functions of its world in the order of [`World::functions`].
    pub(crate) functions: Vec<ComponentExportIndex>,
}

/// `firstfault:plugin/NAME@0.1.x` to NAME.
fn own(name: &str) -> Option<&str> {
    let (interface, version) = name.strip_prefix("firstfault:plugin/")?.split_once('@')?;
    let version = semver::Version::parse(version).ok()?;
    (version.major == 0 && version.minor == 1 && version.pre.is_empty()).then_some(interface)
}

fn may_import(world: World, name: &str) -> bool {
    if let Some(interface) = own(name) {
        return world.imports().contains(&interface);
    }
    let Some((interface, version)) = name.split_once('@') else { return false };
    WASI.contains(&interface)
        && semver::Version::parse(version).is_ok_and(|v| v.major == 0 && v.minor == 2 && v.pre.is_empty())
}

/// Reads a component's world.
pub(crate) fn inspect(origin: &str, engine: &Engine, component: &Component) -> Result<Shape, LoadError> {
    let ty = component.component_type();
    let exports: Vec<&str> = ty.exports(engine).map(|(name, _)| name).collect();
    let imports: Vec<&str> = ty.imports(engine).map(|(name, _)| name).collect();
    let world = world_of(origin, &exports)?;

    let beyond: BTreeSet<&str> = imports.iter().copied().filter(|name| !may_import(world, name)).collect();
    if !beyond.is_empty() {
        return Err(LoadError::ImportsBeyondWorld {
            origin: origin.to_owned(),
            world: world.name(),
            imports: beyond.into_iter().map(|name| crate::text::printable(name, 200)).collect(),
        });
    }

    let function = |interface: &str, function: &str| {
        let name = exports.iter().find(|name| own(name) == Some(interface))?;
        let instance = component.get_export_index(None, *name)?;
        component.get_export_index(Some(&instance), function)
    };
    let lacks = |interface: &str, function: &str| LoadError::WrongWorld {
        origin: origin.to_owned(),
        reason: format!("it exports {interface} without its function `{function}`"),
        missing: vec![format!("{interface}.{function}")],
    };
    let describe = function("manifest", "describe").ok_or_else(|| lacks("manifest", "describe"))?;
    let mut functions = Vec::new();
    for name in world.functions() {
        functions.push(function(world.interface(), name).ok_or_else(|| lacks(world.interface(), name))?);
    }
    Ok(Shape { world, wasi: imports.iter().any(|name| name.starts_with("wasi:")), describe, functions })
}

fn world_of(origin: &str, exports: &[&str]) -> Result<World, LoadError> {
    let wrong = |reason: String, missing: Vec<String>| LoadError::WrongWorld {
        origin: origin.to_owned(),
        reason,
        missing,
    };
    let full = |interface: &str| format!("firstfault:plugin/{interface}@0.1.0");
    let has = |interface: &str| exports.iter().any(|name| own(name) == Some(interface));
    let worlds: Vec<World> = World::ALL.into_iter().filter(|w| has(w.interface())).collect();
    let seen = || {
        let seen: Vec<_> = exports.iter().take(8).map(|name| crate::text::printable(name, 200)).collect();
        if seen.is_empty() {
            "it exports nothing".to_owned()
        } else {
            format!("it exports {}", seen.join(", "))
        }
    };
    match *worlds.as_slice() {
        [world] if has("manifest") => Ok(world),
        [world] => {
            let missing = full("manifest");
            Err(wrong(format!("a {} must export {missing} as well", world.name()), vec![missing]))
        }
        [] => {
            let mut missing: Vec<String> = World::ALL.iter().map(|w| full(w.interface())).collect();
            let reason = format!("{}, and none of {}", seen(), missing.join(", "));
            if !has("manifest") {
                missing.push(full("manifest"));
            }
            Err(wrong(reason, missing))
        }
        _ => {
            let names: Vec<&str> = worlds.iter().map(|w| w.name()).collect();
            Err(wrong(
                format!("it is a {} at once; build one component for each", names.join(" and a ")),
                Vec::new(),
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_the_same_track_fit() {
        assert_eq!(own("firstfault:plugin/rules@0.1.0"), Some("rules"));
        assert_eq!(own("firstfault:plugin/rules@0.1.7"), Some("rules"));
        for name in
            ["firstfault:plugin/rules@0.2.0", "firstfault:plugin/rules", "other:plugin/rules@0.1.0", "rules"]
        {
            assert_eq!(own(name), None, "{name}");
        }
    }

    #[test]
    fn imports_by_world() {
        assert!(may_import(World::TelemetryCollector, "firstfault:plugin/sink@0.1.0"));
        assert!(!may_import(World::ContextConnector, "firstfault:plugin/sink@0.1.0"));
        assert!(!may_import(World::RuleModule, "firstfault:plugin/files@0.1.0"));
        assert!(may_import(World::RuleModule, "wasi:io/streams@0.2.6"));
        for name in ["wasi:io/streams@0.3.0", "wasi:sockets/tcp@0.2.0", "wasi:http/types@0.2.0", "env"] {
            assert!(!may_import(World::RuleModule, name), "{name}");
        }
    }

    #[test]
    fn missing_exports_are_named() {
        let text = |exports: &[&str]| world_of("p.wasm", exports).unwrap_err().to_string();
        assert!(text(&["firstfault:plugin/rules@0.1.0"]).contains("firstfault:plugin/manifest@0.1.0"));
        assert!(
            text(&["firstfault:plugin/rules@0.2.0"]).contains("it exports firstfault:plugin/rules@0.2.0")
        );
        assert!(text(&[]).contains("exports nothing"));
        assert!(
            text(&["firstfault:plugin/rules@0.1.0", "firstfault:plugin/collector@0.1.0"]).contains("at once")
        );
    }
}
