//! Compiled signatures: shared anchors find candidate lines, required literals choose the signatures to try, the
//! precise pattern decides.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind, packed};
use firstfault_model::source::Source;
use regex::bytes::{Regex, RegexBuilder};

use crate::load::{LoadedPack, MIN_LITERAL, signature_name};
use crate::pack::{Block, Probe, Signature};

/// Most anchors that all packs together may need.
pub const MAX_ANCHORS: usize = 256;
/// Bytes of an anchor that are looked for; more would not make it rarer.
const ANCHOR_LENGTH: usize = 24;
/// Anchors that one packed search takes. With more than this its false candidates multiply: three searches for 46 are four
/// times as fast as one for 128.
const GROUP: usize = 46;
/// Notices of loggers that lines are missing, and what a file system leaves where a node went down before it wrote them.
const LOSS_MARKERS: [&[u8]; 7] = [
    b"\0\0\0\0\0\0\0\0",
    b" callbacks suppressed",
    b" messages suppressed",
    b" messages from ",
    b"message repeated ",
    b"x across cluster]",
    b"Rate limiting GSP RPC error prints",
];
static IDENTITY: AtomicUsize = AtomicUsize::new(1);
/// The first line of every Python traceback.
pub const TRACEBACK: &[u8] = b"Traceback (most recent call last)";

/// Who gets the hits of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consumer {
    /// The host makes events of this symptom.
    Symptom(String),
    /// The rule module of this name.
    Module(String),
}

/// One signature, ready to be tried.
#[derive(Debug)]
pub struct CompiledSignature {
    /// `pack/name`.
    pub id: String,
    /// Its name within the pack.
    pub name: String,
    /// Who gets its hits.
    pub consumer: Consumer,
    /// As it is written.
    pub spec: Signature,
    /// Sources in which it is first-hand.
    pub sources: Vec<Source>,
    pattern: LazyPattern,
    unless: Option<LazyPattern>,
}

impl CompiledSignature {
    /// The precise pattern; `None` if it is too large to compile (which `check` refuses).
    pub fn pattern(&self) -> Option<&Regex> {
        self.pattern.get()
    }

    /// Whether the line is excepted.
    pub fn excepted(&self, line: &[u8]) -> bool {
        self.unless.as_ref().and_then(LazyPattern::get).is_some_and(|r| r.is_match(line))
    }

    /// Whether it is tried on a stream of this source. In the output of a job, and in a file of no stated kind, any line
    /// may be quoted; a system log holds the kernel's lines.
    #[must_use]
    pub fn applies_to(&self, source: &Source) -> bool {
        match source {
            Source::App | Source::Unstated => true,
            Source::Syslog => self.first_hand_in(source),
            _ => self.sources.contains(source),
        }
    }

    /// Whether a line in such a stream is first-hand: written by whom it speaks of.
    #[must_use]
    pub fn first_hand_in(&self, source: &Source) -> bool {
        self.sources.contains(source)
            || *source == Source::Unstated
            || (*source == Source::Syslog && self.sources.contains(&Source::Kernel))
    }
}

#[derive(Debug)]
struct LazyPattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl LazyPattern {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: OnceLock::new() }
    }

    fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| compile(&self.text).ok()).as_ref()
    }
}

fn compile(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).unicode(false).size_limit(4 << 20).build()
}

/// One probe, ready to be tried.
#[derive(Debug)]
pub struct CompiledProbe {
    /// `pack/id`.
    pub id: String,
    /// As it is written.
    pub spec: Probe,
    /// Sources.
    pub sources: Vec<Source>,
    /// One of these is in every matching line.
    pub literals: Vec<Vec<u8>>,
    pattern: LazyPattern,
}

impl CompiledProbe {
    /// The pattern.
    pub fn pattern(&self) -> Option<&Regex> {
        self.pattern.get()
    }
}

/// Anchors that are searched for together.
enum Anchors {
    Packed(packed::Searcher),
    Automaton(AhoCorasick),
}

impl Anchors {
    fn is_in(&self, line: &[u8]) -> bool {
        match self {
            Self::Packed(searcher) => searcher.find(line).is_some(),
            Self::Automaton(automaton) => automaton.is_match(line),
        }
    }
}

/// All signatures of a rule set.
pub struct Matcher {
    identity: usize,
    anchors: Vec<Anchors>,
    loss_markers: Anchors,
    anchor_texts: Vec<Vec<u8>>,
    literals: AhoCorasick,
    owners: Vec<Vec<u32>>,
    tracebacks: Vec<u32>,
    signatures: Vec<CompiledSignature>,
    probes: Vec<CompiledProbe>,
}

impl std::fmt::Debug for Matcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Matcher").field("signatures", &self.signatures.len()).finish_non_exhaustive()
    }
}

impl Matcher {
    /// Compiles the signatures of the packs, in their order.
    ///
    /// # Errors
    /// A pattern that does not compile, or too many anchors.
    pub fn new(packs: &[LoadedPack]) -> Result<Self, String> {
        let mut signatures = Vec::new();
        let mut probes = Vec::new();
        let mut chosen: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut literal_owners: BTreeMap<Vec<u8>, Vec<u32>> = BTreeMap::new();
        let mut tracebacks = Vec::new();
        let mut shared: Vec<&[u8]> =
            packs.iter().flat_map(|p| &p.pack.anchors).map(|a| without_digits(a.as_bytes())).collect();
        shared.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        for pack in packs {
            for (i, spec) in pack.pack.signatures.iter().enumerate() {
                let name = signature_name(spec, i);
                let id = format!("{}/{name}", pack.pack.pack.name);
                let index = u32::try_from(signatures.len()).map_err(|_| "too many signatures".to_owned())?;
                let required = match spec.block {
                    Block::Traceback => {
                        tracebacks.push(index);
                        Vec::new()
                    }
                    Block::Line | Block::ThreeLines => {
                        let analysis =
                            pack.analyses.get(i).ok_or_else(|| format!("{id}: was not analysed"))?;
                        let best = analysis.best.clone();
                        if best.iter().any(|l| without_digits(l).len() < MIN_LITERAL) {
                            return Err(format!(
                                "{id}: requires no literal with {MIN_LITERAL} bytes in a row that are no digits"
                            ));
                        }
                        chosen.extend(anchors_of(&best, &analysis.all, &shared));
                        best
                    }
                };
                for literal in required {
                    literal_owners.entry(literal).or_default().push(index);
                }
                let consumer = match (&spec.symptom, &pack.module) {
                    (Some(symptom), _) => Consumer::Symptom(symptom.clone()),
                    (None, Some(module)) => Consumer::Module(module.clone()),
                    (None, None) => return Err(format!("{id}: has no consumer")),
                };
                signatures.push(CompiledSignature {
                    id,
                    name,
                    consumer,
                    sources: spec.sources.iter().map(|s| Source::parse(s)).collect(),
                    pattern: LazyPattern::new(&spec.pattern),
                    unless: spec.unless.as_deref().map(LazyPattern::new),
                    spec: spec.clone(),
                });
            }
            for (spec, literals) in pack.pack.probes.iter().zip(&pack.probe_literals) {
                probes.push(CompiledProbe {
                    id: format!("{}/{}", pack.pack.pack.name, spec.id),
                    sources: spec.sources.iter().map(|s| Source::parse(s)).collect(),
                    literals: literals.clone(),
                    pattern: LazyPattern::new(&spec.pattern),
                    spec: spec.clone(),
                });
            }
        }
        if !tracebacks.is_empty() {
            literal_owners.entry(TRACEBACK.to_vec()).or_default().extend(&tracebacks);
            chosen.insert(TRACEBACK.to_vec());
        }
        let all: Vec<Vec<u8>> = chosen.iter().cloned().collect();
        chosen.retain(|a| !all.iter().any(|b| b != a && memmem(a, b)));
        let anchor_texts: Vec<Vec<u8>> = chosen.into_iter().collect();
        if anchor_texts.len() > MAX_ANCHORS {
            return Err(format!(
                "the packs need {} anchors, at most {MAX_ANCHORS} keep reading fast: list shared words of the patterns under `anchors`",
                anchor_texts.len()
            ));
        }
        let (texts, owners): (Vec<_>, Vec<_>) = literal_owners.into_iter().unzip();
        Ok(Self {
            identity: IDENTITY.fetch_add(1, Ordering::Relaxed),
            loss_markers: build_anchors(&LOSS_MARKERS.map(<[u8]>::to_vec))?,
            anchors: anchor_texts.chunks(GROUP).map(build_anchors).collect::<Result<_, _>>()?,
            anchor_texts,
            literals: AhoCorasick::builder()
                .match_kind(MatchKind::Standard)
                .kind(Some(AhoCorasickKind::ContiguousNFA))
                .build(&texts)
                .map_err(|e| e.to_string())?,
            owners,
            tracebacks,
            signatures,
            probes,
        })
    }

    /// Whether some rule may want the line.
    #[must_use]
    pub fn has_anchor(&self, line: &[u8]) -> bool {
        self.anchors.iter().any(|group| group.is_in(line))
    }

    /// Whether the line says that other lines are missing.
    #[must_use]
    pub fn has_loss_marker(&self, line: &[u8]) -> bool {
        self.loss_markers.is_in(line)
    }

    /// Tells matchers apart while they live.
    #[must_use]
    pub fn identity(&self) -> usize {
        self.identity
    }

    /// Indices of the signatures whose required literals the line has, ascending.
    #[must_use]
    pub fn candidates(&self, line: &[u8]) -> Vec<u32> {
        let mut out = Vec::new();
        for found in self.literals.find_overlapping_iter(line) {
            if let Some(owners) = self.owners.get(found.pattern().as_usize()) {
                out.extend(owners);
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Signatures over tracebacks.
    #[must_use]
    pub fn tracebacks(&self) -> &[u32] {
        &self.tracebacks
    }

    /// A signature by its index.
    #[must_use]
    pub fn signature(&self, index: u32) -> Option<&CompiledSignature> {
        self.signatures.get(index as usize)
    }

    /// All signatures.
    #[must_use]
    pub fn signatures(&self) -> &[CompiledSignature] {
        &self.signatures
    }

    /// All probes.
    #[must_use]
    pub fn probes(&self) -> &[CompiledProbe] {
        &self.probes
    }

    /// The literals that find candidate lines.
    #[must_use]
    pub fn anchors(&self) -> &[Vec<u8>] {
        &self.anchor_texts
    }

    /// Compiles every pattern now.
    ///
    /// # Errors
    /// The first that does not compile.
    pub fn check(&self) -> Result<(), String> {
        for signature in &self.signatures {
            compile(&signature.spec.pattern).map_err(|e| format!("{}: {e}", signature.id))?;
            if let Some(unless) = &signature.spec.unless {
                compile(unless).map_err(|e| format!("{}: unless: {e}", signature.id))?;
            }
        }
        for probe in &self.probes {
            compile(&probe.spec.pattern).map_err(|e| format!("{}: {e}", probe.id))?;
        }
        Ok(())
    }
}

fn build_anchors(texts: &[Vec<u8>]) -> Result<Anchors, String> {
    let mut config = packed::Config::new();
    config.match_kind(packed::MatchKind::LeftmostFirst);
    // The limits guard against sets of thousands; ours is capped, and measured to be fast.
    config.heuristic_pattern_limits(false);
    if let Some(searcher) = config.builder().extend(texts).build() {
        return Ok(Anchors::Packed(searcher));
    }
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(texts)
        .map(Anchors::Automaton)
        .map_err(|e| e.to_string())
}

/// Anchors for one signature: shared ones if some required set lies within them, else the longest stretches without digits of
/// its best set.
fn anchors_of(best: &[Vec<u8>], all: &[Vec<Vec<u8>>], shared: &[&[u8]]) -> Vec<Vec<u8>> {
    let within = |literal: &Vec<u8>| shared.iter().find(|s| memmem(literal, s)).map(|s| s.to_vec());
    for set in all {
        if let Some(anchors) = set.iter().map(within).collect::<Option<Vec<_>>>() {
            return anchors;
        }
    }
    best.iter().map(|l| without_digits(l).iter().take(ANCHOR_LENGTH).copied().collect()).collect()
}

/// The longest stretch without digits. Anchors have none, so that lines which differ in digits alone have the same anchors.
#[must_use]
pub fn without_digits(literal: &[u8]) -> &[u8] {
    literal.split(u8::is_ascii_digit).max_by_key(|part| part.len()).unwrap_or(literal)
}

fn memmem(haystack: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && haystack.windows(needle.len()).any(|w| w == needle)
}
