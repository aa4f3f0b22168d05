//! What is bold, red, yellow or green. Without colour nothing of it is written.

/// What a piece of text is, and so how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Tone {
    /// As it is.
    #[default]
    Plain,
    /// Less important than what is around it.
    Faint,
    /// A heading, or the answer.
    Strong,
    /// A root cause.
    Root,
    /// A suspect, or something that is missing.
    Doubt,
    /// No fault.
    Good,
}

impl Tone {
    /// The text with the sequences of ANSI terminals, if `color`.
    pub(crate) fn paint(self, text: &str, color: bool) -> String {
        let code = match self {
            Self::Plain => "",
            Self::Faint => "2",
            Self::Strong => "1",
            Self::Root => "1;31",
            Self::Doubt => "1;33",
            Self::Good => "1;32",
        };
        if !color || code.is_empty() || text.is_empty() {
            return text.to_owned();
        }
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}
