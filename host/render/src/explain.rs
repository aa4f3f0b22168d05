//! What a code means, for `firstfault explain`.

use firstfault_model::taxonomy::Domain;

use crate::TextOptions;
use crate::page::Page;
use crate::style::Tone;

/// A code of a device or driver, with all that the rules know of it. What is not known is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeExplanation {
    /// What kind of code: `xid`, `sxid`.
    pub kind: String,
    /// The number.
    pub number: u32,
    /// Its name in the vendor's catalogue.
    pub mnemonic: Option<String>,
    /// A few words.
    pub title: String,
    /// What it means.
    pub meaning: String,
    /// `cause`, `effect`, `either`, `advice`, `benign`.
    pub role: String,
    /// Domain.
    pub domain: Option<Domain>,
    /// Sub-domain.
    pub sub_domain: Option<String>,
    /// What to do.
    pub action: String,
    /// Symptoms that may explain it.
    pub explained_by: Vec<String>,
    /// Symptoms that it may explain.
    pub explains: Vec<String>,
    /// The GPUs that report it.
    pub gpus: Vec<String>,
}

/// A code as text.
#[must_use]
pub fn explanation(code: &CodeExplanation, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let name = format!("{} {}", code.kind.to_uppercase(), code.number);
    let name = code.mnemonic.iter().fold(name, |name, m| format!("{name} {m}"));
    page.lead(Tone::Strong, &if code.title.is_empty() { name } else { format!("{name}: {}", code.title) });
    page.gap();
    if !code.meaning.is_empty() {
        page.lead(Tone::Plain, &code.meaning);
        page.gap();
    }
    page.fact("role", Tone::Plain, role(&code.role));
    let class = code.domain.map(|d| d.name()).into_iter().chain(code.sub_domain.as_deref());
    page.fact("concerns", Tone::Plain, &class.collect::<Vec<_>>().join(" / "));
    page.fact("GPUs", Tone::Plain, &code.gpus.join(", "));
    page.fact("what to do", Tone::Plain, &code.action);
    page.fact("may follow", Tone::Plain, &code.explained_by.join(", "));
    page.fact("may explain", Tone::Plain, &code.explains.join(", "));
    if code.meaning.is_empty() && code.action.is_empty() && code.role.is_empty() {
        page.lead(Tone::Doubt, "No rule knows more of this code.");
    }
    page.finish()
}

fn role(role: &str) -> &str {
    match role {
        "cause" => "a cause: where it is seen, it may be the first fault",
        "effect" => "an effect: something else happened first, never the first fault itself",
        "either" => "a cause or an effect: the first fault, unless something before it explains it",
        "advice" => "advice: it says what to do about a fault, and causes nothing",
        "benign" => "harmless by itself",
        other => other,
    }
}
