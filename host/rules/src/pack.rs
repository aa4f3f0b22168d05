//! The grammar of a rule pack, as it is written in TOML. `docs/packs.md` explains it with examples.

use std::collections::BTreeMap;

use firstfault_model::context::ContextDocument;
use firstfault_model::diagnosis::{ExcludeAction, TerminalState};
use firstfault_model::taxonomy::{Domain, ExcludeScope, Owner, Restart};
use firstfault_model::time::Timestamp;
use serde::Deserialize;

use crate::duration::Span;

/// A pack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pack {
    /// Name and version.
    pub pack: Header,
    /// Literals that many of this pack's patterns share; a pattern that requires one is looked for by it.
    #[serde(default)]
    pub anchors: Vec<String>,
    /// What can be seen.
    #[serde(default, rename = "symptom")]
    pub symptoms: Vec<Symptom>,
    /// How it is recognised.
    #[serde(default, rename = "signature")]
    pub signatures: Vec<Signature>,
    /// What may explain what.
    #[serde(default, rename = "cause")]
    pub causes: Vec<Cause>,
    /// How progress is read.
    #[serde(default, rename = "probe")]
    pub probes: Vec<Probe>,
    /// Tables for rule modules: table, key, column.
    #[serde(default)]
    pub tables: BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>,
    /// Tests; a pack whose tests fail is not activated.
    #[serde(default, rename = "test")]
    pub tests: Vec<Test>,
}

/// Name and version.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// `[a-z0-9-]`, at most 32 bytes.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// One line for people.
    #[serde(default)]
    pub summary: String,
}

/// What an event of a symptom can be in the cause graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Can be a root cause, and is not explained by others unless a `[[cause]]` says so.
    Cause,
    /// Can only follow from something; never a root cause.
    Effect,
    /// A root cause when nothing explains it.
    Either,
    /// Says what to do; never a cause, never an effect that needs one.
    Advice,
    /// Harmless.
    Benign,
}

impl Role {
    /// The name in packs and documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cause => "cause",
            Self::Effect => "effect",
            Self::Either => "either",
            Self::Advice => "advice",
            Self::Benign => "benign",
        }
    }

    /// Whether it may explain others.
    #[must_use]
    pub const fn explains(self) -> bool {
        matches!(self, Self::Cause | Self::Either)
    }
}

/// Something that can be seen.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Symptom {
    /// Dotted, stable, never reused: `xid.149`; `xid.*` is the definition of all that have none of their own.
    pub id: String,
    /// What it can be.
    pub role: Role,
    /// Domain; required for `cause` and `either`.
    #[serde(default)]
    pub domain: Option<Domain>,
    /// Sub-domain; required for `cause` and `either`. For an `effect`: the sub-domain of `undetermined` that it leads to
    /// when nothing explains it (`peer_lost`, `hang`, `killed`, `stopped_from_outside`).
    #[serde(default)]
    pub sub_domain: Option<String>,
    /// A few words: "link of this GPU failed".
    pub title: String,
    /// What it means, one or two sentences.
    #[serde(default)]
    pub explain: String,
    /// What to do about it, one sentence.
    #[serde(default)]
    pub action: String,
    /// It leaves state that lasts beyond its attempt until a reset or reboot.
    #[serde(default)]
    pub lasting: bool,
    /// Symptoms that say at its place that it is over: the port came up, the server answers again.
    #[serde(default)]
    pub over: Vec<String>,
    /// A link of the node failed: on several nodes of one switch at once, and on no others, it is the switch.
    #[serde(default)]
    pub shared: bool,
    /// Order within one GPU or node when stamps tie: smaller is earlier.
    #[serde(default = "default_rank")]
    pub rank: u32,
    /// The state of the attempt that this line states (`DUE TO TIME LIMIT` states `timeout`).
    #[serde(default)]
    pub terminal: Option<TerminalState>,
    /// One attempt `ends` with it and another follows, or it `starts` one: what a workload that restarts writes.
    #[serde(default)]
    pub attempt: Option<Boundary>,
    /// The process it names cannot go on (a traceback at top level, a kill): it needs no further link to the end.
    #[serde(default)]
    pub fatal: bool,
    /// Takes the place of the sub-domain's owner.
    #[serde(default)]
    pub owner: Option<Owner>,
    /// Takes the place of the sub-domain's scope of exclusion.
    #[serde(default)]
    pub exclude: Option<ExcludeScope>,
    /// What to do with an excluded place; default by scope: drain a node, reset a GPU, inspect the rest.
    #[serde(default)]
    pub exclude_action: Option<ExcludeAction>,
    /// Takes the place of the sub-domain's restart advice.
    #[serde(default)]
    pub restart: Option<Restart>,
}

/// How a line parts attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Boundary {
    /// An attempt ends, and another follows.
    Ends,
    /// An attempt begins.
    Starts,
}

const fn default_rank() -> u32 {
    50
}

/// How a symptom is recognised in lines.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// Name within the pack; default: the symptom, or `self`, and a number.
    #[serde(default)]
    pub id: Option<String>,
    /// The host makes an event of this symptom.
    #[serde(default)]
    pub symptom: Option<String>,
    /// `self`: the hits go to the module that this pack comes from.
    #[serde(default)]
    pub module: Option<String>,
    /// Sources in which such a line is first-hand. In the output of a job (`app`) any line may be quoted.
    pub sources: Vec<String>,
    /// What the line contains (bytes; `(?u)` for Unicode). It must require a literal of at least 4 bytes.
    pub pattern: String,
    /// The line does not count if it contains this.
    #[serde(default)]
    pub unless: Option<String>,
    /// The form over several lines that the pattern is held against.
    #[serde(default)]
    pub block: Block,
    /// Captures that tell two hits at one place apart.
    #[serde(default)]
    pub key: Vec<String>,
    /// Field of the place (`node`, `rank`, `gpu`, `gpu_index`, `process`, `component`, `link`, `port`) to capture.
    #[serde(default)]
    pub place: BTreeMap<String, String>,
    /// Fact (`peer_node`, `peer_rank`, `caused_by`, `note`, ...) to capture.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// When it began, if the line says so.
    #[serde(default)]
    pub onset: Option<OnsetRule>,
    /// Counts only if no other signature took the line.
    #[serde(default)]
    pub fallback: bool,
    /// It only says where a rank ran (facts `of_rank` and `world`, and `device` and `bus` if told): not tried where a context says so.
    #[serde(default)]
    pub maps: bool,
}

/// Forms over several lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Block {
    /// The line alone.
    #[default]
    Line,
    /// A Python traceback, assembled per rank prefix; of chained ones the first. The pattern is held against its exception line (with
    /// prefixes peeled).
    Traceback,
    /// This line and the next two of the same prefix, peeled and joined by line feeds.
    ThreeLines,
}

/// When it began, if the line says so.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnsetRule {
    /// Capture that holds the milliseconds from the onset to the line.
    #[serde(default)]
    pub before_ms: Option<String>,
    /// Capture that holds seconds likewise.
    #[serde(default)]
    pub before_s: Option<String>,
}

/// Where an explanation must lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// On the GPU of the effect.
    SameGpu,
    /// In the process or rank of the effect.
    SameRank,
    /// On the node of the effect.
    SameNode,
    /// On the node or rank that the effect names as its peer.
    NamedPeer,
    /// Anywhere in the attempt.
    AnyRankOfJob,
}

/// What may explain a symptom.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// Symptom or pattern.
    pub effect: OneOrMany,
    /// Symptoms or patterns.
    pub by: Vec<String>,
    /// Where.
    #[serde(rename = "where")]
    pub place: Where,
    /// How far the cause's onset may lie from the effect's.
    #[serde(default)]
    pub within: Within,
}

/// One name or several.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One.
    One(String),
    /// Several.
    Many(Vec<String>),
}

impl OneOrMany {
    /// As a slice.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Many(many) => many,
        }
    }
}

/// How far the cause's onset may lie from the effect's.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Within {
    /// Before it.
    #[serde(default = "default_before")]
    pub before: Span,
    /// After it (clocks and polling are inexact).
    #[serde(default = "default_after")]
    pub after: Span,
}

impl Default for Within {
    fn default() -> Self {
        Self { before: default_before(), after: default_after() }
    }
}

const fn default_before() -> Span {
    Span(15 * 60 * 1_000_000_000)
}

const fn default_after() -> Span {
    Span(2_000_000_000)
}

/// How progress is read. Never an anchor: looked for at the ends of streams and around hits.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probe {
    /// Name.
    pub id: String,
    /// Sources.
    pub sources: Vec<String>,
    /// Pattern; captures `step`, and `step_ms` if the line tells the time of a step.
    pub pattern: String,
    /// What it shows.
    #[serde(default)]
    pub shows: Shows,
}

/// What a probe shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// A step was made.
    #[default]
    Step,
    /// The workload finished what it was to do.
    Completion,
}

/// A test of a pack.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// What it shows.
    pub name: String,
    /// Year and zone of stamps that carry none, and the context.
    #[serde(default)]
    pub context: TestContext,
    /// Source of the lines.
    #[serde(default)]
    pub source: Option<String>,
    /// Node of the lines.
    #[serde(default)]
    pub node: Option<String>,
    /// The lines.
    pub lines: Vec<String>,
    /// The events, all of them and no others; the order does not matter.
    #[serde(default)]
    pub expect: Vec<Expect>,
}

/// Year and zone of a test's stamps, and a context.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestContext {
    /// Year of stamps that carry none.
    #[serde(default)]
    pub year: Option<i32>,
    /// Zone of stamps that carry none.
    #[serde(default)]
    pub zone: Option<String>,
    /// A whole context.
    #[serde(default)]
    pub document: Option<ContextDocument>,
}

/// An event that a test expects; what is not stated is not compared.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Symptom id.
    pub symptom: String,
    /// Node.
    #[serde(default)]
    pub node: Option<String>,
    /// Global rank.
    #[serde(default)]
    pub rank: Option<u32>,
    /// PCI bus id.
    #[serde(default)]
    pub gpu: Option<String>,
    /// Link.
    #[serde(default)]
    pub link: Option<String>,
    /// Process.
    #[serde(default)]
    pub process: Option<String>,
    /// Port.
    #[serde(default)]
    pub port: Option<String>,
    /// How many lines.
    #[serde(default)]
    pub count: Option<u64>,
    /// Onset interval.
    #[serde(default)]
    pub onset: Option<ExpectOnset>,
    /// Facts that must be there.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
}

/// An onset interval that a test expects.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectOnset {
    /// Earliest.
    pub from: Timestamp,
    /// Latest.
    pub to: Timestamp,
}
