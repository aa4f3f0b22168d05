//! Cuts cycles of the cause graph at the weakest edge.

use std::collections::{BTreeMap, BTreeSet};

use crate::edges::Edge;
use crate::event::Event;

/// Removes edges until none lies on a cycle. Within a cycle the edge with the weakest basis goes first; of equals the one whose
/// cause ranks behind its effect, then the one whose cause began or stands later.
pub fn cut(edges: &mut Vec<Edge>, events: &[Event]) {
    loop {
        let component = components(edges);
        let weakest = edges
            .iter()
            .enumerate()
            .filter(|(_, e)| component.get(&e.cause).is_some_and(|c| component.get(&e.effect) == Some(c)))
            .max_by_key(|(i, e)| {
                let of = |n: u32| events.get(n as usize);
                let rank = |n: u32| of(n).map_or(0, |e| i64::from(e.rank));
                let later = of(e.cause).map(|c| (c.onset.map(|o| o.from), c.first));
                (e.basis, rank(e.cause) - rank(e.effect), later, *i)
            })
            .map(|(i, _)| i);
        match weakest {
            Some(i) => _ = edges.remove(i),
            None => return,
        }
    }
}

/// Strongly connected components with more than one event: event number to component number.
fn components(edges: &[Edge]) -> BTreeMap<u32, u32> {
    let mut next: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut before: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for edge in edges {
        next.entry(edge.cause).or_default().push(edge.effect);
        before.entry(edge.effect).or_default().push(edge.cause);
    }
    // What explains nothing, or is explained by nothing, is on no cycle: peel it off until only cycles and what lies between them are left.
    let mut alive: BTreeSet<u32> = next.keys().filter(|n| before.contains_key(n)).copied().collect();
    loop {
        let has = |map: &BTreeMap<u32, Vec<u32>>, n: &u32| {
            map.get(n).is_some_and(|l| l.iter().any(|m| alive.contains(m)))
        };
        let dead: Vec<u32> = alive.iter().filter(|n| !has(&next, n) || !has(&before, n)).copied().collect();
        if dead.is_empty() {
            break;
        }
        for node in dead {
            alive.remove(&node);
        }
    }
    let reach = |start: u32, map: &BTreeMap<u32, Vec<u32>>| {
        let mut seen = BTreeSet::new();
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            for &m in map.get(&node).map_or(&[][..], Vec::as_slice) {
                if alive.contains(&m) && seen.insert(m) {
                    stack.push(m);
                }
            }
        }
        seen
    };
    let mut out = BTreeMap::new();
    for (number, &node) in (0_u32..).zip(&alive) {
        if out.contains_key(&node) {
            continue;
        }
        let forward = reach(node, &next);
        if !forward.contains(&node) {
            continue;
        }
        for member in forward.intersection(&reach(node, &before)) {
            out.insert(*member, number);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstfault_model::event::Basis;

    fn edge(cause: u32, effect: u32, basis: Basis) -> Edge {
        Edge { effect, basis, unordered: false, cause, rule: String::new() }
    }

    #[test]
    fn the_weakest_edge_of_a_cycle_goes() {
        let mut edges = vec![
            edge(0, 1, Basis::Stated),
            edge(1, 2, Basis::Place),
            edge(2, 0, Basis::Order),
            edge(2, 3, Basis::Order),
        ];
        cut(&mut edges, &[]);
        assert_eq!(edges, [edge(0, 1, Basis::Stated), edge(1, 2, Basis::Place), edge(2, 3, Basis::Order)]);
    }

    #[test]
    fn what_is_acyclic_stays() {
        let all = vec![edge(0, 1, Basis::Order), edge(0, 2, Basis::Order), edge(1, 2, Basis::Order)];
        let mut edges = all.clone();
        cut(&mut edges, &[]);
        assert_eq!(edges, all);
    }
}
