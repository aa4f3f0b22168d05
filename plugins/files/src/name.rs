//! What a file's name says: compression, place among its rotated siblings, and what remains.

/// Where a file stands among its rotated siblings. The order is that of age, the oldest first: dated ones (by date), then
/// numbered ones (the highest first), then the one that is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Age {
    /// `-20261102`, or with an hour behind it.
    Dated(u64),
    /// `.2`; held as the complement, so that the higher number comes first.
    Numbered(u32),
    /// None of them.
    Current,
}

/// A name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name<'a> {
    /// What all rotated siblings share: `app.27.log`.
    pub base: &'a str,
    /// Which of them it is.
    pub age: Age,
}

/// Takes a name apart. Only what looks like a log is taken for a rotated one: `app.log.1` is, `checkpoint.1` is not.
#[must_use]
pub fn parse(name: &str) -> Name<'_> {
    let plain = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(name);
    let digits = plain.len() - plain.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    let (front, number) = plain.split_at(plain.len() - digits);
    let split = match (front.as_bytes().last(), digits) {
        (Some(b'.'), 1..=4) => number.parse().ok().map(|number: u32| Age::Numbered(u32::MAX - number)),
        (Some(b'-' | b'.'), 8 | 10 | 12 | 14) => number.parse().ok().map(Age::Dated),
        _ => None,
    };
    let base = front.get(..front.len().saturating_sub(1)).unwrap_or_default();
    match split {
        Some(age) if rotates(base) => Name { base, age },
        _ => Name { base: plain, age: Age::Current },
    }
}

/// Whether a name is one that is rotated.
fn rotates(base: &str) -> bool {
    ends_like_a_log(base) || source(base).is_some()
}

fn ends_like_a_log(base: &str) -> bool {
    let ending = |extension: &str| base.strip_suffix(extension).is_some_and(|stem| !stem.is_empty());
    [".log", ".out", ".err", ".txt"].into_iter().any(ending)
}

/// The part of a base without the ending of a log.
#[must_use]
pub fn stem(base: &str) -> &str {
    [".log", ".out", ".err", ".txt"].into_iter().find_map(|ending| base.strip_suffix(ending)).unwrap_or(base)
}

/// The source that goes by a name, exactly.
#[must_use]
pub fn source(stem: &str) -> Option<&'static str> {
    Some(match stem {
        "app" => "app",
        "kernel" | "dmesg" | "kern" | "kmsg" => "kernel",
        "syslog" | "messages" | "journal" => "syslog",
        "fabric_manager" | "fabricmanager" | "nv-fabricmanager" => "fabric_manager",
        "scheduler" | "slurmctld" => "scheduler",
        "slurmd" => "slurmd",
        _ => return None,
    })
}

/// The source that a stem begins with, and what follows its separator: `dmesg-gpu-12`, `slurmd_x`, `kernel.2026`. A job's log
/// named `app-12` or `messages-to-self` is not meant.
#[must_use]
pub fn leading_source(stem: &str) -> Option<(&'static str, &str)> {
    ["dmesg", "kernel", "kern", "slurmctld", "slurmd", "fabricmanager"].into_iter().find_map(|word| {
        let rest = stem.strip_prefix(word)?.strip_prefix(['-', '_', '.'])?;
        Some((source(word)?, rest))
    })
}

/// The source that a stem ends with, and what comes before its separator: `gpu-12.kernel`, `gpu-12-dmesg`.
#[must_use]
pub fn trailing_source(stem: &str) -> Option<(&'static str, &str)> {
    let at = stem.rfind(['-', '.'])?;
    Some((source(&stem[at + 1..])?, &stem[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotated_siblings_share_a_base_and_stand_in_the_order_of_age() {
        let mut names = vec![
            "app.log",
            "app.log.1",
            "app.log.2.gz",
            "app.log.10.zst",
            "app.log-20261102",
            "app.log-20261101.gz",
        ];
        names.sort_by_key(|name| parse(name).age);
        assert_eq!(
            names,
            [
                "app.log-20261101.gz",
                "app.log-20261102",
                "app.log.10.zst",
                "app.log.2.gz",
                "app.log.1",
                "app.log"
            ]
        );
        assert!(names.iter().all(|name| parse(name).base == "app.log"));
        for (name, base) in [
            ("syslog.1", "syslog"),
            ("messages-20261102.gz", "messages"),
            ("dmesg.0", "dmesg"),
            ("slurm-7.out.3", "slurm-7.out"),
        ] {
            assert_eq!(parse(name).base, base);
            assert_ne!(parse(name).age, Age::Current);
        }
    }

    #[test]
    fn other_numbers_are_part_of_the_name() {
        for name in [
            "checkpoint.1",
            "rank.3",
            "app.27.log",
            "slurm-48213.out",
            "app.log.12345",
            "1",
            ".log",
            "a-20261102",
            "",
        ] {
            assert_eq!(parse(name), Name { base: name, age: Age::Current }, "{name}");
        }
        assert_eq!(parse("train.log.gz").base, "train.log");
    }

    #[test]
    fn sources_are_known_by_name() {
        assert_eq!(stem("app.27.log"), "app.27");
        assert_eq!(stem("syslog"), "syslog");
        assert_eq!(source("kern"), Some("kernel"));
        assert_eq!(source("train"), None);
        assert_eq!(leading_source("dmesg-gpu-12"), Some(("kernel", "gpu-12")));
        assert_eq!(leading_source("kernel_panic"), Some(("kernel", "panic")));
        assert_eq!(leading_source("slurmd.gpu-12"), Some(("slurmd", "gpu-12")));
        assert_eq!(leading_source("kernels"), None);
        assert_eq!(trailing_source("gpu-12.kernel"), Some(("kernel", "gpu-12")));
        assert_eq!(trailing_source("gpu-12"), None);
    }
}
