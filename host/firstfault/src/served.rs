//! What the daemon has diagnoses made by: the pipeline, on a generation that can be swapped.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use firstfault_daemon::{
    DiagnoseError, Diagnoser, GenerationInfo, Opened, PackInfo, PluginInfo, ReloadReport, Work,
};
use firstfault_model::canonical::Digester;
use firstfault_model::diagnosis::{Diagnosis, NotRead};

use crate::arguments::RuleOptions;
use crate::generation::{Generation, GenerationError};
use crate::inputs::{self, Given};
use crate::packtest;
use crate::pipeline::timing::Timing;
use crate::pipeline::{self, Asked};

/// Bytes of packs and plugins that are looked at.
const MOST_BYTES: u64 = 256 << 20;

/// The pipeline on a generation that can be swapped.
#[derive(Debug)]
pub struct Served {
    packs: Option<PathBuf>,
    plugins: Option<PathBuf>,
    current: ArcSwap<Loaded>,
    /// Digest of the folders that were looked at last. Held while a generation is built.
    seen: Mutex<String>,
}

#[derive(Debug)]
struct Loaded {
    generation: Generation,
    id: String,
}

impl Served {
    /// Loads what the folders hold; of what is unsound there, nothing is used.
    ///
    /// # Errors
    /// What is shipped cannot be loaded, or a folder cannot be read.
    pub fn start(packs: Option<PathBuf>, plugins: Option<PathBuf>) -> anyhow::Result<Self> {
        let snapshot = Snapshot::take(packs.as_ref(), plugins.as_ref())?;
        let loaded = match build(&snapshot) {
            Ok((loaded, _)) => loaded,
            // A site's mistake must not keep jobs from being diagnosed.
            Err(error) if packs.is_some() || plugins.is_some() => {
                tracing::error!("the site's rules and plugins are not used: {error:#}");
                build(&Snapshot::take(None, None)?)?.0
            }
            Err(error) => return Err(error),
        };
        Ok(Self { packs, plugins, current: ArcSwap::from_pointee(loaded), seen: Mutex::new(snapshot.digest) })
    }
}

/// The folders' content at one moment, copied: what is written while a generation is built changes nothing in it.
struct Snapshot {
    digest: String,
    folder: tempfile::TempDir,
    options: RuleOptions,
}

impl Snapshot {
    fn take(packs: Option<&PathBuf>, plugins: Option<&PathBuf>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut digest = Digester::new("firstfault.folders/1");
        let mut options = RuleOptions::default();
        let mut left = MOST_BYTES;
        for (from, kind) in [(packs, "toml"), (plugins, "wasm")] {
            let Some(from) = from else { continue };
            let to = folder.path().join(kind);
            std::fs::create_dir(&to)?;
            for path in files(from, kind)? {
                let Some(name) = path.file_name() else { continue };
                // A file that is gone by now is as one that was never there.
                let bytes = match std::fs::read(&path) {
                    Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                    read => read.map_err(|e| anyhow::anyhow!("cannot read '{}': {e}", path.display()))?,
                };
                left = left.checked_sub(u64::try_from(bytes.len())?).ok_or_else(|| {
                    anyhow::anyhow!("the folders of rules and plugins hold more than 256 MiB")
                })?;
                digest.part(name.as_encoded_bytes());
                digest.part(&bytes);
                let copy = to.join(name);
                std::fs::write(&copy, bytes)?;
                if kind == "wasm" {
                    options.plugins.push(copy);
                }
            }
            if kind == "toml" {
                options.rules = Some(to);
            }
        }
        Ok(Self { digest: digest.finish(), folder, options })
    }
}

/// Files of a folder, sorted; none if it is not there.
fn files(folder: &std::path::Path, extension: &str) -> anyhow::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|e| anyhow::anyhow!("cannot read the folder '{}': {e}", folder.display()))?,
    };
    // Hidden files are what editors and volume mounts put there.
    let wanted = |path: &PathBuf| {
        path.extension().is_some_and(|e| e == extension)
            && path.file_name().is_some_and(|n| !n.as_encoded_bytes().starts_with(b"."))
            && path.is_file()
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(wanted).collect();
    paths.sort();
    Ok(paths)
}

fn build(snapshot: &Snapshot) -> anyhow::Result<(Loaded, usize)> {
    let generation = Generation::load(&snapshot.options).map_err(|error| named(error, snapshot))?;
    if let Some(refused) = generation.refused.first() {
        let why = refused.detail.as_deref().unwrap_or("no reason is given");
        anyhow::bail!("the plugin '{}' is refused: {why}", refused.name);
    }
    let outcome = packtest::run_all(&generation);
    anyhow::ensure!(outcome.failures.is_empty(), "tests of packs fail:\n{}", outcome.failures.join("\n"));
    let id = identify(&generation);
    Ok((Loaded { generation, id }, outcome.passed))
}

/// An error without the name of the copy's folder.
fn named(error: GenerationError, snapshot: &Snapshot) -> anyhow::Error {
    let text = format!("{:#}", anyhow::Error::from(error));
    anyhow::Error::msg(text.replace(&format!("{}/", snapshot.folder.path().display()), ""))
}

/// Rules and plugins together: collectors are none of the rules.
fn identify(generation: &Generation) -> String {
    let mut id = Digester::new("firstfault.generation/1");
    id.part(generation.rules.generation().as_bytes());
    for plugin in generation.collectors.iter().chain(&generation.modules) {
        id.part(plugin.digest().as_bytes());
    }
    id.finish()
}

impl Diagnoser for Served {
    fn diagnose(&self, work: Work) -> Result<Diagnosis, DiagnoseError> {
        let loaded = self.current.load_full();
        let fail = |error: anyhow::Error| DiagnoseError(format!("{error:#}"));
        let given = work.inputs.into_iter().map(given).collect();
        let mut prepared = inputs::prepare_open(given).map_err(fail)?;
        prepared.not_read.extend(work.not_read.into_iter().map(|(path, reason)| NotRead { path, reason }));
        let asked = Asked { attempt: work.attempt_in_logs, context: Some(work.context), ..Asked::default() };
        pipeline::diagnose_prepared(&loaded.generation, prepared, &asked, &mut Timing::default())
            .map_err(fail)
    }

    fn generation(&self) -> GenerationInfo {
        let loaded = self.current.load();
        let generation = &loaded.generation;
        let pack = |p: firstfault_model::diagnosis::PackRef| PackInfo {
            name: p.name,
            version: p.version,
            digest: p.digest,
        };
        let plugin = |kind: &str, p: &firstfault_runtime::Plugin| PluginInfo {
            name: p.name().to_owned(),
            version: p.version().to_owned(),
            digest: p.digest().to_owned(),
            kind: kind.to_owned(),
            status: "ok".to_owned(),
            detail: None,
        };
        let mut plugins = vec![plugin("connector", &generation.connector)];
        plugins.extend(generation.collectors.iter().map(|p| plugin("collector", p)));
        plugins.extend(generation.modules.iter().map(|p| plugin("rules", p)));
        GenerationInfo {
            id: loaded.id.clone(),
            packs: generation.pack_refs().into_iter().map(pack).collect(),
            plugins,
        }
    }

    fn reload(&self) -> ReloadReport {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let report = |outcome: &str, reasons: Vec<String>, tests_passed: usize| ReloadReport {
            outcome: outcome.to_owned(),
            generation: self.current.load().id.clone(),
            reasons,
            tests_passed,
        };
        let refused = |error: anyhow::Error| {
            let reasons = format!("{error:#}").lines().map(str::to_owned).collect();
            report("refused", reasons, 0)
        };
        let snapshot = match Snapshot::take(self.packs.as_ref(), self.plugins.as_ref()) {
            Ok(snapshot) => snapshot,
            Err(error) => return refused(error),
        };
        if snapshot.digest == *seen {
            return report("unchanged", Vec::new(), 0);
        }
        match build(&snapshot) {
            Err(error) => {
                // Looked at once: it is built again when something changes.
                seen.clone_from(&snapshot.digest);
                refused(error)
            }
            Ok((loaded, passed)) => {
                seen.clone_from(&snapshot.digest);
                let same = loaded.id == self.current.load().id;
                // Diagnoses in work hold the one that they began with.
                self.current.store(Arc::new(loaded));
                report(if same { "unchanged" } else { "swapped" }, Vec::new(), passed)
            }
        }
    }

    fn folders(&self) -> Vec<PathBuf> {
        self.packs.iter().chain(&self.plugins).cloned().collect()
    }
}

fn given(opened: Opened) -> Given {
    use std::os::fd::AsRawFd as _;
    let Opened { name, origin, file, trust } = opened;
    // The path of the open file itself, whatever lies at its place by now.
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Given { name, origin, path, open: Some(Arc::new(file)), trust }
}
