//! The collector's trait and its export.

use std::marker::PhantomData;

use crate::bindings::{collector, manifest};
use crate::{Error, ExecutionContext, Focus, Interest, Report};

/// Brings what is known of an attempt.
pub trait Collector {
    /// The plugin's manifest as TOML: a `[plugin]` table with `name`, `version`, `summary` and `sources`.
    fn describe() -> String;

    /// Attaches files and observes lines; the report says what came and what is missing.
    ///
    /// # Errors
    /// Nothing at all could be collected.
    fn collect(context: &ExecutionContext, focus: Focus, interest: Interest) -> Result<Report, Error>;
}

/// Joins a [`Collector`] to the exports of its component.
#[doc(hidden)]
#[derive(Debug)]
pub struct CollectorAdapter<T>(PhantomData<T>);

impl<T: Collector> manifest::exports::firstfault::plugin::manifest::Guest for CollectorAdapter<T> {
    fn describe() -> String {
        T::describe()
    }
}

impl<T: Collector> collector::exports::firstfault::plugin::collector::Guest for CollectorAdapter<T> {
    fn collect(context: &ExecutionContext, focus: Focus, interest: Interest) -> Result<Report, Error> {
        T::collect(context, focus, interest)
    }
}

/// Exports a [`Collector`] from the component.
#[macro_export]
macro_rules! export_collector {
    ($plugin:ident) => {
        $crate::__export!(
            $plugin,
            $crate::Collector,
            $crate::CollectorAdapter<$plugin>,
            [manifest: export_manifest, collector: export_collector_interface]
        );
    };
}
