//! Which diagnosis a report belongs to.
//!
//! A diagnosis is of one attempt: (scheduler, cluster, raw id, start or number of the attempt). Hooks do not all know both, so a report
//! is compared with what is known of the attempts so far. One that knows neither goes to what is still open.

use firstfault_model::canonical::Digester;

/// What a report says of which attempt it is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// `slurm`, `kueue`, ...; may be empty.
    pub scheduler: String,
    /// Name of the cluster; may be empty.
    pub cluster: String,
    /// The scheduler's raw id.
    pub workload: String,
    /// Number of the attempt.
    pub attempt: Option<u32>,
    /// Start of the attempt in milliseconds. Schedulers record seconds, so no more is compared.
    pub start: Option<i64>,
}

/// An attempt of the same workload that is known already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// Its row.
    pub seq: i64,
    /// Number of the attempt.
    pub attempt: Option<u32>,
    /// Start in milliseconds.
    pub start: Option<i64>,
    /// Whether its last revision was made.
    pub closed: bool,
    /// Whether it has this very report.
    pub has_it: bool,
}

impl Identity {
    /// The id of the attempt's diagnosis, if this identity is the first that is heard of it. `salt` tells apart what says nothing
    /// of the attempt.
    #[must_use]
    pub fn id(&self, salt: &str) -> String {
        let mut id = Digester::new("firstfault.attempt/1");
        for part in [&self.scheduler, &self.cluster, &self.workload] {
            id.part(part.as_bytes());
        }
        let which = match (self.start, self.attempt) {
            (Some(start), _) => format!("start {}", start.div_euclid(1000)),
            (None, Some(attempt)) => format!("attempt {attempt}"),
            (None, None) => format!("unstated {salt}"),
        };
        id.part(which.as_bytes());
        let id = id.finish();
        format!("d-{}", id.get(7..31).unwrap_or(&id))
    }

    /// The one among the known attempts that is this one, the newest given first; none: it is a new one.
    #[must_use]
    pub fn find<'a>(&self, known: &'a [Known]) -> Option<&'a Known> {
        if let Some(same) = known.iter().find(|k| k.has_it && self.same(k) != Some(false)) {
            return Some(same);
        }
        if self.start.is_none() && self.attempt.is_none() {
            return known.iter().find(|k| !k.closed);
        }
        let certain = |k: &&Known| self.same(k) == Some(true);
        // What nobody could name until now is named by the first that can.
        let unnamed = |k: &&Known| k.start.is_none() && k.attempt.is_none() && !k.closed;
        known.iter().find(certain).or_else(|| known.iter().find(unnamed))
    }

    /// Whether it is the same attempt, if what both know decides it.
    fn same(&self, known: &Known) -> Option<bool> {
        if let (Some(a), Some(b)) = (self.start, known.start) {
            return Some(a.div_euclid(1000) == b.div_euclid(1000));
        }
        Some(self.attempt? == known.attempt?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(seq: i64, attempt: Option<u32>, start: Option<i64>) -> Known {
        Known { seq, attempt, start, closed: false, has_it: false }
    }

    fn asked(attempt: Option<u32>, start: Option<i64>) -> Identity {
        Identity { workload: "7".into(), attempt, start, ..Identity::default() }
    }

    #[test]
    fn the_start_decides_and_then_the_number() {
        let all = [known(2, Some(2), Some(9_000)), known(1, Some(1), Some(5_000))];
        let seq = |a, s| asked(a, s).find(&all).map(|k| k.seq);
        assert_eq!(seq(None, Some(5_400)), Some(1));
        assert_eq!(seq(Some(2), Some(5_000)), Some(1), "a number that was counted up too early does not");
        assert_eq!(seq(Some(2), None), Some(2));
        assert_eq!(seq(None, Some(7_000)), None);
        assert_eq!(seq(Some(3), None), None);
    }

    #[test]
    fn what_says_nothing_goes_to_what_is_open() {
        let mut all = [known(1, None, Some(5_000))];
        assert_eq!(asked(None, None).find(&all).map(|k| k.seq), Some(1));
        all[0].closed = true;
        assert_eq!(asked(None, None).find(&all), None);
        all[0].has_it = true;
        assert_eq!(asked(None, None).find(&all).map(|k| k.seq), Some(1), "the same report again");
    }

    #[test]
    fn what_is_unnamed_is_named_by_the_first_that_can() {
        let all = [known(1, None, None)];
        assert_eq!(asked(None, Some(5_000)).find(&all).map(|k| k.seq), Some(1));
    }

    #[test]
    fn ids_follow_from_the_attempt_alone() {
        assert_eq!(asked(Some(1), Some(5_000)).id("a"), asked(None, Some(5_999)).id("b"));
        assert_ne!(asked(None, Some(5_000)).id(""), asked(None, Some(6_000)).id(""));
        assert_ne!(asked(Some(1), None).id(""), asked(Some(2), None).id(""));
        assert_ne!(asked(None, None).id("a"), asked(None, None).id("b"));
    }
}
