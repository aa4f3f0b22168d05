//! The program: plugins, rules and engine put together.
//!
//! [`generation`] loads what decides a verdict, [`inputs`] makes files of what is given, [`pipeline`] takes one attempt through them,
//! [`packtest`] runs the tests of rule packs, [`commands`] are what a person types.

pub mod arguments;
pub mod commands;
pub mod generation;
pub mod inputs;
pub mod notify;
pub mod packtest;
pub mod pipeline;
pub mod served;
