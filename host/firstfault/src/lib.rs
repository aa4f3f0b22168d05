//! The program: plugins, rules and engine put together.
//!
//! [`generation`] loads what decides a verdict, [`pipeline`] takes one attempt through it, [`packtest`] runs the tests of rule
//! packs, [`commands`] are what a person types.

pub mod arguments;
pub mod commands;
pub mod generation;
pub mod packtest;
pub mod pipeline;
