//! The `files` plugin: finds the logs below the granted folders and hands each to the host's reader with what its place
//! and name say of it. The bytes never pass through here.
//!
//! [`walk`] goes through the folders, [`name`] reads one file's name, [`layout`] says what a path means, [`report`] sums up.

pub mod layout;
pub mod name;
pub mod report;
pub mod skip;
pub mod walk;

use std::collections::BTreeSet;

use firstfault_plugin::files::HostFiles;
use firstfault_plugin::{Collector, Error, ExecutionContext, Focus, Interest, Report, export_collector};

/// The plugin.
#[derive(Debug, Clone, Copy)]
pub struct LocalFiles;

impl Collector for LocalFiles {
    fn describe() -> String {
        include_str!("../manifest.toml").to_owned()
    }

    fn collect(context: &ExecutionContext, focus: Focus, interest: Interest) -> Result<Report, Error> {
        let wanted = walk::Wanted {
            nodes: nodes(context),
            focus: focus.nodes.into_iter().collect(),
            sources: interest.sources.into_iter().collect(),
        };
        Ok(walk::collect(&HostFiles, &wanted))
    }
}

/// All nodes of the context.
fn nodes(context: &ExecutionContext) -> BTreeSet<String> {
    const PAGE: u32 = 4096;
    let mut nodes = BTreeSet::new();
    for offset in (0..context.node_count()).step_by(PAGE as usize) {
        nodes.extend(context.nodes(offset, PAGE));
    }
    nodes
}

export_collector!(LocalFiles);
