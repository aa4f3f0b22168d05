//! Reads and checks one pack. All that is wrong is reported at once.

use std::fmt;

use firstfault_model::canonical::digest;
use firstfault_model::taxonomy::{Domain, sub_domain};

use crate::literals::{self, Analysis};
use crate::matcher::without_digits;
use crate::pack::{Block, Pack, Role, Signature};
use crate::wildcard::is_well_formed;

/// Fewest bytes that a pattern must require.
pub const MIN_LITERAL: usize = 4;
/// Longest pack text in bytes.
pub const MAX_PACK: usize = 4 << 20;
const PLACES: &[&str] =
    &["node", "rank", "local_rank", "gpu", "gpu_index", "process", "component", "link", "port"];

/// A pack that was read and checked by itself.
#[derive(Debug, Clone)]
pub struct LoadedPack {
    /// Its contents.
    pub pack: Pack,
    /// What the patterns of its signatures require, in their order.
    pub analyses: Vec<Analysis>,
    /// What the patterns of its probes require, in their order.
    pub probe_literals: Vec<Vec<Vec<u8>>>,
    /// Digest of its text.
    pub digest: String,
    /// The plugin that returned it, if one did.
    pub module: Option<String>,
    /// Whether it is one of those that come with the program. A site's goes before it.
    pub shipped: bool,
}

impl LoadedPack {
    /// The same as one that comes with the program.
    #[must_use]
    pub fn shipped(self) -> Self {
        Self { shipped: true, ..self }
    }
}

/// What is wrong with a pack.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PackError {
    /// Where the text comes from.
    pub origin: String,
    /// One sentence each.
    pub problems: Vec<String>,
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pack {}: ", self.origin)?;
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n  ")?;
            }
            f.write_str(problem.trim_end())?;
        }
        Ok(())
    }
}

/// Reads a pack. `module` is the plugin that returned it, if one did.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(origin: &str, text: &str, module: Option<&str>) -> Result<LoadedPack, PackError> {
    let fail = |problems: Vec<String>| PackError { origin: origin.to_owned(), problems };
    if text.len() > MAX_PACK {
        return Err(fail(vec![format!("is {} bytes long; at most {MAX_PACK} are read", text.len())]));
    }
    let pack: Pack = toml::from_str(text).map_err(|e| fail(vec![e.to_string()]))?;
    let (problems, analyses, probe_literals) = check(&pack, module);
    if problems.is_empty() {
        Ok(LoadedPack {
            pack,
            analyses,
            probe_literals,
            digest: digest(text.as_bytes()),
            module: module.map(str::to_owned),
            shipped: false,
        })
    } else {
        Err(fail(problems))
    }
}

fn check(pack: &Pack, module: Option<&str>) -> (Vec<String>, Vec<Analysis>, Vec<Vec<Vec<u8>>>) {
    let mut problems = Vec::new();
    let mut analyses = Vec::with_capacity(pack.signatures.len());
    let name = &pack.pack.name;
    if name.is_empty()
        || name.len() > 32
        || !name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    {
        problems.push(format!("[pack] name '{name}': write 1 to 32 of a-z, 0-9 and -"));
    }
    for anchor in &pack.anchors {
        if without_digits(anchor.as_bytes()).len() < MIN_LITERAL {
            problems
                .push(format!("anchor '{anchor}' has no {MIN_LITERAL} bytes in a row that are no digits"));
        }
    }
    for symptom in &pack.symptoms {
        let at = format!("symptom '{}'", symptom.id);
        if !is_well_formed(&symptom.id, true) {
            problems
                .push(format!("{at}: an id is dotted lower-case words, at most 64 bytes, such as xid.149"));
        }
        if symptom.title.is_empty() {
            problems.push(format!("{at}: needs a title"));
        }
        match (symptom.domain, symptom.sub_domain.as_deref(), symptom.role) {
            (None, _, Role::Cause | Role::Either) | (_, None, Role::Cause | Role::Either) => {
                problems.push(format!("{at}: a {} needs domain and sub_domain", symptom.role.name()));
            }
            (Some(domain), Some(sub), role) => match sub_domain(sub) {
                Some(known) if known.domain != domain => {
                    problems
                        .push(format!("{at}: sub_domain '{sub}' belongs to domain {}", known.domain.name()));
                }
                None if module.is_none() && !sub.bytes().all(|b| b.is_ascii_lowercase() || b == b'_') => {
                    problems.push(format!("{at}: sub_domain '{sub}' is not a lower-case word"));
                }
                _ if role.explains() && domain == Domain::Undetermined => {
                    problems.push(format!("{at}: a {} cannot have domain undetermined", role.name()));
                }
                _ => {}
            },
            _ => {}
        }
    }
    for (i, signature) in pack.signatures.iter().enumerate() {
        analyses.push(check_signature(signature, &signature_name(signature, i), module, &mut problems));
    }
    for cause in &pack.causes {
        for id in cause.effect.as_slice().iter().chain(&cause.by) {
            if !is_well_formed(id, true) {
                problems.push(format!("cause: '{id}' is not a symptom id or a pattern such as xid.*"));
            }
        }
    }
    let mut probe_literals = Vec::with_capacity(pack.probes.len());
    for probe in &pack.probes {
        match literals::required(&probe.pattern, MIN_LITERAL) {
            Ok(literals) => probe_literals.push(literals),
            Err(e) => problems.push(format!("probe '{}': pattern {e}", probe.id)),
        }
    }
    (problems, analyses, probe_literals)
}

/// The name of a signature within its pack.
#[must_use]
pub fn signature_name(signature: &Signature, index: usize) -> String {
    signature.id.clone().unwrap_or_else(|| {
        format!(
            "{}#{}",
            signature.symptom.as_deref().or(signature.module.as_deref()).unwrap_or("?"),
            index + 1
        )
    })
}

fn check_signature(
    signature: &Signature,
    name: &str,
    module: Option<&str>,
    problems: &mut Vec<String>,
) -> Analysis {
    let at = format!("signature '{name}'");
    match (signature.symptom.as_deref(), signature.module.as_deref()) {
        (Some(_), None) => {}
        (None, Some("self")) if module.is_some() => {}
        (None, Some("self")) => {
            problems.push(format!("{at}: module = \"self\" is for packs that a rule module returns"))
        }
        _ => problems.push(format!("{at}: needs exactly one of symptom = \"...\" and module = \"self\"")),
    }
    if signature.sources.is_empty() {
        problems.push(format!("{at}: needs sources"));
    }
    let analysis = literals::analyse(&signature.pattern).and_then(|analysis| {
        // Tracebacks are found by their first line; the pattern is held against the last one.
        if signature.block != Block::Traceback {
            analysis.check(MIN_LITERAL)?;
        }
        Ok(analysis)
    });
    let analysis = analysis.unwrap_or_else(|e| {
        problems.push(format!("{at}: pattern {e}"));
        literals::analyse(&signature.pattern).unwrap_or_default()
    });
    if let Some(unless) = &signature.unless
        && let Err(e) = literals::parse(unless)
    {
        problems.push(format!("{at}: unless {e}"));
    }
    let captures = &analysis.captures;
    let onset = signature.onset.iter().flat_map(|o| o.before_ms.iter().chain(&o.before_s));
    for capture in
        signature.key.iter().chain(signature.place.values()).chain(signature.facts.values()).chain(onset)
    {
        if !captures.iter().any(|c| c == capture) {
            problems.push(format!("{at}: the pattern has no capture named '{capture}'"));
        }
    }
    for place in signature.place.keys() {
        if !PLACES.contains(&place.as_str()) {
            problems.push(format!("{at}: '{place}' is not a place: {}", PLACES.join(", ")));
        }
    }
    analysis
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> String {
        load("test", text, None).unwrap_err().to_string()
    }

    #[test]
    fn everything_wrong_is_reported_at_once() {
        let text = r#"
            [pack]
            name = "Bad Name"
            version = "1.0.0"
            [[symptom]]
            id = "a.b"
            role = "cause"
            title = "x"
            [[symptom]]
            id = "a.c"
            role = "cause"
            title = "x"
            domain = "hardware"
            sub_domain = "exception"
            [[signature]]
            symptom = "a.b"
            sources = ["app"]
            pattern = 'abc'
            key = ["nope"]
            place = { planet = "nope" }
            [[signature]]
            module = "self"
            sources = []
            pattern = '('
        "#;
        let all = problems(text);
        for wants in [
            "name 'Bad Name'",
            "'a.b': a cause needs domain",
            "belongs to domain application",
            "no literal",
            "no capture named 'nope'",
            "'planet' is not a place",
            "is for packs that a rule module returns",
            "needs sources",
            "not a regular expression",
        ] {
            assert!(all.contains(wants), "{wants}: {all}");
        }
    }

    #[test]
    fn a_typing_error_is_shown_with_its_line() {
        let all =
            problems("[pack]\nname = \"a\"\nversion = \"1\"\n[[symptom]]\nid = \"x.y\"\nrol = \"cause\"\n");
        assert!(all.contains("line 6") && all.contains("rol"), "{all}");
    }
}
