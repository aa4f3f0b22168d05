//! A page of text: labels in a gutter on the left, content to their right, and no line wider than the page.
//!
//! A label is written with the first line of its content, so that a section without content leaves no trace. Every line is
//! escaped and cut here once more, whatever a section did.

use crate::escape::escape;
use crate::style::Tone;
use crate::wrap::{cut, width, wrap};

/// The narrowest page that can still be read.
const NARROWEST: usize = 40;
/// Pages narrower than this have their labels on lines of their own.
const GUTTER_FROM: usize = 60;

/// A piece of a line.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    tone: Tone,
    text: String,
}

/// A piece of a line in a tone.
pub(crate) fn span(tone: Tone, text: impl Into<String>) -> Span {
    Span { tone, text: text.into() }
}

struct Label {
    text: String,
    tone: Tone,
    gap: bool,
}

/// The page.
pub(crate) struct Page {
    width: usize,
    gutter: usize,
    // Where content begins: at the gutter, or further left within a section.
    column: usize,
    color: bool,
    lines: Vec<String>,
    label: Option<Label>,
}

impl Page {
    /// An empty page.
    pub(crate) fn new(page_width: usize, color: bool) -> Self {
        let page_width = page_width.max(NARROWEST);
        let gutter = if page_width < GUTTER_FROM { 2 } else { 12 };
        Self { width: page_width, gutter, column: gutter, color, lines: Vec::new(), label: None }
    }

    /// Width of the content.
    pub(crate) fn room(&self) -> usize {
        self.width - self.column
    }

    /// What follows in this section needs more room, and begins left of the gutter's end.
    pub(crate) fn widen(&mut self) {
        self.column = 2;
    }

    /// Begins a section: a label with an empty line above.
    pub(crate) fn section(&mut self, text: impl Into<String>, tone: Tone) {
        self.column = self.gutter;
        self.label = Some(Label { text: text.into(), tone, gap: true });
    }

    /// Begins a row: a label without an empty line above.
    pub(crate) fn label(&mut self, text: impl Into<String>) {
        self.column = self.gutter;
        self.label = Some(Label { text: text.into(), tone: Tone::Plain, gap: false });
    }

    /// Prose over the whole width.
    pub(crate) fn lead(&mut self, tone: Tone, text: &str) {
        for line in wrap(text, self.width) {
            let painted = tone.paint(&line, self.color);
            self.lines.push(painted);
        }
    }

    /// An empty line, unless there is one already.
    pub(crate) fn gap(&mut self) {
        if self.lines.last().is_some_and(|l| !l.is_empty()) {
            self.lines.push(String::new());
        }
    }

    /// One line of content.
    pub(crate) fn row(&mut self, spans: impl IntoIterator<Item = Span>) {
        let mut line = self.margin();
        let mut left = self.room();
        for Span { tone, text } in spans {
            let shown = cut(&text, left);
            left -= width(&shown).min(left);
            line.push_str(&tone.paint(&shown, self.color));
        }
        self.lines.push(line.trim_end().to_owned());
    }

    /// Prose as content.
    pub(crate) fn prose(&mut self, tone: Tone, text: &str) {
        self.item(tone, "", text);
    }

    /// Prose behind a lead-in, with later lines below the first one's text.
    pub(crate) fn item(&mut self, tone: Tone, lead: &str, text: &str) {
        self.item_in(0, tone, lead, text);
    }

    /// As [`Self::item`], moved to the right.
    pub(crate) fn item_in(&mut self, indent: usize, tone: Tone, lead: &str, text: &str) {
        let hang = (indent + width(lead)).min(self.room() / 2);
        for (i, line) in wrap(text, self.room() - hang).into_iter().enumerate() {
            let before = if i == 0 { format!("{}{lead}", " ".repeat(indent)) } else { " ".repeat(hang) };
            self.row([span(Tone::Plain, before), span(tone, line)]);
        }
    }

    /// A label with prose.
    pub(crate) fn fact(&mut self, label: &str, tone: Tone, text: &str) {
        self.label(label);
        self.prose(tone, text);
    }

    /// One line of content with something at the right edge; that goes to a line of its own where it does not fit.
    pub(crate) fn row_with_end(&mut self, spans: Vec<Span>, end: Span) {
        let used: usize = spans.iter().map(|s| width(&escape(&s.text))).sum();
        let needs = width(&escape(&end.text));
        if end.text.is_empty() || used + 2 + needs > self.room() {
            self.row(spans);
            if !end.text.is_empty() {
                self.row([end]);
            }
            return;
        }
        let fill = span(Tone::Plain, " ".repeat(self.room() - used - needs));
        self.row(spans.into_iter().chain([fill, end]));
    }

    /// The whole text.
    pub(crate) fn finish(self) -> String {
        let mut text = self.lines.join("\n");
        text.push('\n');
        text
    }

    /// What stands left of the next line of content: the label, if it is still to be written, or blanks.
    fn margin(&mut self) -> String {
        let blank = " ".repeat(self.column);
        let Some(label) = self.label.take() else { return blank };
        if label.gap {
            self.gap();
        }
        let painted = label.tone.paint(&cut(&label.text, self.width), self.color);
        let used = width(&escape(&label.text));
        if used < self.column {
            return painted + &" ".repeat(self.column - used);
        }
        self.lines.push(painted);
        blank
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_with_their_content_or_not_at_all() {
        let mut page = Page::new(60, false);
        page.section("EMPTY", Tone::Strong);
        page.section("SHORT", Tone::Strong);
        page.prose(Tone::Plain, "a text");
        page.section("LONGER THAN THE GUTTER", Tone::Strong);
        page.row_with_end(vec![span(Tone::Root, "left")], span(Tone::Plain, "right"));
        let wants = format!(
            "SHORT       a text\n\nLONGER THAN THE GUTTER\n            left{}right\n",
            " ".repeat(39)
        );
        assert_eq!(page.finish(), wants);
    }

    #[test]
    fn no_line_is_wider_than_the_page_and_none_holds_a_control() {
        for wide in [0, 40, 59, 60, 80, 200] {
            let mut page = Page::new(wide, false);
            page.section("A\u{1b}LABEL ".repeat(30), Tone::Root);
            page.row([span(Tone::Plain, "x\u{1b}y".repeat(99)), span(Tone::Root, "more")]);
            page.item_in(4, Tone::Plain, &"lead ".repeat(40), "a few words that follow");
            page.row_with_end(vec![span(Tone::Plain, "y".repeat(99))], span(Tone::Plain, "z".repeat(99)));
            for line in page.finish().lines() {
                assert!(width(line) <= wide.max(NARROWEST), "{wide}: {line}");
                assert!(!line.contains('\u{1b}'), "{line}");
            }
        }
    }
}
