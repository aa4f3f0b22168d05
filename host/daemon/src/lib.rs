//! The daemon: takes reports of ended workloads, keeps them, has them diagnosed and serves what came of it.
//!
//! ```text
//! listen ─> guard (host, origin, who, how often) ─> api, wires ─> intake ─> store
//!                                                                             │
//!                     spool folder of hooks ─> drain ─> intake               worker ─> Diagnoser ─> store
//! ```
//!
//! What a diagnosis is and how it is made is behind [`Diagnoser`]; how things are kept is behind `firstfault_store::Store`.

pub mod access;
mod api;
mod app;
mod body;
mod clock;
pub mod config;
mod diagnoser;
mod drain;
mod guard;
mod intake;
mod listen;
mod metrics;
mod observation;
mod paths;
mod problem;
pub mod request;
mod revision;
mod serve;
mod session;
mod watch;
mod wires;
mod worker;

pub use api::openapi;
pub use diagnoser::{
    DiagnoseError, Diagnoser, GenerationInfo, Opened, PackInfo, PluginInfo, ReloadReport, Work,
};
pub use serve::{ServeError, serve};
