//! Which literals a pattern requires, so that lines can be passed over without running it.

use regex_syntax::hir::{Hir, HirKind};

/// Most alternatives that a required set may have.
const MAX_ALTERNATIVES: usize = 24;

/// What is wrong with a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LiteralError {
    /// Not a regular expression.
    #[error("not a regular expression: {0}")]
    Syntax(String),
    /// Any line might match.
    #[error(
        "requires no literal of at least {min} bytes, so every line would have to be tried: \
         write out a word that each such line contains (and no `(?i)` over it)"
    )]
    NoLiteral {
        /// Fewest bytes.
        min: usize,
    },
}

/// Alternatives of which a matching line contains at least one; each at least `min` bytes.
///
/// # Errors
/// A pattern that does not parse or that requires no such literal.
pub fn required(pattern: &str, min: usize) -> Result<Vec<Vec<u8>>, LiteralError> {
    let analysis = analyse(pattern)?;
    analysis.check(min)?;
    Ok(analysis.best)
}

/// What a pattern requires, and what it captures: parsed once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Analysis {
    /// The best set of alternatives, whatever their length; empty if there is none.
    pub best: Vec<Vec<u8>>,
    /// Every set of alternatives of which a matching line contains at least one, as far as they are cheap to tell.
    pub all: Vec<Vec<Vec<u8>>>,
    /// Names of captures.
    pub captures: Vec<String>,
}

/// Analyses a pattern.
///
/// # Errors
/// A pattern that does not parse.
pub fn analyse(pattern: &str) -> Result<Analysis, LiteralError> {
    let hir = parse(pattern)?;
    let mut captures = Vec::new();
    capture_names(&hir, &mut captures);
    Ok(Analysis { best: best(&hir).unwrap_or_default(), all: all_required(&hir), captures })
}

impl Analysis {
    /// Whether each alternative of the best set is long enough to be looked for.
    ///
    /// # Errors
    /// It is not.
    pub fn check(&self, min: usize) -> Result<(), LiteralError> {
        let fine = !self.best.is_empty() && self.best.iter().all(|l| l.len() >= min);
        fine.then_some(()).ok_or(LiteralError::NoLiteral { min })
    }
}

fn capture_names(hir: &Hir, out: &mut Vec<String>) {
    match hir.kind() {
        HirKind::Capture(capture) => {
            out.extend(capture.name.as_deref().map(str::to_owned));
            capture_names(&capture.sub, out);
        }
        HirKind::Repetition(repetition) => capture_names(&repetition.sub, out),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().for_each(|p| capture_names(p, out))
        }
        _ => {}
    }
}

fn all_required(hir: &Hir) -> Vec<Vec<Vec<u8>>> {
    fn collect(hir: &Hir, out: &mut Vec<Vec<Vec<u8>>>) {
        match hir.kind() {
            HirKind::Concat(parts) => parts.iter().for_each(|p| collect(p, out)),
            HirKind::Capture(capture) => collect(&capture.sub, out),
            _ => out.extend(best(hir)),
        }
    }
    let mut out = Vec::new();
    collect(hir, &mut out);
    out
}

/// Parses as the matcher compiles: bytes, no Unicode unless asked for.
///
/// # Errors
/// A pattern that does not parse.
pub fn parse(pattern: &str) -> Result<Hir, LiteralError> {
    regex_syntax::ParserBuilder::new()
        .unicode(false)
        .utf8(false)
        .nest_limit(64)
        .build()
        .parse(pattern)
        .map_err(|e| LiteralError::Syntax(e.to_string()))
}

fn best(hir: &Hir) -> Option<Vec<Vec<u8>>> {
    match hir.kind() {
        HirKind::Literal(literal) => Some(vec![literal.0.to_vec()]),
        HirKind::Capture(capture) => best(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => best(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(best).reduce(better),
        HirKind::Alternation(parts) => {
            let mut all = Vec::new();
            for part in parts {
                for literal in best(part)? {
                    if !all.contains(&literal) {
                        all.push(literal);
                    }
                }
            }
            (all.len() <= MAX_ALTERNATIVES).then_some(all)
        }
        HirKind::Empty | HirKind::Class(_) | HirKind::Look(_) | HirKind::Repetition(_) => None,
    }
}

/// The set whose shortest literal is longer; of equals the one with fewer alternatives, then the first.
fn better(a: Vec<Vec<u8>>, b: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    // Beyond a dozen bytes more length does not make a literal rarer, but more alternatives cost.
    let score =
        |set: &[Vec<u8>]| (set.iter().map(Vec::len).min().unwrap_or(0).min(12), usize::MAX - set.len());
    if score(&b) > score(&a) { b } else { a }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(pattern: &str) -> Vec<String> {
        required(pattern, 4).unwrap().into_iter().map(|l| String::from_utf8_lossy(&l).into_owned()).collect()
    }

    #[test]
    fn the_longest_required_literal_is_found() {
        assert_eq!(set(r"Watchdog caught (?P<x>\d+) foo"), ["Watchdog caught "]);
        assert_eq!(set(r"(?:\d+ )?NVRM: Xid \((?:PCI:)?[0-9a-f:]+\)"), ["NVRM: Xid ("]);
        assert_eq!(set(r"(?:port error|local catastrophic) event"), ["port error", "local catastrophic"]);
        assert_eq!(set(r"(?:a|b) long event"), [" long event"]);
        assert_eq!(set(r"^(?:first one|second one)$"), ["first one", "second one"]);
        assert_eq!(set(r"(?:abcd)+x?"), ["abcd"]);
    }

    #[test]
    fn patterns_that_every_line_might_match_are_refused() {
        for pattern in [r"\d+", r"abc", r"(?:abcdef)?x", r"(?i)failure", r".*", r"(?:abcdef|\d+)"] {
            assert!(matches!(required(pattern, 4), Err(LiteralError::NoLiteral { .. })), "{pattern}");
        }
        assert!(matches!(required("(", 4), Err(LiteralError::Syntax(_))));
    }
}
