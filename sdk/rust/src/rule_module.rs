//! The rule module's trait and its export, and what the three exports share.

use std::marker::PhantomData;

use crate::bindings::{manifest, rules};
use crate::view::{HostTables, HostView};
use crate::{Amendment, Error, Event, Hit, Tables, View};

/// Turns matched lines into events. Pure: what it answers follows from its arguments alone.
pub trait RuleModule {
    /// A rule pack as TOML; its signatures with `module = "self"` bring their hits to [`RuleModule::extract`].
    fn describe() -> String;

    /// Events of a batch of hits. Batches are independent of one another.
    ///
    /// # Errors
    /// Voids everything that the module contributed to this diagnosis.
    fn extract(hits: Vec<Hit>, tables: &dyn Tables) -> Result<Vec<Event>, Error>;

    /// Looks at the whole and amends. Called again while anything changes, so it should not repeat itself.
    ///
    /// # Errors
    /// Voids everything that the module contributed to this diagnosis.
    fn refine(view: &dyn View) -> Result<Vec<Amendment>, Error> {
        let _unused = view;
        Ok(Vec::new())
    }
}

/// Joins a [`RuleModule`] to the exports of its component.
#[doc(hidden)]
#[derive(Debug)]
pub struct RuleModuleAdapter<T>(PhantomData<T>);

impl<T: RuleModule> manifest::exports::firstfault::plugin::manifest::Guest for RuleModuleAdapter<T> {
    fn describe() -> String {
        T::describe()
    }
}

impl<T: RuleModule> rules::exports::firstfault::plugin::rules::Guest for RuleModuleAdapter<T> {
    fn extract(hits: Vec<Hit>) -> Result<Vec<Event>, Error> {
        T::extract(hits, &HostTables)
    }

    fn refine() -> Result<Vec<Amendment>, Error> {
        T::refine(&HostView)
    }
}

/// Exports a [`RuleModule`] from the component.
#[macro_export]
macro_rules! export_rule_module {
    ($plugin:ident) => {
        $crate::__export!(
            $plugin,
            $crate::RuleModule,
            $crate::RuleModuleAdapter<$plugin>,
            [manifest: export_manifest, rules: export_rules_interface]
        );
    };
}

/// Exports exist in components only: elsewhere several plugins may be linked into one program (a test), where they would
/// clash. There only the trait is checked.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($plugin:ident, $bound:path, $adapter:ty, [$($module:ident: $export:ident),*]) => {
        const _: () = {
            const fn implements<T: $bound>() {}
            implements::<$plugin>();
        };
        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, missing_docs, unreachable_pub, reason = "generated")]
        const _: () = {
            type Adapter = $adapter;
            $($crate::bindings::$module::$export!(Adapter with_types_in $crate::bindings::$module);)*
        };
    };
}
