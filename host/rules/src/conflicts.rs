//! What packs say against each other, as far as it can be told without a log.

use std::collections::{BTreeMap, BTreeSet};

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::pack::{Role, Where};
use crate::ruleset::{RuleSet, has_cause, has_effect};

/// How strongly a declared cause joins two events, the strongest first: by a name, by a place, by order alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Bond {
    Named,
    Placed,
    Ordered,
}

impl From<Where> for Bond {
    fn from(place: Where) -> Self {
        match place {
            Where::NamedPeer => Self::Named,
            Where::SameGpu | Where::SameRank | Where::SameNode => Self::Placed,
            Where::AnyRankOfJob => Self::Ordered,
        }
    }
}

/// Groups of symptoms that explain each other in a circle: at one place and time nothing tells which of them came first, for
/// they are joined alike and have the same `rank`.
#[must_use]
pub fn circles(rules: &RuleSet) -> Vec<Vec<&str>> {
    let explaining = |id: &&str| rules.symptom(id).is_some_and(|d| d.symptom.role.explains());
    let ids: Vec<&str> = rules
        .symptoms()
        .keys()
        .map(String::as_str)
        .filter(|id| !id.ends_with('*'))
        .filter(explaining)
        .collect();
    let of = |id: &str| rules.symptom(id).map(|d| (d.symptom.role, d.symptom.rank));
    // The strongest bond of each pair is the one that counts.
    let mut bonds: BTreeMap<(&str, &str), Bond> = BTreeMap::new();
    for declared in rules.causes() {
        let bond = Bond::from(declared.cause.place);
        // A cause that may have nothing behind it is the effect of nothing.
        let effects = ids.iter().filter(|id| {
            has_effect(&declared.cause, id) && of(id).is_some_and(|(role, _)| role == Role::Either)
        });
        for effect in effects {
            for cause in ids.iter().filter(|id| has_cause(&declared.cause, id) && *id != effect) {
                bonds.entry((cause, effect)).and_modify(|known| *known = bond.min(*known)).or_insert(bond);
            }
        }
    }
    let mut alike: BTreeMap<(Bond, u32), DiGraphMap<&str, ()>> = BTreeMap::new();
    for ((cause, effect), bond) in bonds {
        if let (Some((_, a)), Some((_, b))) = (of(cause), of(effect))
            && a == b
        {
            alike.entry((bond, a)).or_default().add_edge(cause, effect, ());
        }
    }
    let mut circles: BTreeSet<Vec<&str>> = BTreeSet::new();
    for graph in alike.values() {
        for mut members in tarjan_scc(graph) {
            if members.len() > 1 {
                members.sort_unstable();
                circles.insert(members);
            }
        }
    }
    circles.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::load;

    fn rules(ranks: [u32; 2], role: &str, back: &str) -> RuleSet {
        let pack = format!(
            r#"
            [pack]
            name = "test"
            version = "1.0.0"
            [[symptom]]
            id = "a.one"
            role = "{role}"
            domain = "software"
            sub_domain = "kernel"
            title = "one"
            rank = {}
            [[symptom]]
            id = "b.two"
            role = "either"
            domain = "software"
            sub_domain = "kernel"
            title = "two"
            rank = {}
            [[cause]]
            effect = "b.*"
            by = ["a.*"]
            where = "same_node"
            [[cause]]
            effect = "a.one"
            by = ["b.two"]
            where = "{back}"
            "#,
            ranks[0], ranks[1]
        );
        RuleSet::new(vec![load("test", &pack, None).unwrap()]).unwrap()
    }

    #[test]
    fn circles_are_found_where_nothing_breaks_them() {
        assert_eq!(circles(&rules([50, 50], "either", "same_node")), [["a.one", "b.two"]]);
        assert_eq!(
            circles(&rules([50, 50], "either", "same_gpu")),
            [["a.one", "b.two"]],
            "a place is a place"
        );
        // A smaller rank came first, a stronger bond goes before a weaker one, and a cause has nothing behind it.
        assert!(circles(&rules([40, 50], "either", "same_node")).is_empty());
        assert!(circles(&rules([50, 50], "either", "any_rank_of_job")).is_empty());
        assert!(circles(&rules([50, 50], "cause", "same_node")).is_empty());
    }
}
