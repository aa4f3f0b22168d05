//! The answer in one or two sentences.

use std::collections::BTreeSet;

use firstfault_model::diagnosis::{
    Affected, Confidence, PlaceFields, RootCause, Suspect, TerminalState, Verdict,
};
use firstfault_model::taxonomy::Domain;
use firstfault_model::time::{SECOND, Timestamp};

use crate::case::Case;
use crate::missing::Gap;

/// What the sentences are made of.
#[derive(Debug)]
pub struct Parts<'a> {
    /// The verdict.
    pub verdict: Verdict,
    /// How it ended.
    pub state: TerminalState,
    /// Root causes.
    pub roots: &'a [RootCause],
    /// Suspects.
    pub suspects: &'a [Suspect],
    /// Who suffered.
    pub affected: &'a Affected,
    /// Title of the most numerous effect.
    pub main_effect: Option<&'a str>,
    /// What is missing.
    pub gaps: &'a [Gap],
    /// Since when it stood still, if it did.
    pub still_since: Option<Timestamp>,
    /// How many error-like lines no rule knows.
    pub unrecognised: usize,
    /// Why not a line was read, if none was.
    pub unread: Option<String>,
}

/// Why not a line was read; `None` if one was, or nothing was there to be read.
#[must_use]
pub fn unread(case: &Case) -> Option<String> {
    if case.streams.iter().any(|s| s.stats.lines > 0) {
        return None;
    }
    let failed = case.streams.iter().filter_map(|s| Some((&s.name.name, s.stats.error.as_ref()?)));
    let left_out = case.not_read.iter().map(|n| (&n.path, &n.reason));
    let mut reasons = failed.chain(left_out);
    match (reasons.next(), reasons.count()) {
        (Some((path, reason)), 0) => Some(format!("{path}: {reason}")),
        (Some((path, reason)), more) => Some(format!("{path}: {reason} (and {more} more)")),
        (None, _) => match case.streams.as_slice() {
            [] => None,
            [one] => Some(format!("{} is empty", one.name.name)),
            all => Some(format!("all {} logs are empty", all.len())),
        },
    }
}

/// Writes the sentences.
#[must_use]
pub fn summary(parts: &Parts<'_>) -> String {
    match parts.verdict {
        Verdict::NoFault => match parts.state {
            TerminalState::Completed => "The attempt completed; nothing seen is a fault.".into(),
            TerminalState::Unknown => {
                "Nothing seen is a fault; how the attempt ended is not recorded.".into()
            }
            state => format!("Nothing seen is a fault; the attempt is {}.", state.name().replace('_', " ")),
        },
        Verdict::Attributed => attributed(parts),
        Verdict::Undetermined => undetermined(parts),
    }
}

fn attributed(parts: &Parts<'_>) -> String {
    let Some(root) = parts.roots.first() else { return String::new() };
    let place = describe(&root.place, root.domain);
    let mut sentence = match place {
        Some(place) => format!("{place}: {}", root.title),
        None => capitalised(&root.title),
    };
    if let Some(code) = code(&root.symptom) {
        sentence.push_str(&format!(" ({code})"));
    }
    if let Some(link) = &root.place.link {
        sentence.push_str(&format!(", link {}", link.local));
    }
    if let Some(onset) = root.onset.as_ref().filter(|o| !o.time_source.starts_with("neighbour")) {
        // The middle of less than a second, else the last second.
        let time = onset.to.map_or(onset.from, |to| match to.since(onset.from) {
            width if width < SECOND => onset.from.shifted(width / 2),
            _ => to.shifted(-SECOND),
        });
        sentence.push_str(&format!(", {} UTC", time.clock(false)));
    }
    sentence.push('.');
    if root.confidence == Confidence::Suspected {
        sentence.push_str(&format!(" This is only suspected: {}.", root.confidence_reason));
    }
    let others = parts.roots.len() - 1;
    if others > 0 {
        sentence.push_str(&format!(
            " {others} other root cause{} below.",
            if others == 1 { " is" } else { "s are" }
        ));
    }
    if let Some(effect) = parts.main_effect {
        let who = sufferers(parts.affected);
        if !who.is_empty() && root.confidence != Confidence::Suspected {
            let one = parts.affected.rank_count == 1
                || (parts.affected.rank_count == 0 && parts.affected.node_count == 1);
            let them = if one { "it is" } else { "they are" };
            sentence.push_str(&format!(" {who} then reported: {effect}; {them} not at fault."));
        }
    }
    sentence
}

fn undetermined(parts: &Parts<'_>) -> String {
    if let Some(unread) = &parts.unread {
        return format!(
            "Nothing was read, so nothing is known of a fault. {}.",
            unread.trim_end_matches('.')
        );
    }
    let mut sentence = match parts.main_effect {
        Some(effect) if parts.still_since.is_some() => {
            let since = parts.still_since.map_or_else(String::new, |t| t.clock(false));
            let who = sufferers(parts.affected);
            let who = if who.is_empty() { "The attempt".to_owned() } else { who };
            format!(
                "The job stood still from {since} UTC on, and ended as {}; what was collected does not show why. {who} reported: {effect}, which is an \
                 effect.",
                parts.state.name().replace('_', " ")
            )
        }
        Some(effect) => {
            let who = sufferers(parts.affected);
            let who = if who.is_empty() { "The attempt".to_owned() } else { who };
            format!("{who} reported: {effect}. That is an effect; its cause is not in what was collected.")
        }
        None => match parts.still_since {
            Some(since) => format!(
                "The job stood still from {} UTC until it was ended ({}); nothing that was collected shows why.",
                since.clock(false),
                parts.state.name().replace('_', " ")
            ),
            None if parts.state == TerminalState::Unknown => {
                "Nothing was read that says how the attempt ended, or why.".into()
            }
            None => format!(
                "The attempt ended as {}; nothing that was collected shows why.",
                parts.state.name().replace('_', " ")
            ),
        },
    };
    if let Some(suspect) = parts.suspects.first()
        && let Some(place) = describe(&suspect.place, Domain::Undetermined)
    {
        sentence.push_str(&format!(" The suspect is {place}: {}.", suspect.why));
    }
    if parts.main_effect.is_none() && parts.suspects.is_empty() && parts.unrecognised > 0 {
        let lines = if parts.unrecognised == 1 {
            "One line that no rule knows looks"
        } else {
            "Some lines that no rule knows look"
        };
        sentence.push_str(&format!(
            " {lines} like an error: read {} first.",
            if parts.unrecognised == 1 { "it" } else { "them" }
        ));
    }
    if let Some(gap) = parts.gaps.first() {
        sentence.push_str(&format!(" Fetch {}.", gap.what));
    }
    sentence
}

/// `127 ranks on all 16 nodes`
fn sufferers(affected: &Affected) -> String {
    let ranks = match affected.rank_count {
        0 => {
            return if affected.node_count > 0 { plural(affected.node_count, "node") } else { String::new() };
        }
        n => plural(n, "rank"),
    };
    if affected.node_count > 0 {
        format!("{ranks} on {}", plural(affected.node_count, "node"))
    } else {
        ranks
    }
}

fn plural(n: u32, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// `GPU 3 (0000:b5:00) on gpu-0833`, `rank 27 on gpu-0833`, `gpu-0833`.
#[must_use]
pub fn describe(place: &PlaceFields, domain: Domain) -> Option<String> {
    let on = place.node.as_deref().map_or_else(String::new, |n| format!(" on {n}"));
    let device = matches!(domain, Domain::Hardware | Domain::Software);
    if device && let Some(gpu) = place.gpus.first() {
        let bus = gpu.pci_bus_id.as_ref().map_or_else(String::new, |b| format!(" ({b})"));
        let name = gpu.index.map_or_else(|| "GPU".to_owned(), |i| format!("GPU {i}"));
        return Some(format!("{name}{bus}{on}"));
    }
    if let Some(port) = &place.port {
        let number = port.number.map_or_else(String::new, |n| format!(" port {n}"));
        return Some(format!("{}{number}{on}", port.device));
    }
    let ranks: BTreeSet<u32> = place.ranks.iter().copied().collect();
    if !ranks.is_empty() && !matches!(domain, Domain::Node | Domain::Storage | Domain::Network) {
        let list = firstfault_model::ranges::format_ranks(&ranks);
        let list = if list.len() > 40 {
            format!("{} ranks", ranks.len())
        } else if ranks.len() == 1 {
            format!("rank {list}")
        } else {
            format!("ranks {list}")
        };
        return Some(format!("{list}{on}"));
    }
    if let Some(component) = &place.component {
        return Some(format!("{component}{on}"));
    }
    place.node.clone()
}

/// `XID 149`
fn code(symptom: &str) -> Option<String> {
    let (family, number) = symptom.split_once('.')?;
    let known = match family {
        "xid" => "XID",
        "sxid" => "SXid",
        _ => return None,
    };
    number.bytes().all(|b| b.is_ascii_digit()).then(|| format!("{known} {number}"))
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}
