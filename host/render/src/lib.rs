//! Turns a diagnosis into text for a person: the answer first, then what shows it, what is missing and what to do.
//!
//! Pure: the same diagnosis and options give the same text. No line is wider than asked, counted in characters, and whatever a
//! log wrote is shown with its control and bidirectional characters written out. Sections without content are left out, long
//! lists are cut with a count of what is left: the document has everything.

mod action;
mod causes;
mod clock;
mod coverage;
mod escape;
mod evidence;
mod explain;
mod head;
mod page;
mod place;
mod style;
mod timeline;
mod wrap;

use firstfault_model::diagnosis::{Diagnosis, Verdict};

pub use explain::{CodeExplanation, explanation};

use clock::Clock;
use page::Page;

/// How text is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextOptions {
    /// Whether to use the colours of ANSI terminals.
    pub color: bool,
    /// Characters in a line; below 40 counts as 40.
    pub width: usize,
    /// What `diagnose` was given, as a shell takes it, for the command that gives the same again.
    pub arguments: Option<String>,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self { color: false, width: 80, arguments: None }
    }
}

/// A diagnosis as text.
#[must_use]
pub fn text(diagnosis: &Diagnosis, options: &TextOptions) -> String {
    let mut page = Page::new(options.width, options.color);
    let clock = Clock::of(diagnosis);
    let finding = &diagnosis.finding;
    head::write(&mut page, diagnosis, clock);
    if finding.verdict == Verdict::NoFault {
        head::harmless(&mut page, finding);
    } else {
        causes::roots(&mut page, finding, clock);
        if finding.verdict == Verdict::Undetermined {
            causes::suspects(&mut page, finding);
            causes::unrecognised(&mut page, finding);
        }
        timeline::write(&mut page, finding, clock);
    }
    coverage::write(&mut page, diagnosis);
    if finding.verdict != Verdict::NoFault {
        coverage::missing(&mut page, finding, clock);
        action::write(&mut page, diagnosis);
    }
    coverage::not_read(&mut page, finding);
    coverage::limits(&mut page, finding);
    action::reproduce(&mut page, diagnosis, options.arguments.as_deref());
    page.finish()
}
