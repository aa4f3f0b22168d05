//! Sums up what was attached, by source and node.

use std::collections::BTreeMap;

use firstfault_plugin::{Facts, Report, ReportEntry};

/// What was found so far.
#[derive(Debug, Default)]
pub struct Tally {
    found: BTreeMap<(String, Option<String>), Found>,
    failed: Vec<(String, String)>,
    skipped: u64,
}

#[derive(Debug, Default)]
struct Found {
    files: u64,
    bytes: u64,
    refused: u64,
    why: Option<String>,
}

impl Tally {
    /// A file was attached.
    pub fn attached(&mut self, source: &str, node: Option<&str>, bytes: u64) {
        let found = self.at(source, node);
        found.files = found.files.saturating_add(1);
        found.bytes = found.bytes.saturating_add(bytes);
    }

    /// A file could not be attached.
    pub fn refused(&mut self, source: &str, node: Option<&str>, why: &str) {
        let found = self.at(source, node);
        found.refused = found.refused.saturating_add(1);
        found.why.get_or_insert_with(|| why.to_owned());
    }

    /// A folder could not be listed.
    pub fn failed(&mut self, folder: String, why: String) {
        self.failed.push((folder, why));
    }

    /// A file or folder was left out.
    pub fn skipped(&mut self) {
        self.skipped = self.skipped.saturating_add(1);
    }

    fn at(&mut self, source: &str, node: Option<&str>) -> &mut Found {
        self.found.entry((source.to_owned(), node.map(str::to_owned))).or_default()
    }

    /// The report.
    #[must_use]
    pub fn report(self) -> Report {
        let mut entries: Vec<ReportEntry> =
            self.found.into_iter().map(|((source, node), found)| found.entry(source, node)).collect();
        for (folder, why) in self.failed {
            let mut facts = Facts::new();
            facts.set("why", why);
            facts.set("folder", folder);
            entries.push(ReportEntry {
                source: "unstated".to_owned(),
                node: None,
                status: "failed".to_owned(),
                facts: facts.into(),
            });
        }
        let mut extra = Facts::new();
        extra.set("skipped", self.skipped.to_string());
        Report { entries, extra: extra.into() }
    }
}

impl Found {
    fn entry(self, source: String, node: Option<String>) -> ReportEntry {
        let status = match (self.files, self.bytes, self.refused) {
            (0, ..) => "failed",
            (_, _, 1..) => "partial",
            (_, 0, _) => "empty",
            _ => "ok",
        };
        let mut facts = Facts::new();
        facts.set("files", self.files.to_string());
        facts.set("bytes", self.bytes.to_string());
        if self.refused > 0 {
            facts.set("missing", self.refused.to_string());
        }
        facts.set_some("why", self.why);
        ReportEntry { source, node, status: status.to_owned(), facts: facts.into() }
    }
}
