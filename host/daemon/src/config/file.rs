//! The configuration as it is written.

use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::units::{Bytes, Span};

/// The file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct File {
    /// Folder of what the daemon keeps; it makes it. [default: /var/lib/firstfault]
    pub state: Option<Spanned<PathBuf>>,
    /// Name of the cluster for workloads that do not say theirs.
    pub cluster: Option<String>,
    /// Folder where hooks leave what they could not hand over.
    pub spool: Option<Spanned<PathBuf>>,
    /// The unix socket.
    pub unix: Option<Unix>,
    /// TCP addresses.
    pub listen: Vec<Listen>,
    /// Tokens.
    pub token: Vec<TokenEntry>,
    /// Folders below which paths may be named.
    pub root: Vec<RootEntry>,
    /// The site's rules and plugins.
    pub rules: Rules,
    /// Revisions.
    pub revisions: Revisions,
    /// Limits.
    pub limits: LimitsEntry,
    /// How long things are kept.
    pub retention: RetentionEntry,
}

/// `[unix]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unix {
    /// Path of the socket.
    pub path: Spanned<PathBuf>,
    /// Its permissions, such as "0660". [default: 0666, since who connects is looked at]
    pub mode: Option<Spanned<String>>,
    /// Who may connect.
    #[serde(default)]
    pub allow: Vec<Allow>,
}

/// `[[unix.allow]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allow {
    /// Users by name or number; "*" is anybody.
    #[serde(default)]
    pub users: Vec<Spanned<String>>,
    /// Groups by name or number.
    #[serde(default)]
    pub groups: Vec<Spanned<String>>,
    /// What they may.
    pub roles: Vec<Spanned<String>>,
    /// Who vouches for what they push: host, workload or unverified. [default: unverified]
    pub trust: Option<Spanned<String>>,
}

/// `[[listen]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listen {
    /// Address and port.
    pub address: Spanned<String>,
    /// Chain of certificates in PEM.
    pub certificate: Option<Spanned<PathBuf>>,
    /// Private key in PEM.
    pub key: Option<Spanned<PathBuf>>,
    /// Names by which it may be called, besides its address.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// For launchers' agents that send no credentials.
    pub without_credentials: Option<Spanned<OpenEntry>>,
}

/// `without_credentials = {...}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenEntry {
    /// What they may: submit, read_own, read_all.
    pub roles: Vec<Spanned<String>>,
    /// Who vouches for what they push. [default: unverified]
    pub trust: Option<Spanned<String>>,
}

/// `[[token]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// Name of who has it; of a user of the cluster, if it may only submit own jobs.
    pub name: Spanned<String>,
    /// SHA-256 of the token in hexadecimal.
    pub sha256: Spanned<String>,
    /// What it may.
    pub roles: Vec<Spanned<String>>,
    /// Who vouches for what is pushed with it. [default: unverified]
    pub trust: Option<Spanned<String>>,
}

/// `[[root]]`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RootEntry {
    /// Absolute path.
    pub path: Spanned<PathBuf>,
    /// Where the logs of a job lie below it, such as "{user}/{id}".
    pub job: Option<Spanned<String>>,
    /// Who vouches for what lies below it. [default: unverified]
    pub trust: Option<Spanned<String>>,
    /// Whether whoever may submit may name what others own. [default: false]
    #[serde(default)]
    pub shared: bool,
}

/// `[rules]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rules {
    /// Folder of packs (*.toml).
    pub packs: Option<Spanned<PathBuf>>,
    /// Folder of plugins (*.wasm).
    pub plugins: Option<Spanned<PathBuf>>,
}

/// `[revisions]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Revisions {
    /// When after the first report. [default: 5m, 30m, 3h]
    pub after: Option<Vec<Spanned<Span>>>,
}

/// `[limits]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsEntry {
    /// Diagnoses at a time. [default: 2]
    pub workers: Option<Spanned<usize>>,
    /// Connections at a time. [default: 4096]
    pub connections: Option<Spanned<usize>>,
    /// Bytes of a body. [default: 16MiB]
    pub body: Option<Spanned<Bytes>>,
    /// Bytes of a body when it is unpacked. [default: 64MiB]
    pub unpacked: Option<Spanned<Bytes>>,
    /// Bytes of a session. [default: 256MiB]
    pub session: Option<Spanned<Bytes>>,
    /// Requests a second of one client. [default: 2000]
    pub rate: Option<Spanned<u32>>,
    /// Requests at once of one client. [default: 20000]
    pub burst: Option<Spanned<u32>>,
    /// Longest time of one diagnosis. [default: 10m]
    pub deadline: Option<Spanned<Span>>,
    /// Longest time of a request to arrive. [default: 30s]
    pub request: Option<Spanned<Span>>,
    /// Longest time of a graceful stop. [default: 60s]
    pub stop: Option<Spanned<Span>>,
}

/// `[retention]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RetentionEntry {
    /// Since the last change. [default: 90d]
    pub age: Option<Spanned<Span>>,
    /// Bytes of the store. [default: 10GiB]
    pub bytes: Option<Spanned<Bytes>>,
}
