//! What makes diagnoses, as the daemon sees it.

use std::fmt::Debug;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use firstfault_model::context::ContextDocument;
use firstfault_model::diagnosis::Diagnosis;
use firstfault_model::source::Trust;
use serde::Serialize;
use utoipa::ToSchema;

/// A folder or regular file that was opened beneath a granted root.
#[derive(Debug)]
pub struct Opened {
    /// Its name, from which its meaning may be read.
    pub name: String,
    /// Where it lies: tells things of equal names apart, and is not opened again.
    pub origin: PathBuf,
    /// The open folder or file.
    pub file: OwnedFd,
    /// Who vouches for what is in it.
    pub trust: Trust,
}

/// What is to be diagnosed.
#[derive(Debug, Default)]
pub struct Work {
    /// What is known of the attempt; what a folder's own context says comes second.
    pub context: ContextDocument,
    /// Folders and files to read.
    pub inputs: Vec<Opened>,
    /// What was given and is left out: its name and the reason. It shows in the finding.
    pub not_read: Vec<(String, String)>,
    /// Of several attempts in the logs the one that is meant.
    pub attempt_in_logs: Option<u32>,
}

/// Why no diagnosis was made. The same would fail again.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct DiagnoseError(pub String);

/// What a generation is made of.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct GenerationInfo {
    /// Digest of all rules.
    pub id: String,
    /// The packs.
    pub packs: Vec<PackInfo>,
    /// The plugins.
    pub plugins: Vec<PluginInfo>,
}

/// A pack of rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PackInfo {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Digest of its text.
    pub digest: String,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct PluginInfo {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Digest of its component.
    pub digest: String,
    /// `connector`, `collector`, `rules`.
    pub kind: String,
    /// `ok` or `refused`.
    pub status: String,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// What came of a reload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ReloadReport {
    /// `swapped`, `unchanged` or `refused`.
    pub outcome: String,
    /// The generation that is in use now.
    pub generation: String,
    /// Why the new one is not in use, each a line.
    pub reasons: Vec<String>,
    /// Tests of packs that passed.
    pub tests_passed: usize,
}

/// What makes diagnoses. Calls may block and may panic; the daemon sees to both.
pub trait Diagnoser: Send + Sync + Debug + 'static {
    /// Makes one, on the generation that is in use when it begins.
    ///
    /// # Errors
    /// It can never be made of this.
    fn diagnose(&self, work: Work) -> Result<Diagnosis, DiagnoseError>;

    /// The generation in use.
    fn generation(&self) -> GenerationInfo;

    /// Builds a generation of what the folders hold now and puts it into use if it is sound and another one.
    fn reload(&self) -> ReloadReport;

    /// The folders whose change is a reason to reload.
    fn folders(&self) -> Vec<PathBuf>;
}
