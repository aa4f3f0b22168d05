//! The `nccl` plugin: what a collective library and its watchdog write into a job's output. All of it comes late and from those
//! who waited; what it is good for is who did *not* wait. [`refine`] looks for ranks that stayed silent and for ranks that were
//! in another collective than the rest.

pub mod extract;
pub mod mismatch;
pub mod refine;
pub mod silent;
pub mod timeouts;

use firstfault_plugin::{Amendment, Error, Event, Hit, RuleModule, Tables, View, export_rule_module};

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Nccl;

impl RuleModule for Nccl {
    fn describe() -> String {
        include_str!("../pack.toml").to_owned()
    }

    fn extract(hits: Vec<Hit>, _tables: &dyn Tables) -> Result<Vec<Event>, Error> {
        Ok(extract::events(&hits))
    }

    fn refine(view: &dyn View) -> Result<Vec<Amendment>, Error> {
        Ok(refine::amendments(view))
    }
}

export_rule_module!(Nccl);
