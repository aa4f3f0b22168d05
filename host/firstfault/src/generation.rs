//! A generation: the plugins and rules that decide verdicts, loaded together and never changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use firstfault_model::diagnosis::{PackRef, PluginRef};
use firstfault_rules::load::{LoadedPack, load};
use firstfault_rules::ruleset::RuleSet;
use firstfault_runtime::{
    Limits, LoadError, Plugin, Precompiled, Runtime, RuntimeError, RuntimeOptions, Tables, World,
};

use crate::arguments::RuleOptions;

/// Plugins and rules.
#[derive(Debug)]
pub struct Generation {
    /// Connector for paths.
    pub connector: Plugin,
    /// Collectors, the site's before the shipped.
    pub collectors: Vec<Plugin>,
    /// Rule modules by name.
    pub modules: Vec<Plugin>,
    /// The rules.
    pub rules: Arc<RuleSet>,
    /// Plugins that could not be loaded, as the diagnosis names them.
    pub refused: Vec<PluginRef>,
}

/// Why a generation cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum GenerationError {
    /// The program was built without its plugins.
    #[error("this program was built without its plugins: run `cargo xtask build`")]
    NoPlugins,
    /// The runtime cannot start.
    #[error("the plugin runtime cannot start")]
    Runtime(#[from] RuntimeError),
    /// A shipped plugin cannot be loaded.
    #[error("the shipped plugin '{name}' cannot be loaded")]
    Plugin {
        /// Its name.
        name: String,
        /// Why.
        source: Box<LoadError>,
    },
    /// A pack is wrong.
    #[error("{0}")]
    Pack(String),
    /// A file cannot be read.
    #[error("cannot read '{path}'")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Generation {
    /// Loads the shipped plugins and packs, and the site's.
    ///
    /// # Errors
    /// What cannot be loaded. A site's plugin that cannot be is no error: it is named in each diagnosis.
    pub fn load(options: &RuleOptions) -> Result<Self, GenerationError> {
        let limits = match options.plugin_fuel {
            Some(millions) => Limits::default().with_fuel(millions.saturating_mul(1_000_000)),
            None => Limits::default(),
        };
        Self::with_limits(options, limits)
    }

    /// The same with these limits for each call of a plugin of the site.
    ///
    /// # Errors
    /// As for [`Self::load`].
    pub fn with_limits(options: &RuleOptions, limits: Limits) -> Result<Self, GenerationError> {
        let limits = Arc::new(limits);
        let runtime = Runtime::new(RuntimeOptions { cache_dir: cache_dir(), ..RuntimeOptions::default() })?;
        let mut shipped = Vec::new();
        for bundled in firstfault_bundle::plugins() {
            let precompiled = bundled.precompiled.map(Precompiled::embedded);
            let plugin = runtime.load(bundled.name, bundled.wasm, precompiled).map_err(|e| {
                GenerationError::Plugin { name: bundled.name.to_owned(), source: Box::new(e) }
            })?;
            shipped.push(plugin);
        }
        let mut guests = Vec::new();
        let mut refused = Vec::new();
        for path in &options.plugins {
            let name =
                path.file_stem().map_or_else(|| "plugin".to_owned(), |n| n.to_string_lossy().into_owned());
            let wasm =
                std::fs::read(path).map_err(|source| GenerationError::File { path: path.clone(), source })?;
            match runtime.load_within(&name, &wasm, None, &limits) {
                Ok(plugin) => guests.push(plugin),
                Err(error) => {
                    tracing::warn!(plugin = name, "not loaded: {error}");
                    refused.push(PluginRef {
                        name,
                        version: String::new(),
                        digest: firstfault_model::canonical::digest(&wasm),
                        status: "refused".into(),
                        detail: Some(error.to_string()),
                    });
                }
            }
        }
        Self::of(shipped, guests, refused, options.rules.as_deref())
    }

    fn of(
        shipped: Vec<Plugin>,
        guests: Vec<Plugin>,
        mut refused: Vec<PluginRef>,
        site: Option<&Path>,
    ) -> Result<Self, GenerationError> {
        let mut connector = None;
        let mut collectors: Vec<(bool, Plugin)> = Vec::new();
        let mut modules = Vec::new();
        let mut packs = Vec::new();
        let mut guest_modules = Vec::new();
        let own = shipped.len();
        let mut names = BTreeSet::new();
        // Which of two that call themselves alike is used does not depend on the order in which they were given.
        let mut guests = guests;
        guests.sort_by(|a, b| (a.name(), a.digest()).cmp(&(b.name(), b.digest())));
        for (i, plugin) in shipped.into_iter().chain(guests).enumerate() {
            if !names.insert(plugin.name().to_owned()) {
                let why =
                    format!("there is another plugin of the name '{}', or it is given twice", plugin.name());
                refused.push(refusal(&plugin, why));
                continue;
            }
            match plugin.world() {
                World::ContextConnector if i < own => connector = Some(plugin),
                World::ContextConnector => {
                    let why = "a connector is not asked about paths: those have their context with them";
                    refused.push(refusal(&plugin, why.to_owned()));
                }
                World::TelemetryCollector => collectors.push((i >= own, plugin)),
                World::RuleModule => match load(plugin.name(), plugin.manifest(), Some(plugin.name())) {
                    Ok(pack) if i < own => {
                        packs.push(pack.shipped());
                        modules.push(plugin);
                    }
                    Ok(pack) => guest_modules.push((plugin, pack)),
                    // A pack that does not fit is the module's fault, not the diagnosis's.
                    Err(error) => refused.push(refusal(&plugin, error.to_string())),
                },
            }
        }
        let connector = connector.filter(|_| !collectors.is_empty()).ok_or(GenerationError::NoPlugins)?;
        for bundled in firstfault_bundle::packs() {
            let pack = load(bundled.name, bundled.text, None);
            packs.push(pack.map_err(|e| GenerationError::Pack(e.to_string()))?.shipped());
        }
        packs.extend(site_packs(site)?);
        let mut rules = join(&packs)?;
        for (module, pack) in guest_modules {
            if packs.iter().any(|p| p.pack.pack.name == pack.pack.pack.name) {
                let why = format!("there is another pack of the name '{}'", pack.pack.pack.name);
                refused.push(refusal(&module, why));
                continue;
            }
            packs.push(pack);
            match join(&packs) {
                Ok(joined) => {
                    rules = joined;
                    modules.push(module);
                }
                // Nor must it keep the other packs from their work.
                Err(error) => {
                    packs.pop();
                    refused.push(refusal(&module, error.to_string()));
                }
            }
        }
        // The site's collectors choose first: the shipped one takes whatever looks like a log.
        collectors
            .sort_by(|(a_is_site, a), (b_is_site, b)| (b_is_site, a.name()).cmp(&(a_is_site, b.name())));
        let collectors = collectors.into_iter().map(|(_, collector)| collector).collect();
        modules.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(Self { connector, collectors, modules, rules: Arc::new(rules), refused })
    }

    /// The packs as the diagnosis names them.
    #[must_use]
    pub fn pack_refs(&self) -> Vec<PackRef> {
        let of = |p: &LoadedPack| PackRef {
            name: p.pack.pack.name.clone(),
            version: p.pack.pack.version.clone(),
            digest: p.digest.clone(),
            overrides: some_of(self.rules.overrides(&p.pack.pack.name)),
        };
        self.rules.packs().iter().map(of).collect()
    }

    /// The tables of the packs, for rule modules.
    #[must_use]
    pub fn tables(&self) -> Arc<dyn Tables> {
        Arc::new(PackTables(Arc::clone(&self.rules)))
    }
}

/// Most rows that a pack is listed to take the place of.
const MOST_OVERRIDES: usize = 32;

fn some_of(overrides: &[String]) -> Vec<String> {
    let more = overrides.len().saturating_sub(MOST_OVERRIDES);
    let listed = overrides.iter().take(MOST_OVERRIDES).cloned();
    listed.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

fn join(packs: &[LoadedPack]) -> Result<RuleSet, GenerationError> {
    RuleSet::new(packs.to_vec()).map_err(|e| GenerationError::Pack(e.to_string()))
}

/// A plugin that is not used, as the diagnosis names it.
fn refusal(plugin: &Plugin, why: String) -> PluginRef {
    tracing::warn!(plugin = plugin.name(), "not used: {why}");
    PluginRef {
        name: plugin.name().to_owned(),
        version: plugin.version().to_owned(),
        digest: plugin.digest().to_owned(),
        status: "refused".into(),
        detail: Some(why),
    }
}

struct PackTables(Arc<RuleSet>);

impl Tables for PackTables {
    fn lookup(&self, table: &str, key: &str) -> Option<Vec<(String, String)>> {
        let row = self.0.lookup(table, key)?;
        Some(row.iter().map(|(k, v)| (k.clone(), v.clone())).collect())
    }
}

fn site_packs(folder: Option<&Path>) -> Result<Vec<LoadedPack>, GenerationError> {
    let Some(folder) = folder else { return Ok(Vec::new()) };
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |source| GenerationError::File { path, source }
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail(folder))? {
        let path = entry.map_err(fail(folder))?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    let mut packs: BTreeMap<String, (&Path, LoadedPack)> = BTreeMap::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).map_err(fail(path))?;
        let pack = load(&path.display().to_string(), &text, None)
            .map_err(|e| GenerationError::Pack(e.to_string()))?;
        let name = pack.pack.pack.name.clone();
        if let Some((other, _)) = packs.insert(name.clone(), (path, pack)) {
            let why =
                format!("{} and {} are both packs of the name '{name}'", other.display(), path.display());
            return Err(GenerationError::Pack(why));
        }
    }
    Ok(packs.into_values().map(|(_, pack)| pack).collect())
}

/// Where compiled plugins of the site are kept; none without a home.
fn cache_dir() -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|p| p.is_absolute());
    base.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache")))
        .map(|p| p.join("firstfault"))
}
