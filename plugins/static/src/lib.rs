//! The `static` plugin: the context of an attempt from a document that lies beside its logs. [`find`] looks for it, [`convert`]
//! makes JSON of TOML; the host checks what it says.

pub mod convert;
pub mod find;

use firstfault_plugin::files::HostFiles;
use firstfault_plugin::{Attributes, Connector, Error, ExecutionContext, export_connector};

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct Static;

impl Connector for Static {
    fn describe() -> String {
        include_str!("../manifest.toml").to_owned()
    }

    fn resolve(_workload: Attributes) -> Result<Vec<ExecutionContext>, Error> {
        let context = match find::document(&HostFiles)? {
            Some(found) => ExecutionContext::parse(&found.json).map_err(|error| error.about(&found.name))?,
            // Nothing is known of the attempt but its logs.
            None => ExecutionContext::parse("{}")?,
        };
        Ok(vec![context])
    }
}

export_connector!(Static);
