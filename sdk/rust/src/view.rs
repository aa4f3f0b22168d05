//! The evidence and the packs' tables, as a rule module sees them.

use crate::bindings::host::firstfault::plugin::{tables as host_tables, view as host};
use crate::{Attributes, RankRange};

pub use crate::bindings::host::firstfault::plugin::view::{Coverage, Event as SeenEvent, Group};

/// Most groups or events that the host gives in one call.
const PAGE: u32 = 1024;

/// Read-only queries over the evidence; the pages of the interface are put together. [`HostView`] is the host; a test
/// brings [`crate::testing::MemoryView`].
pub trait View {
    /// Groups of a symptom; `*` at the end is a wildcard.
    fn groups(&self, symptom: &str) -> Vec<Group>;
    /// Events of a group in canonical order.
    fn events(&self, group: u32) -> Vec<SeenEvent>;
    /// The first events of a group, at most so many and 1,024: enough to cite.
    fn first_events(&self, group: u32, limit: u32) -> Vec<SeenEvent>;
    /// Global ranks of a group's events.
    fn ranks(&self, group: u32) -> Vec<RankRange>;
    /// All ranks of the attempt that are known.
    fn all_ranks(&self) -> Vec<RankRange>;
    /// The node that a rank ran on.
    fn node_of(&self, rank: u32) -> Option<String>;
    /// Coverage of a source, by node.
    fn coverage_of(&self, source: &str) -> Vec<Coverage>;
    /// A scalar of the context.
    fn context(&self, key: &str) -> Option<String>;
}

/// Tables of the active packs. [`HostTables`] is the host.
pub trait Tables {
    /// The row of a table by its key; `None` if there is no such table or row.
    fn lookup(&self, table: &str, key: &str) -> Option<Attributes>;
}

/// The host's evidence.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostView;

impl View for HostView {
    fn groups(&self, symptom: &str) -> Vec<Group> {
        pages(PAGE, |offset| host::groups(symptom, offset, PAGE))
    }

    fn events(&self, group: u32) -> Vec<SeenEvent> {
        pages(PAGE, |offset| host::events(group, offset, PAGE))
    }

    fn first_events(&self, group: u32, limit: u32) -> Vec<SeenEvent> {
        host::events(group, 0, limit.min(PAGE))
    }

    fn ranks(&self, group: u32) -> Vec<RankRange> {
        host::ranks(group)
    }

    fn all_ranks(&self) -> Vec<RankRange> {
        host::all_ranks()
    }

    fn node_of(&self, rank: u32) -> Option<String> {
        host::node_of(rank)
    }

    fn coverage_of(&self, source: &str) -> Vec<Coverage> {
        pages(4 * PAGE, |offset| host::coverage_of(source, offset, 4 * PAGE))
    }

    fn context(&self, key: &str) -> Option<String> {
        host::context(key)
    }
}

/// The host's tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct HostTables;

impl Tables for HostTables {
    fn lookup(&self, table: &str, key: &str) -> Option<Attributes> {
        host_tables::lookup(table, key)
    }
}

/// Puts the pages of a query together; a page that is not full is the last.
fn pages<T>(full: u32, mut query: impl FnMut(u32) -> Vec<T>) -> Vec<T> {
    let mut all = Vec::new();
    let mut offset = 0_u32;
    loop {
        let page = query(offset);
        let length = u32::try_from(page.len()).unwrap_or(u32::MAX);
        all.extend(page);
        if length < full {
            return all;
        }
        offset = offset.saturating_add(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_put_together_until_one_is_not_full() {
        let all: Vec<u32> = (0..10).collect();
        let query = |limit: u32| {
            let all = all.clone();
            move |offset: u32| {
                all.iter().copied().skip(offset as usize).take(limit as usize).collect::<Vec<_>>()
            }
        };
        for limit in [3, 5, 10, 11] {
            assert_eq!(pages(limit, query(limit)), all, "{limit}");
        }
    }
}
