//! Slurm's lists of nodes, `gpu-[001-004,009],login1`, as names.

/// Most names.
const MOST: usize = 100_000;

/// The names of a list; none if it is no list or names too many.
#[must_use]
pub fn expand(list: &str) -> Option<Vec<String>> {
    let mut out = Vec::new();
    let (mut depth, mut from) = (0_u32, 0);
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                let one = list.get(from..at)?.trim();
                if !one.is_empty() {
                    pattern(one, "", &mut out)?;
                }
                from = at + 1;
            }
            _ => {}
        }
    }
    (depth == 0).then_some(out)
}

/// Expands the first brackets, and what follows for each of their numbers.
fn pattern(text: &str, before: &str, out: &mut Vec<String>) -> Option<()> {
    let Some((head, rest)) = text.split_once('[') else {
        if out.len() == MOST {
            return None;
        }
        out.push(format!("{before}{text}"));
        return Some(());
    };
    let (ranges, tail) = rest.split_once(']')?;
    for range in ranges.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        if to < from || to - from >= u64::try_from(MOST).ok()? {
            return None;
        }
        for number in from..=to {
            pattern(tail, &format!("{before}{head}{number:0width$}", width = first.len()), out)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_expanded() {
        let names = |list| expand(list).map(|names| names.join(" "));
        assert_eq!(names("gpu-[001-003,9],login1").unwrap(), "gpu-001 gpu-002 gpu-003 gpu-9 login1");
        assert_eq!(names("r[1-2]n[8-9]").unwrap(), "r1n8 r1n9 r2n8 r2n9");
        assert_eq!(names("n7").unwrap(), "n7");
        assert_eq!(names("").unwrap(), "");
        for wrong in ["n[", "n]", "n[1-", "n[b]", "n[3-1]", "n[0-99999999999]", "n[1-400]x[1-400]", "[[1]]"] {
            assert_eq!(names(wrong), None, "{wrong}");
        }
    }
}
