//! What ran, and what is known of it: connector and collectors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use firstfault_daemon::request::overlay;
use firstfault_model::context::{ContextDocument, ExecutionContext};
use firstfault_model::diagnosis::{LimitReached, NotRead, PluginRef};
use firstfault_model::source::{Source, Trust};
use firstfault_model::stream::StreamName;
use firstfault_model::time::Timestamp;
use firstfault_reader::recognise::{Content, recognise_file};
use firstfault_reader::{Input, Part};
use firstfault_runtime::{
    Attachment, Capabilities, FileGrants, Focus, Granted, Interest, Plugin, PluginFailure, ReportEntry,
    SpooledStream,
};
use rayon::prelude::*;

use crate::generation::Generation;
use crate::inputs::converted::{self, Converted};
use crate::inputs::{Given, Prepared};

/// Longest time of one collector on the paths of one command.
const DEADLINE: Duration = Duration::from_secs(120);

/// What was gathered.
#[derive(Debug)]
pub struct Gathered {
    /// What ran.
    pub context: ExecutionContext,
    /// The streams to read.
    pub inputs: Vec<Input>,
    /// What was given and left out.
    pub not_read: Vec<NotRead>,
    /// Limits that collectors reached.
    pub limits: Vec<LimitReached>,
    /// The plugins that ran.
    pub plugins: Vec<PluginRef>,
    /// Names of the collectors.
    pub collector: String,
    /// Keeps the temporary folder in which some of the streams lie.
    pub prepared: Prepared,
}

/// Parts of a stream with their numbers, the oldest with the smallest.
type NumberedParts = Vec<(u32, Arc<dyn Part>)>;

/// Asks the connector for the context and the collectors for the rest.
///
/// # Errors
/// A path that does not exist, or a context that is malformed.
///
/// `known` is what is known of the attempt besides; a context that is given comes second.
pub fn gather(
    generation: &Generation,
    mut prepared: Prepared,
    known: Option<&ContextDocument>,
) -> anyhow::Result<Gathered> {
    let roots = roots(&prepared.given);
    let labels: BTreeMap<String, String> =
        roots.iter().map(|(name, _, label)| (name.clone(), label.clone())).collect();
    let trusts: BTreeMap<String, Trust> =
        prepared.given.iter().zip(0..).map(|(given, i)| (root_name(i), given.trust)).collect();
    let granted = |(given, (name, path, _)): (&Given, (String, PathBuf, String))| {
        Ok(match &given.open {
            Some(open) => (name, Granted::Open(given.name.clone(), open.try_clone()?)),
            None => (name, Granted::Path(path)),
        })
    };
    let granted: io::Result<Vec<_>> = prepared.given.iter().zip(roots).map(granted).collect();
    let grants = FileGrants::of(granted.context("cannot hold what is given open")?)?;
    let capabilities = Capabilities { files: grants, deadline: DEADLINE };
    let mut plugins = generation.refused.clone();
    let connector = &generation.connector;
    let contexts = connector.resolve(&[], &capabilities).map_err(|failure| match failure {
        // What it says is of the files that it was given.
        PluginFailure::Error { message, .. } => anyhow::Error::msg(message),
        other => anyhow::Error::from(other).context("what ran cannot be read"),
    })?;
    plugins.push(plugin_ref(connector, None));
    let mut context = contexts.into_iter().next().unwrap_or_default();
    if let Some(known) = known {
        context = ExecutionContext::new(overlay(known.clone(), context.document))?;
    }
    let shared = Arc::new(context.clone());
    let interest = interest(generation);
    let mut streams: BTreeMap<StreamName, NumberedParts> = BTreeMap::new();
    let mut not_read = std::mem::take(&mut prepared.not_read);
    let only = |root: &str| {
        prepared.given.iter().zip(0..).find(|(_, i)| root == root_name(*i)).map(|(g, _)| &g.name)
    };
    let mut missing: BTreeMap<StreamName, u64> = BTreeMap::new();
    // A stream is worth what the least of its parts is.
    let mut least: BTreeMap<StreamName, Trust> = BTreeMap::new();
    let mut collectors = Vec::new();
    let mut limits = Vec::new();
    let mut attached = BTreeSet::new();
    let mut reports = Reports::default();
    for collector in &generation.collectors {
        match collector.collect(Arc::clone(&shared), &Focus::default(), &interest, &capabilities) {
            Err(failure) => {
                tracing::warn!(plugin = collector.name(), "{failure}");
                plugins.push(plugin_ref(collector, Some((failure.status(), failure.to_string()))));
            }
            Ok(collected) => {
                plugins.push(plugin_ref(collector, None));
                collectors.push(collector.name().to_owned());
                reports.add(collector.name(), collected.report.entries, &context);
                if collected.refused_lines > 0 {
                    limits.push(LimitReached {
                        what: format!("bytes of lines from the collector {}", collector.name()),
                        cap: collected.line_bytes_allowed,
                        dropped: collected.refused_lines,
                    });
                }
                // What several collectors attach is read once.
                let mut attachments = collected.attachments;
                attachments.retain(|a| attached.insert((a.root.clone(), a.path.clone())));
                for (attachment, seen) in seen(attachments) {
                    let prefix = labels.get(&attachment.root).map_or("", String::as_str);
                    let path = format!("{prefix}{}", attachment.path);
                    let name = stream_name(&attachment.labels, &path, prefix, &context);
                    let number = attachment.labels.get("part").and_then(|p| p.parse().ok()).unwrap_or(0);
                    let gap = attachment.labels.get("missing").and_then(|n| n.parse().ok()).unwrap_or(0_u64);
                    if gap > 0 {
                        *missing.entry(name.clone()).or_default() += gap;
                    }
                    let trust = trusts.get(&attachment.root).copied().unwrap_or(Trust::Unverified);
                    let mut add = |name: StreamName, part: Arc<dyn Part>| {
                        least.entry(name.clone()).and_modify(|t| *t = (*t).min(trust)).or_insert(trust);
                        streams.entry(name).or_default().push((number, part));
                    };
                    match seen.with_context(|| format!("cannot convert '{path}'"))? {
                        Seen::Lines => add(name, Arc::new(Attached(attachment))),
                        Seen::NoLog(reason) => not_read.push(NotRead { path, reason: reason.to_owned() }),
                        Seen::Converted(made) => {
                            for reason in made.left_out {
                                not_read.push(NotRead { path: path.clone(), reason });
                            }
                            if let Some(part) = made.whole {
                                add(name.clone(), Arc::new(part));
                            }
                            let (kernel, rest) = converted_names(name, made.host.as_deref(), &context);
                            if let Some(part) = made.kernel {
                                add(kernel, Arc::new(part));
                            }
                            if let Some(part) = made.rest {
                                add(rest, Arc::new(part));
                            }
                        }
                    }
                }
                for spooled in collected.spooled {
                    let name = stream_name(&spooled.labels, collector.name(), "", &context);
                    let part = SpooledFile::write(&spooled).context("cannot spool observations to disk")?;
                    // Which stream the refused lines were of is not known.
                    if collected.refused_lines > 0 {
                        *missing.entry(name.clone()).or_default() += 1;
                    }
                    streams.entry(name).or_default().push((0, Arc::new(part)));
                }
                for skipped in collected.skipped {
                    let prefix = labels.get(&skipped.root).map_or("", String::as_str);
                    let mut path = format!("{prefix}{}", skipped.path);
                    if skipped.path.is_empty() {
                        path = only(&skipped.root).cloned().unwrap_or(path);
                    }
                    not_read.push(NotRead { path, reason: skipped.reason });
                }
            }
        }
    }
    reports.apply(&mut streams, &mut missing);
    not_read.sort();
    plugins.sort_by(|a, b| (&a.name, &a.digest).cmp(&(&b.name, &b.digest)));
    let inputs = streams
        .into_iter()
        .map(|(name, mut parts)| {
            parts.sort_by_key(|(part, _)| *part);
            // Nobody vouches for where files came from that a person names.
            let trust = least.get(&name).copied().unwrap_or(Trust::Unverified);
            let missing = missing.get(&name).copied().unwrap_or(0);
            let parts = parts.into_iter().map(|(_, part)| part).collect();
            Input { name, trust, parts, missing }
        })
        .collect();
    collectors.sort();
    Ok(Gathered { context, inputs, not_read, limits, plugins, collector: collectors.join(","), prepared })
}

/// What collectors say is missing, by source and node.
#[derive(Debug, Default)]
struct Reports {
    /// Nothing came.
    failed: BTreeMap<StreamName, String>,
    /// Not all came, and how much is missing where that is said.
    partial: BTreeMap<(Source, Option<String>), u64>,
}

impl Reports {
    fn add(&mut self, collector: &str, entries: Vec<ReportEntry>, context: &ExecutionContext) {
        for entry in entries {
            let source = Source::parse(&entry.source);
            let node = entry.node.map(|n| context.node_named(&n).map_or(n.clone(), str::to_owned));
            match entry.status.as_str() {
                "failed" | "not_observable" => {
                    let why = entry.facts.get("why").map_or("no reason is given", String::as_str);
                    let what =
                        if entry.status == "failed" { "not collected" } else { "cannot be seen from here" };
                    let name = StreamName { source, node, name: format!("{collector} report"), rank: None };
                    self.failed.entry(name).or_insert_with(|| format!("{what}: {}", shown(why)));
                }
                "partial" => {
                    let told =
                        ["missing", "dropped"].iter().find_map(|key| entry.facts.get(*key)?.parse().ok());
                    let missing = self.partial.entry((source, node)).or_default();
                    *missing = missing.saturating_add(told.unwrap_or(1).max(1));
                }
                _ => {}
            }
        }
    }

    /// A source of which nothing came is a stream that cannot be read; one that is not whole has lost something.
    fn apply(
        self,
        streams: &mut BTreeMap<StreamName, NumberedParts>,
        missing: &mut BTreeMap<StreamName, u64>,
    ) {
        for name in streams.keys() {
            let all = self.partial.get(&(name.source.clone(), None));
            let own =
                name.node.as_ref().and_then(|_| self.partial.get(&(name.source.clone(), name.node.clone())));
            if let Some(lost) = own.or(all) {
                let known = missing.entry(name.clone()).or_default();
                *known = (*known).max(*lost);
            }
        }
        for (name, why) in self.failed {
            streams.entry(name).or_default().push((0, Arc::new(NotCollected(why))));
        }
    }
}

/// Text of a plugin in a message.
fn shown(text: &str) -> String {
    text.chars().take(200).collect()
}

/// In place of what a collector could not bring.
struct NotCollected(String);

impl Part for NotCollected {
    fn open(&self) -> io::Result<File> {
        Err(io::Error::other(self.0.clone()))
    }
}

/// How a plugin is named in the diagnosis.
#[must_use]
pub fn plugin_ref(plugin: &Plugin, failure: Option<(&str, String)>) -> PluginRef {
    let (status, detail) = failure.map_or(("ok", None), |(status, detail)| (status, Some(detail)));
    PluginRef {
        name: plugin.name().to_owned(),
        version: plugin.version().to_owned(),
        digest: plugin.digest().to_owned(),
        status: status.to_owned(),
        detail,
    }
}

/// The name under which plugins are granted what was given.
fn root_name(index: usize) -> String {
    format!("given-{index}")
}

/// Roots with the prefix of their streams' names. Their order is that of their own names, so that neither the order in which
/// paths were given nor the folder they lie in matters.
fn roots(given: &[Given]) -> Vec<(String, PathBuf, String)> {
    let several = given.len() > 1;
    let count = |name: &str| given.iter().filter(|g| g.name == name).count();
    let mut out = Vec::new();
    for (i, one) in given.iter().enumerate() {
        // A file carries its own name; folders, and files of equal names, are told apart by a prefix.
        let prefix = match (several, one.path.is_file(), count(&one.name)) {
            (false, ..) | (true, true, 1) => String::new(),
            (true, false, 1) => format!("{}/", one.name),
            _ => format!("{}/", distinct(one, given)),
        };
        out.push((root_name(i), one.path.clone(), prefix));
    }
    out
}

/// A path without what all paths of its name have in common.
fn distinct(one: &Given, given: &[Given]) -> String {
    let Some(parent) = one.origin.parent() else { return one.origin.display().to_string() };
    let others: Vec<&Path> =
        given.iter().filter(|g| g.name == one.name).filter_map(|g| g.origin.parent()).collect();
    let common = parent.ancestors().find(|a| others.iter().all(|o| o.starts_with(a)));
    let shown = common.and_then(|c| parent.strip_prefix(c).ok()).unwrap_or(parent);
    if one.path.is_file() { shown.display().to_string() } else { shown.join(&one.name).display().to_string() }
}

/// What the bytes of an attached file are.
enum Seen {
    Lines,
    NoLog(&'static str),
    Converted(Converted),
}

/// Looks into attached files, and converts those that are no lines as they are.
fn seen(attachments: Vec<Attachment>) -> Vec<(Attachment, io::Result<Seen>)> {
    let look = |attachment: &Attachment| -> io::Result<Seen> {
        // What cannot be opened any more is told by the reader.
        let Ok(file) = attachment.open() else { return Ok(Seen::Lines) };
        let Ok(content) = recognise_file(&file) else { return Ok(Seen::Lines) };
        Ok(match content {
            Content::NoLog(what) => Seen::NoLog(what),
            Content::Tar => Seen::NoLog("an archive within a folder is not read; give it by itself"),
            Content::Lines => Seen::Lines,
            content => converted::convert(content, file)?.map_or(Seen::Lines, Seen::Converted),
        })
    };
    attachments
        .into_par_iter()
        .map(|attachment| {
            let seen = look(&attachment);
            (attachment, seen)
        })
        .collect()
}

/// Names of the two parts of a converted file: the kernel's, and the rest, which is the system's log if its place or name does not
/// say what it is. The host that it names is its node, if none is known.
fn converted_names(
    mut name: StreamName,
    host: Option<&str>,
    context: &ExecutionContext,
) -> (StreamName, StreamName) {
    name.node = name.node.or_else(|| host.map(|h| context.node_named(h).unwrap_or(h).to_owned()));
    let rest = match &name.source {
        Source::Kernel | Source::Unstated => Source::Syslog,
        stated => stated.clone(),
    };
    (StreamName { source: Source::Kernel, ..name.clone() }, StreamName { source: rest, ..name })
}

fn stream_name(
    labels: &BTreeMap<String, String>,
    fallback: &str,
    prefix: &str,
    context: &ExecutionContext,
) -> StreamName {
    let node = labels.get("node").map(|n| context.node_named(n).unwrap_or(n).to_owned());
    StreamName {
        source: Source::parse(labels.get("source").map_or("", String::as_str)),
        node,
        name: labels.get("stream").map_or_else(|| fallback.to_owned(), |s| format!("{prefix}{s}")),
        rank: labels.get("rank").and_then(|r| r.parse().ok()),
    }
}

fn interest(generation: &Generation) -> Interest {
    let matcher = generation.rules.matcher();
    let mut sources: Vec<String> =
        matcher.signatures().iter().flat_map(|s| &s.sources).map(|s| s.name().to_owned()).collect();
    sources.sort();
    sources.dedup();
    let literals = matcher.anchors().iter().map(|a| String::from_utf8_lossy(a).into_owned()).collect();
    Interest { sources, literals, ..Interest::default() }
}

struct Attached(Attachment);

impl Part for Attached {
    fn open(&self) -> io::Result<File> {
        self.0.open()
    }
}

/// Observations, ordered and on disk, where the reader reads them as any file.
struct SpooledFile(File);

impl SpooledFile {
    fn write(spooled: &SpooledStream) -> io::Result<Self> {
        let mut file = io::BufWriter::new(tempfile::tempfile()?);
        for line in spooled.read()? {
            let line = line?;
            if let Some(time) = line.time {
                write!(file, "{} ", Timestamp(time))?;
            }
            file.write_all(&line.text)?;
            file.write_all(b"\n")?;
        }
        Ok(Self(file.into_inner().map_err(io::IntoInnerError::into_error)?))
    }
}

impl Part for SpooledFile {
    fn open(&self) -> io::Result<File> {
        self.0.try_clone()
    }
}
