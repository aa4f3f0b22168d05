//! What happened in the order of its onset: the root causes, advice, and the groups of symptoms.

use firstfault_model::diagnosis::{Finding, SymptomGroup};
use firstfault_model::event::Basis;
use firstfault_model::time::Timestamp;

use crate::clock::Clock;
use crate::head::times_of;
use crate::page::{Page, span};
use crate::place::{count, short};
use crate::style::Tone;
use crate::wrap::{cut, width, wrap};

/// Rows that are shown.
const MOST: usize = 12;
/// The widest column for a place.
const PLACE: usize = 20;
/// The narrowest column for what happened.
const NARROWEST: usize = 16;

struct Row {
    // Rows without a time come last; at one time a cause stands before what followed from it.
    order: (Option<Timestamp>, u8, usize),
    time: String,
    place: String,
    text: String,
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
    let (time, place) = (column(|r| &r.time, 40), column(|r| &r.place, PLACE));
    let before: usize = [time, place].iter().filter(|w| **w > 0).map(|w| w + 2).sum();
    for row in shown {
        let pad =
            |text: &str, to: usize| if to == 0 { String::new() } else { format!("{:<to$}  ", cut(text, to)) };
        for (i, line) in
            wrap(&row.text, page.room().saturating_sub(before).max(NARROWEST)).into_iter().enumerate()
        {
            let lead =
                if i == 0 { pad(&row.time, time) + &pad(&row.place, place) } else { " ".repeat(before) };
            page.row(vec![span(Tone::Plain, lead), span(row.tone, line)]);
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
        let what = if many { format!("root cause {}", i + 1) } else { "first fault".to_owned() };
        Row {
            order: (onset.map(|o| o.from), 0, i),
            time: onset.map(|o| clock.began(o)).unwrap_or_default(),
            place: short(&root.place, root.domain),
            text: format!("{what}: {}", times_of(&root.symptom, root.count)),
            tone: Tone::Root,
        }
    })
}

fn groups(finding: &Finding, clock: Clock) -> impl Iterator<Item = Row> + '_ {
    // An effect is not told before its cause because its clock is coarser.
    let began = |id: &str| finding.root_causes.iter().find(|r| r.id == id)?.onset.as_ref().map(|o| o.from);
    finding.symptoms.iter().enumerate().map(move |(i, group)| Row {
        order: (
            group
                .first
                .map(|t| t.max(group.caused_by.iter().filter_map(|c| began(&c.id)).max().unwrap_or(t))),
            1,
            i,
        ),
        // What is known only to the second by way of its report is not told in milliseconds.
        time: group.first.map(|t| clock.time(t, group.reported.is_none())).unwrap_or_default(),
        place: whereabouts(group),
        text: text(finding, group, clock),
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

/// What a group is, and what is worth saying of it: its own notes, what its lines say caused it, when it was reported.
fn text(finding: &Finding, group: &SymptomGroup, clock: Clock) -> String {
    let times = if group.count > u64::from(group.rank_count.max(group.node_count)) { group.count } else { 1 };
    let mut text = times_of(&group.title, times);
    if !group.notes.is_empty() {
        text = format!("{text}: {}", group.notes.join("; "));
    } else if let Some(cause) = group.caused_by.iter().find(|c| c.basis == Basis::Stated)
        && let Some(cause) = symptom_of(finding, &cause.id)
    {
        text = format!("{text}, stated: caused by {cause}");
    }
    if let Some(reported) = &group.reported {
        text = format!("{text}, {}", clock.reported(reported));
    }
    text
}

fn symptom_of<'a>(finding: &'a Finding, id: &str) -> Option<&'a str> {
    let root = finding.root_causes.iter().find(|r| r.id == id).map(|r| r.symptom.as_str());
    root.or_else(|| finding.symptoms.iter().find(|s| s.id == id).map(|s| s.symptom.as_str()))
}
