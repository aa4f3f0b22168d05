//! Lines for the operator, in the daemon's log under the plugin's name.

pub use crate::bindings::host::firstfault::plugin::log::{Level, write};

/// Something went wrong and was not put right.
#[macro_export]
macro_rules! error {
    ($($part:tt)*) => { $crate::log::write($crate::log::Level::Error, &::std::format!($($part)*)) };
}

/// Something is odd.
#[macro_export]
macro_rules! warn {
    ($($part:tt)*) => { $crate::log::write($crate::log::Level::Warn, &::std::format!($($part)*)) };
}

/// Something that an operator may want to know.
#[macro_export]
macro_rules! info {
    ($($part:tt)*) => { $crate::log::write($crate::log::Level::Info, &::std::format!($($part)*)) };
}

/// Something that the plugin's author wants to know.
#[macro_export]
macro_rules! debug {
    ($($part:tt)*) => { $crate::log::write($crate::log::Level::Debug, &::std::format!($($part)*)) };
}
