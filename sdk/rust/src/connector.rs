//! The connector's trait and its export.

use std::marker::PhantomData;

use crate::bindings::{connector, manifest};
use crate::{Attributes, Error, ExecutionContext};

/// Says what ran.
pub trait Connector {
    /// The plugin's manifest as TOML: a `[plugin]` table with `name`, `version` and `summary`.
    fn describe() -> String;

    /// Resolves a workload reference to its attempts, the newest first; none if there is no such workload.
    ///
    /// # Errors
    /// It could not be found out.
    fn resolve(workload: Attributes) -> Result<Vec<ExecutionContext>, Error>;
}

/// Joins a [`Connector`] to the exports of its component.
#[doc(hidden)]
#[derive(Debug)]
pub struct ConnectorAdapter<T>(PhantomData<T>);

impl<T: Connector> manifest::exports::firstfault::plugin::manifest::Guest for ConnectorAdapter<T> {
    fn describe() -> String {
        T::describe()
    }
}

impl<T: Connector> connector::exports::firstfault::plugin::connector::Guest for ConnectorAdapter<T> {
    fn resolve(workload: Attributes) -> Result<Vec<ExecutionContext>, Error> {
        T::resolve(workload)
    }
}

/// Exports a [`Connector`] from the component.
#[macro_export]
macro_rules! export_connector {
    ($plugin:ident) => {
        $crate::__export!(
            $plugin,
            $crate::Connector,
            $crate::ConnectorAdapter<$plugin>,
            [manifest: export_manifest, connector: export_connector_interface]
        );
    };
}
