//! What happened in the order of its onset: the root causes, advice, and the groups of symptoms.

use firstfault_model::diagnosis::{Finding, SymptomGroup};
use firstfault_model::event::Basis;
use firstfault_model::time::Timestamp;

use crate::clock::Clock;
use crate::head::times_of;
use crate::page::{Page, Span, span};
use crate::place::{count, short};
use crate::style::Tone;
use crate::wrap::{cut, width};

/// Rows that are shown.
const MOST: usize = 12;
/// The widest columns for a place and for a symptom.
const PLACE: usize = 20;
const SYMPTOM: usize = 28;

struct Row {
    // Rows without a time come last; at one time a cause stands before what followed from it.
    order: (Option<Timestamp>, u8, usize),
    time: String,
    place: String,
    what: String,
    note: String,
    tone: Tone,
}

/// The section.
pub(crate) fn write(page: &mut Page, finding: &Finding, clock: Clock) {
    let mut rows: Vec<Row> = roots(finding, clock).chain(groups(finding, clock)).collect();
    rows.sort_by_key(|r| (r.order.0.is_none(), r.order));
    // A root cause alone is told above.
    if finding.symptoms.is_empty() && rows.len() < 2 {
        return;
    }
    page.section("TIMELINE", Tone::Strong);
    let shown = rows.iter().take(MOST);
    let column =
        |of: fn(&Row) -> &str, most: usize| shown.clone().map(|r| width(of(r))).max().unwrap_or(0).min(most);
    let (time, place, what) =
        (column(|r| &r.time, 40), column(|r| &r.place, PLACE), column(|r| &r.what, SYMPTOM));
    for row in shown {
        let pad =
            |text: &str, to: usize| if to == 0 { String::new() } else { format!("{:<to$}  ", cut(text, to)) };
        let before = [time, place].iter().filter(|w| **w > 0).map(|w| w + 2).sum::<usize>();
        let mut line: Vec<Span> =
            vec![span(Tone::Plain, pad(&row.time, time)), span(Tone::Plain, pad(&row.place, place))];
        let inline = before + what + 2 + width(&row.note) <= page.room();
        if row.note.is_empty() || !inline {
            line.push(span(row.tone, row.what.clone()));
        } else {
            line.extend([span(row.tone, pad(&row.what, what)), span(Tone::Plain, row.note.clone())]);
        }
        page.row(line);
        if !row.note.is_empty() && !inline {
            // Below its symptom where there is room for it, else below its place.
            let indent = if before + 24 <= page.room() { before } else { time + 2 };
            page.item_in(indent, Tone::Plain, "", &row.note);
        }
    }
    if rows.len() > MOST {
        page.row([span(Tone::Faint, format!("... and {} more", rows.len() - MOST))]);
    }
}

fn roots(finding: &Finding, clock: Clock) -> impl Iterator<Item = Row> + '_ {
    let many = finding.root_causes.len() > 1;
    finding.root_causes.iter().enumerate().map(move |(i, root)| {
        let onset = root.onset.as_ref();
        let exact = onset.is_some_and(|o| o.to.since(o.from) < firstfault_model::time::SECOND);
        Row {
            order: (onset.map(|o| o.from), 0, i),
            time: onset.map(|o| clock.time(o.from, exact)).unwrap_or_default(),
            place: short(&root.place),
            what: times_of(&root.symptom, root.count),
            note: if many { format!("root cause {}", i + 1) } else { "first fault".to_owned() },
            tone: Tone::Root,
        }
    })
}

fn groups(finding: &Finding, clock: Clock) -> impl Iterator<Item = Row> + '_ {
    finding.symptoms.iter().enumerate().map(move |(i, group)| Row {
        order: (group.first, 1, i),
        // What is known only to the second by way of its report is not told in milliseconds.
        time: group.first.map(|t| clock.time(t, group.reported.is_none())).unwrap_or_default(),
        place: whereabouts(group),
        what: times_of(
            &group.symptom,
            if group.count > u64::from(group.rank_count.max(group.node_count)) { group.count } else { 1 },
        ),
        note: note(finding, group, clock),
        tone: Tone::Plain,
    })
}

fn whereabouts(group: &SymptomGroup) -> String {
    match (group.node_count, group.rank_count) {
        (1, 1) => format!("{} rank {}", group.nodes, group.ranks).trim().to_owned(),
        (0, 1) => format!("rank {}", group.ranks),
        (_, ranks) if ranks > 0 => count(u64::from(ranks), "rank"),
        (1, _) => group.nodes.clone(),
        (0, _) => String::new(),
        (nodes, _) => count(u64::from(nodes), "node"),
    }
}

/// What is worth saying of a group: its own notes, what its lines say caused it, when it was reported; else what it is.
fn note(finding: &Finding, group: &SymptomGroup, clock: Clock) -> String {
    let mut parts = group.notes.clone();
    if parts.is_empty() {
        let stated = group.caused_by.iter().find(|c| c.basis == Basis::Stated);
        parts.extend(
            stated.and_then(|c| symptom_of(finding, &c.id)).map(|s| format!("its lines say: caused by {s}")),
        );
    }
    parts.extend(group.reported.as_ref().map(|r| clock.reported(r)));
    if parts.is_empty() {
        parts.push(group.title.clone());
    }
    parts.join("; ")
}

fn symptom_of<'a>(finding: &'a Finding, id: &str) -> Option<&'a str> {
    let root = finding.root_causes.iter().find(|r| r.id == id).map(|r| r.symptom.as_str());
    root.or_else(|| finding.symptoms.iter().find(|s| s.id == id).map(|s| s.symptom.as_str()))
}
