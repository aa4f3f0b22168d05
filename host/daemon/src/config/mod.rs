//! The daemon's configuration: one TOML file, and a few variables of the environment over it.
//!
//! [`file`] is what is written, [`load`] reads and checks it and says at which line what is wrong; all that is wrong at once.

pub mod file;
mod load;
mod units;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use firstfault_model::source::Trust;

pub use load::{Complaint, ConfigError, VARIABLES, load, parse};

use crate::access::{Allowed, Roles, Token};

/// The checked configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// Folder of what the daemon keeps.
    pub state: PathBuf,
    /// Name of the cluster for workloads that do not say theirs.
    pub cluster: String,
    /// The unix socket.
    pub unix: Option<UnixListen>,
    /// TCP addresses.
    pub listen: Vec<TcpListen>,
    /// Tokens.
    pub tokens: Vec<Token>,
    /// Granted roots.
    pub roots: Vec<Root>,
    /// Folder of the site's packs.
    pub rules: Option<PathBuf>,
    /// Folder of the site's plugins.
    pub plugins: Option<PathBuf>,
    /// Folder where hooks leave what they could not hand over.
    pub spool: Option<PathBuf>,
    /// When revisions are due after the first report.
    pub revisions: Vec<Duration>,
    /// Limits.
    pub limits: Limits,
    /// How long things are kept.
    pub retention: Retention,
}

/// The unix socket.
#[derive(Debug, Clone)]
pub struct UnixListen {
    /// Path.
    pub path: PathBuf,
    /// Permissions of the socket.
    pub mode: u32,
    /// Who may connect, the first that fits.
    pub allow: Vec<Allowed>,
}

/// A TCP address.
#[derive(Debug, Clone)]
pub struct TcpListen {
    /// Address.
    pub address: SocketAddr,
    /// Certificate and key in PEM.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Names by which it may be called, besides its address.
    pub hosts: Vec<String>,
    /// For clients that send no credentials: what each of them may.
    pub open: Option<Open>,
}

/// What a client without credentials may.
#[derive(Debug, Clone)]
pub struct Open {
    /// Roles.
    pub roles: Roles,
    /// Trust of what it pushes.
    pub trust: Trust,
}

/// A folder below which paths may be named.
#[derive(Debug, Clone)]
pub struct Root {
    /// Absolute path.
    pub path: PathBuf,
    /// Where an attempt's logs are below it, with `{id}`, `{cluster}`, `{user}`, `{name}`.
    pub job: Option<String>,
    /// Who vouches for what lies below it.
    pub trust: Trust,
    /// Whether anybody who may submit may name what lies below it, whoever owns it.
    pub shared: bool,
}

/// Limits.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Diagnoses at a time.
    pub workers: usize,
    /// Connections at a time, on all addresses together.
    pub connections: usize,
    /// Bytes of one request's body.
    pub body: usize,
    /// Bytes of one request's body when it is unpacked.
    pub unpacked: usize,
    /// Bytes of one session's observations.
    pub session: u64,
    /// Requests a second of one client.
    pub rate: u32,
    /// Requests at once of one client.
    pub burst: u32,
    /// Longest time of one diagnosis.
    pub deadline: Duration,
    /// Longest time of a request to arrive.
    pub request: Duration,
    /// Longest time that a graceful stop waits for what is in work.
    pub stop: Duration,
}

/// How long things are kept.
#[derive(Debug, Clone)]
pub struct Retention {
    /// Since the last change.
    pub age: Duration,
    /// Bytes of the store.
    pub bytes: u64,
}
