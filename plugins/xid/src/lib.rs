//! The `xid` plugin: what the NVIDIA driver writes into the kernel log, as events `xid.N` (GPU), `sxid.N` (NVSwitch) and
//! `kernel.gpu_lost`. It says what a line says and no more; what the numbers mean, and what explains what, is in the packs.

pub mod body;
pub mod extract;
pub mod line;
pub mod nvlink5;
pub mod refine;
pub mod sxid;

use firstfault_plugin::{Amendment, Error, Event, Hit, RuleModule, Tables, View, export_rule_module};

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Xid;

impl RuleModule for Xid {
    fn describe() -> String {
        include_str!("../pack.toml").to_owned()
    }

    fn extract(hits: Vec<Hit>, tables: &dyn Tables) -> Result<Vec<Event>, Error> {
        Ok(extract::events(&hits, tables))
    }

    fn refine(view: &dyn View) -> Result<Vec<Amendment>, Error> {
        Ok(refine::amendments(view))
    }
}

export_rule_module!(Xid);
