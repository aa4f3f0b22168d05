//! What a machine may do.

use std::collections::BTreeSet;

use firstfault_model::diagnosis::{
    Confidence, Decision, Exclude, ExcludeAction, FaultClass, Responsible, RestartDecision, ValidWhile,
    Verdict,
};
use firstfault_model::source::Trust;
use firstfault_model::taxonomy::{Domain, ExcludeScope, Owner, Restart, SubDomain, sub_domain};
use firstfault_rules::pack::Symptom;
use firstfault_rules::ruleset::RuleSet;

use crate::case::Case;
use crate::event::{Event, Scope};
use crate::graph::Graph;
use crate::order::TIE;
use crate::roots::{Judgement, Root};

const fn fault_class(domain: Domain) -> FaultClass {
    match domain {
        Domain::Hardware | Domain::Node | Domain::Network | Domain::Storage | Domain::Software => {
            FaultClass::Infrastructure
        }
        Domain::Resource | Domain::Application => FaultClass::Application,
        Domain::Scheduler => FaultClass::Scheduler,
        Domain::External => FaultClass::External,
        Domain::Undetermined => FaultClass::Undetermined,
    }
}

fn defaults(definition: &Symptom) -> Option<&'static SubDomain> {
    definition.sub_domain.as_deref().and_then(sub_domain)
}

/// The decision for the root causes with their confidences.
#[must_use]
pub fn decide(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    judgement: &Judgement,
    confidences: &[Confidence],
) -> Decision {
    let lead = |root: &Root| root.events.first().and_then(|i| graph.events.get(*i as usize));
    let Some(main) = judgement.roots.first().and_then(lead) else {
        let (class, advice, reason) = match judgement.verdict {
            Verdict::NoFault => (FaultClass::None, Restart::NoneNeeded, "nothing failed"),
            _ => (
                FaultClass::Undetermined,
                Restart::Unknown,
                "the cause is not known: see what could change the verdict",
            ),
        };
        return Decision {
            fault_class: class,
            owner: Owner::None,
            restart: RestartDecision { advice, same_root_attempts: 0, reason: reason.into() },
            exclude: Vec::new(),
        };
    };
    let definition = main.definition(rules);
    let sub = definition.and_then(defaults);
    let domain = main.domain(rules);
    let advice = definition.and_then(|d| d.restart).or(sub.map(|s| s.restart)).unwrap_or(Restart::Unknown);
    let reason = match advice {
        Restart::Retry => "what ended it need not come again",
        Restart::RetryLater => "what failed is outside of it and may recover",
        Restart::RetryElsewhere => "the fault stays with its place",
        Restart::FixFirst => "it would fail in the same way again",
        Restart::NoneNeeded => "it was ended on purpose",
        Restart::Unknown => "not known",
    }
    .to_owned();
    let mut exclude = Vec::new();
    for (root, confidence) in judgement.roots.iter().zip(confidences) {
        for index in &root.events {
            let Some(event) = graph.events.get(*index as usize) else { continue };
            exclude.extend(exclusion(graph, case, rules, event, *confidence));
        }
    }
    let mut seen = BTreeSet::new();
    exclude.retain(|e: &Exclude| seen.insert((e.scope, e.id.clone(), e.node.clone())));
    Decision {
        fault_class: fault_class(domain),
        owner: definition.and_then(|d| d.owner).or(sub.map(|s| s.owner)).unwrap_or(Owner::None),
        restart: RestartDecision { advice, same_root_attempts: 1, reason },
        exclude,
    }
}

fn exclusion(
    graph: &Graph,
    case: &Case,
    rules: &RuleSet,
    event: &Event,
    confidence: Confidence,
) -> Option<Exclude> {
    let definition = event.definition(rules)?;
    let sub = defaults(definition);
    let mut scope = definition.exclude.or(sub.map(|s| s.exclude)).unwrap_or(ExcludeScope::None);
    if event.quoted {
        return None;
    }
    let node = event.place.node.clone();
    // Without the narrower name the wider place is meant.
    if scope == ExcludeScope::Gpu && event.place.gpu.is_none()
        || scope == ExcludeScope::Port && event.place.port.is_none()
    {
        scope = ExcludeScope::Node;
    }
    let id = match scope {
        ExcludeScope::None => return None,
        ExcludeScope::Gpu => event.place.gpu.as_ref()?.to_string(),
        ExcludeScope::Port => event.place.port.clone()?,
        ExcludeScope::Switch => event.place.component.clone().or_else(|| node.clone())?,
        ExcludeScope::Node | ExcludeScope::NvlinkDomain => node.clone()?,
    };
    let advised = driver_advice(graph, event);
    let (action, source) = match (advised, definition.exclude_action) {
        (Some(action), _) => (action, "xid_154"),
        (None, Some(action)) => {
            (action, if event.symptom.starts_with("xid.") { "catalogue" } else { "pack" })
        }
        (None, None) => {
            let action = match scope {
                ExcludeScope::Gpu => ExcludeAction::ResetGpu,
                ExcludeScope::Node => ExcludeAction::Drain,
                _ => ExcludeAction::Inspect,
            };
            (action, "pack")
        }
    };
    let mut blocked = Vec::new();
    if confidence == Confidence::Suspected {
        blocked.push("confidence is only suspected".to_owned());
    }
    let named = match (&node, scope) {
        (None, ExcludeScope::Switch) => {
            case.context.nodes.iter().any(|n| n.switch.as_deref() == Some(id.as_str()))
        }
        (node, _) => node.as_deref().is_some_and(|n| case.context.node(n).is_some()),
    };
    if !named {
        blocked.push("the node is not resolved to a name of the scheduler".to_owned());
    }
    if event.trust != Trust::Host {
        blocked.push("nobody vouches for where the evidence comes from".to_owned());
    }
    let boot_id = node.as_deref().and_then(|n| case.context.node(n)).and_then(|n| n.boot_id.clone());
    Some(Exclude {
        scope,
        id,
        node,
        action,
        action_source: source.to_owned(),
        actionable: blocked.is_empty(),
        blocked_by: blocked,
        valid_while: ValidWhile {
            boot_id,
            until: match action {
                ExcludeAction::ResetGpu => "gpu_reset",
                ExcludeAction::Reboot => "reboot",
                _ => "repair",
            }
            .to_owned(),
        },
    })
}

/// The driver's own advice for the GPU, by its code, since the fault began: the most drastic one.
fn driver_advice(graph: &Graph, event: &Event) -> Option<ExcludeAction> {
    let gpu = event.place.gpu.as_ref()?;
    let since = event.onset.map(|o| o.from.shifted(-TIE));
    let codes = graph.events.iter().filter(|e| {
        let after = match (e.last_seen, since) {
            (Some(seen), Some(since)) => seen >= since,
            _ => true,
        };
        e.place.gpu.as_ref() == Some(gpu)
            && e.place.node == event.place.node
            && !e.quoted
            && e.scope == Scope::In
            && after
    });
    let code = |text: &str| match text.strip_prefix("0x") {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    };
    // Reboot before reset before drain and reset before drain.
    codes
        .filter_map(|e| code(e.facts.get("action_code")?))
        .filter_map(|c| match c {
            2 => Some((0, ExcludeAction::Reboot)),
            1 | 4 => Some((1, ExcludeAction::ResetGpu)),
            3 => Some((2, ExcludeAction::Drain)),
            5 => Some((3, ExcludeAction::Inspect)),
            _ => None,
        })
        .min()
        .map(|(_, action)| action)
}

/// What the root causes blame; nothing for faults that are no place's.
#[must_use]
pub fn responsible(graph: &Graph, rules: &RuleSet, judgement: &Judgement) -> Responsible {
    let mut nodes = BTreeSet::new();
    let mut gpus = BTreeSet::new();
    let mut ports = BTreeSet::new();
    let mut switches = BTreeSet::new();
    for root in &judgement.roots {
        for event in root.events.iter().filter_map(|i| graph.events.get(*i as usize)) {
            let domain = event.domain(rules);
            if matches!(
                domain,
                Domain::Application
                    | Domain::Resource
                    | Domain::Scheduler
                    | Domain::External
                    | Domain::Undetermined
            ) || event.quoted
            {
                continue;
            }
            // A node that merely met the fault of something outside of it is not to be avoided.
            let definition = event.definition(rules);
            let scope = definition.and_then(|d| d.exclude.or(defaults(d).map(|s| s.exclude)));
            if scope.is_none_or(|scope| scope == ExcludeScope::None) {
                continue;
            }
            let is_switch = event
                .definition(rules)
                .is_some_and(|d| matches!(d.sub_domain.as_deref(), Some("switch" | "nvswitch")));
            let Some(node) = event.place.node.clone() else {
                // One between nodes is no node's.
                switches.extend(event.place.component.clone().filter(|_| is_switch));
                continue;
            };
            let at = |name: &str| format!("{node}/{name}");
            if domain == Domain::Hardware || domain == Domain::Software {
                gpus.extend(event.place.gpu.as_ref().map(|g| at(g.as_str())));
            }
            if domain == Domain::Network || domain == Domain::Hardware {
                ports.extend(event.place.port.as_deref().map(at));
            }
            if is_switch {
                switches.extend(event.place.component.as_deref().map(at));
            }
            nodes.insert(node);
        }
    }
    Responsible {
        nodes: nodes.into_iter().collect(),
        gpus: gpus.into_iter().collect(),
        ports: ports.into_iter().collect(),
        switches: switches.into_iter().collect(),
    }
}
