//! Sets of ranks and of nodes, in few characters.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Ranks as `0-7,12,16-127`.
#[must_use]
pub fn format_ranks<'a>(ranks: impl IntoIterator<Item = &'a u32>) -> String {
    let sorted: BTreeSet<u32> = ranks.into_iter().copied().collect();
    let shown = rank_ranges(&sorted)
        .into_iter()
        .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") });
    shown.collect::<Vec<_>>().join(",")
}

/// Inclusive ranges of a set of ranks, ascending.
#[must_use]
pub fn rank_ranges(ranks: &BTreeSet<u32>) -> Vec<(u32, u32)> {
    let mut out: Vec<(u32, u32)> = Vec::new();
    for &rank in ranks {
        match out.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(rank) => *last = rank,
            _ => out.push((rank, rank)),
        }
    }
    out
}

/// Nodes as a host list: `gpu-[0761-0763,0770],login1`. Numbers keep their leading zeros.
#[must_use]
pub fn format_nodes<'a>(nodes: impl IntoIterator<Item = &'a str>) -> String {
    let sorted: BTreeSet<&str> = nodes.into_iter().collect();
    // (prefix, digits) with equal prefix and equal width are one bracket.
    type Numbers<'a> = Vec<(u64, &'a str)>;
    let mut groups: Vec<(&str, usize, Numbers<'_>)> = Vec::new();
    let mut plain: Vec<&str> = Vec::new();
    for node in sorted {
        let cut = node.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (prefix, digits) = node.split_at(cut);
        match digits.parse::<u64>() {
            Ok(number) if !prefix.is_empty() => match groups.last_mut() {
                Some((p, width, numbers)) if *p == prefix && *width == digits.len() => {
                    numbers.push((number, digits))
                }
                _ => groups.push((prefix, digits.len(), vec![(number, digits)])),
            },
            _ => plain.push(node),
        }
    }
    let mut parts: Vec<String> = Vec::new();
    for (prefix, _, numbers) in groups {
        if let [(_, only)] = numbers.as_slice() {
            parts.push(format!("{prefix}{only}"));
            continue;
        }
        let mut spans: Vec<(&str, &str, u64)> = Vec::new();
        for (number, digits) in numbers {
            match spans.last_mut() {
                Some((_, last, value)) if value.checked_add(1) == Some(number) => {
                    (*last, *value) = (digits, number)
                }
                _ => spans.push((digits, digits, number)),
            }
        }
        let body: Vec<String> =
            spans.iter().map(|(a, b, _)| if a == b { (*a).to_owned() } else { format!("{a}-{b}") }).collect();
        parts.push(format!("{prefix}[{}]", body.join(",")));
    }
    parts.extend(plain.into_iter().map(str::to_owned));
    parts.join(",")
}

/// Reads `0-7,12,16-127`; `None` if it is malformed or names more than `limit` ranks.
#[must_use]
pub fn parse_ranks(text: &str, limit: usize) -> Option<BTreeSet<u32>> {
    let mut out = BTreeSet::new();
    for part in text.split(',').filter(|p| !p.trim().is_empty()) {
        let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || (last - first) as usize >= limit.saturating_sub(out.len()) {
            return None;
        }
        out.extend(first..=last);
    }
    Some(out)
}

/// Reads a host list as Slurm writes it: `gpu-[0761-0763,0770],rack[1-2]n[01-04],login1`. `None` if it is malformed or names more than
/// `limit` nodes.
#[must_use]
pub fn parse_nodes(text: &str, limit: usize) -> Option<BTreeSet<String>> {
    let mut out = BTreeSet::new();
    let mut depth = 0_u32;
    let mut begin = 0;
    let ends = text.char_indices().map(|(i, c)| (i, Some(c))).chain([(text.len(), None)]);
    for (i, c) in ends {
        match c {
            Some('[') => depth += 1,
            Some(']') => depth = depth.checked_sub(1)?,
            Some(',') if depth == 0 => {
                expand_nodes(text.get(begin..i)?.trim(), limit, &mut out)?;
                begin = i + 1;
            }
            None => expand_nodes(text.get(begin..)?.trim(), limit, &mut out)?,
            Some(_) => {}
        }
    }
    (depth == 0).then_some(out)
}

/// Expands the brackets of one member of a host list, from the left.
fn expand_nodes(member: &str, limit: usize, out: &mut BTreeSet<String>) -> Option<()> {
    let Some((prefix, rest)) = member.split_once('[') else {
        if !member.is_empty() {
            out.insert(member.to_owned());
        }
        return (out.len() <= limit && !member.contains(']')).then_some(());
    };
    let (body, rest) = rest.split_once(']')?;
    for range in body.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        if first.is_empty() || !first.bytes().chain(last.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let width = first.len();
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if last < first || last - first >= limit as u64 {
            return None;
        }
        for number in first..=last {
            expand_nodes(&format!("{prefix}{number:0width$}{rest}"), limit, out)?;
        }
    }
    Some(())
}

/// Global ranks as they are written in a context: a list of numbers or of ranges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged, expecting = "write a list of ranks, or ranges such as \"0-7,12\"")]
pub enum RankList {
    /// `[0, 1, 2]`
    Numbers(Vec<u32>),
    /// `"0-7,12"`
    Text(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_ranges() {
        assert_eq!(format_ranks(&[3, 1, 2, 7, 9, 8, 2]), "1-3,7-9");
        assert_eq!(format_ranks(&[]), "");
        assert_eq!(format_ranks(&[u32::MAX, u32::MAX - 1]), "4294967294-4294967295");
    }

    #[test]
    fn nodes_are_host_lists() {
        assert_eq!(format_nodes(["gpu-0002", "gpu-0001", "gpu-0004", "login"]), "gpu-[0001-0002,0004],login");
        assert_eq!(format_nodes(["n9", "n10", "n11"]), "n[10-11],n9");
        assert_eq!(format_nodes(["10", "a"]), "10,a");
    }

    #[test]
    fn host_lists_are_nodes() {
        let nodes =
            |text: &str| parse_nodes(text, 100).map(|set| set.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(nodes("gpu-[08-10,12],login").as_deref(), Some("gpu-08 gpu-09 gpu-10 gpu-12 login"));
        assert_eq!(nodes("r[1-2]n[1,3]").as_deref(), Some("r1n1 r1n3 r2n1 r2n3"));
        assert_eq!(nodes("a[1-2].example,b").as_deref(), Some("a1.example a2.example b"));
        for wrong in ["a[1-2", "a1]", "a[2-1]", "a[1-x]", "a[]", "a[1-1000]", "a[0-4294967295]"] {
            assert_eq!(nodes(wrong), None, "{wrong}");
        }
        let set: BTreeSet<&str> = ["gpu-0002", "gpu-0001", "gpu-0004", "login"].into();
        let back = parse_nodes(&format_nodes(set.iter().copied()), 10).unwrap();
        assert!(back.iter().map(String::as_str).eq(set));
    }

    #[test]
    fn ranks_round_trip() {
        let set: BTreeSet<u32> = [0, 1, 5, 6, 7].into();
        assert_eq!(parse_ranks(&format_ranks(&set), 100), Some(set));
        assert_eq!(parse_ranks("0-4294967295", 1000), None);
        assert_eq!(parse_ranks("7-3", 1000), None);
    }
}
