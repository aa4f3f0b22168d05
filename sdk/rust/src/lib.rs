//! placeholder
pub mod bindings;
