//! Reports in, leases, what comes of them.

use firstfault_model::canonical::digest;
use rusqlite::{Connection, OptionalExtension as _, Transaction, named_params, params};

use super::reading::{ENTRY, entry_of};
use crate::bind::Known;
use crate::{
    Accepted, Lease, Leased, MOST_CUTS, NewReport, Outcome, Refusal, Revised, State, StoreError, document,
};

/// Most different reports of one attempt: one for each node of the largest jobs, and some.
const MOST_REPORTS: u32 = 50_000;
/// Attempts of one workload that a report is compared with, the newest first.
const MOST_ATTEMPTS: u32 = 1000;

pub(super) fn accept(
    t: &Transaction<'_>,
    report: &NewReport,
    now: i64,
) -> Result<Result<Accepted, Refusal>, StoreError> {
    let hash = digest(report.body.as_bytes());
    let identity = &report.identity;
    let mut known = Vec::new();
    {
        let mut rows = t.prepare_cached(
            "SELECT seq, attempt, start, state = 'done' AND status <> 'provisional',
                    EXISTS (SELECT 1 FROM report WHERE diagnosis = seq AND digest = ?4)
             FROM diagnosis WHERE workload = ?1 AND cluster = ?2 AND scheduler = ?3 ORDER BY seq DESC LIMIT ?5",
        )?;
        let found = rows.query_map(
            params![identity.workload, identity.cluster, identity.scheduler, hash, MOST_ATTEMPTS],
            |row| {
                Ok(Known {
                    seq: row.get(0)?,
                    attempt: row.get(1)?,
                    start: row.get(2)?,
                    closed: row.get::<_, Option<bool>>(3)?.unwrap_or(false),
                    has_it: row.get(4)?,
                })
            },
        )?;
        for one in found {
            known.push(one?);
        }
    }
    match identity.find(&known) {
        Some(found) if found.has_it => {
            // It may have come first with a session, of which nobody has asked anything yet.
            if let Some(wait) = report.due_in {
                t.prepare_cached(
                    "UPDATE diagnosis SET state = 'accepted', due = ?2, updated = ?3 WHERE seq = ?1 AND state = 'open'",
                )?
                .execute(params![found.seq, now.saturating_add(wait), now])?;
            }
            Ok(Ok(answer(t, found.seq, false)?))
        }
        Some(found) => merge(t, found.seq, report, &hash, now),
        None => create(t, report, &hash, now).map(Ok),
    }
}

fn create(t: &Transaction<'_>, report: &NewReport, hash: &str, now: i64) -> Result<Accepted, StoreError> {
    let identity = &report.identity;
    let state = if report.due_in.is_some() { State::Accepted } else { State::Open };
    t.prepare_cached(
        "INSERT INTO diagnosis (id, scheduler, cluster, workload, attempt, start, owner, submitter, state, created,
                                updated, due, wanted)
         VALUES (:id, :scheduler, :cluster, :workload, :attempt, :start, :owner, :submitter, :state, :now, :now, :due, 1)",
    )?
    .execute(named_params! {
        ":id": identity.id(hash),
        ":scheduler": identity.scheduler,
        ":cluster": identity.cluster,
        ":workload": identity.workload,
        ":attempt": identity.attempt,
        ":start": identity.start,
        ":owner": report.owner,
        ":submitter": report.submitter,
        ":state": state.name(),
        ":now": now,
        ":due": report.due_in.map(|wait| now.saturating_add(wait)),
    })?;
    let seq = t.last_insert_rowid();
    keep(t, seq, report, hash)?;
    answer(t, seq, true)
}

fn merge(
    t: &Transaction<'_>,
    seq: i64,
    report: &NewReport,
    hash: &str,
    now: i64,
) -> Result<Result<Accepted, Refusal>, StoreError> {
    let row = t
        .prepare_cached(
            "SELECT owner, reports, attempt, start, state = 'open' FROM diagnosis WHERE seq = ?1",
        )?
        .query_row([seq], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?;
    let (owner, reports, attempt, start, open): (Option<String>, u32, Option<u32>, Option<i64>, bool) = row;
    if reports >= MOST_REPORTS {
        return Ok(Err(Refusal::TooMany(MOST_REPORTS)));
    }
    let others = owner.is_some() && report.owner.is_some() && owner != report.owner;
    if others && !report.trusted {
        return Ok(Err(Refusal::NotYours));
    }
    if others {
        // Somebody claimed what is not theirs before the operator's hook said whose it is.
        t.execute("DELETE FROM report WHERE diagnosis = ?1 AND NOT trusted", [seq])?;
    }
    keep(t, seq, report, hash)?;
    // What most hooks of a large job say: nothing that others have not said.
    let learned = (owner.is_none() && report.owner.is_some())
        || (attempt.is_none() && report.identity.attempt.is_some())
        || (start.is_none() && report.identity.start.is_some());
    let wakes = report.news || open;
    if !wakes && !others && !learned {
        t.prepare_cached("UPDATE diagnosis SET reports = reports + 1 WHERE seq = ?1")?.execute([seq])?;
        return Ok(Ok(answer(t, seq, false)?));
    }
    let due = report.due_in.filter(|_| wakes).map(|wait| now.saturating_add(wait));
    t.prepare_cached(
        "UPDATE diagnosis SET
            owner = CASE WHEN :trusted THEN coalesce(:owner, owner) ELSE coalesce(owner, :owner) END,
            attempt = coalesce(attempt, :attempt),
            start = coalesce(start, :start),
            updated = :now,
            reports = reports + 1,
            wanted = wanted + :news,
            due = CASE WHEN state IN ('open', 'done') AND :due IS NOT NULL THEN min(:due, coalesce(due, :due)) ELSE due END,
            state = CASE WHEN state IN ('open', 'done') AND :due IS NOT NULL THEN 'accepted' ELSE state END
         WHERE seq = :seq",
    )?
    .execute(named_params! {
        ":seq": seq,
        ":trusted": report.trusted,
        ":owner": report.owner,
        ":attempt": report.identity.attempt,
        ":start": report.identity.start,
        ":news": i64::from(report.news || others),
        ":due": due,
        ":now": now,
    })?;
    Ok(Ok(answer(t, seq, false)?))
}

fn keep(t: &Transaction<'_>, seq: i64, report: &NewReport, hash: &str) -> Result<(), StoreError> {
    t.prepare_cached(
        "INSERT OR IGNORE INTO report (diagnosis, digest, submitter, trusted, body) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![seq, hash, report.submitter, report.trusted, report.body])?;
    Ok(())
}

fn answer(t: &Transaction<'_>, seq: i64, created: bool) -> Result<Accepted, StoreError> {
    let entry = t
        .prepare_cached(&format!("SELECT {ENTRY} FROM diagnosis WHERE seq = ?1"))?
        .query_row([seq], entry_of)?;
    Ok(Accepted { entry, created })
}

pub(super) fn ask(t: &Transaction<'_>, id: &str, now: i64) -> Result<bool, StoreError> {
    t.execute(
        "UPDATE diagnosis SET state = 'accepted', due = ?2, updated = ?2
         WHERE id = ?1 AND (state = 'open' OR (state = 'done' AND wanted > seen) OR (state = 'accepted' AND due > ?2 AND wanted > seen))",
        params![id, now],
    )?;
    Ok(t.query_row("SELECT 1 FROM diagnosis WHERE id = ?1", [id], |_| Ok(())).optional()?.is_some())
}

pub(super) fn is_due(connection: &Connection, now: i64) -> Result<bool, StoreError> {
    Ok(connection
        .prepare_cached("SELECT 1 FROM diagnosis WHERE state = 'accepted' AND due <= ?1 LIMIT 1")?
        .query_row([now], |_| Ok(()))
        .optional()?
        .is_some())
}

pub(super) fn lease(t: &Transaction<'_>, holder: &str, now: i64) -> Result<Option<Leased>, StoreError> {
    let found = t
        .prepare_cached(&format!(
            "SELECT {ENTRY} FROM diagnosis WHERE state = 'accepted' AND due <= ?1 ORDER BY due, seq LIMIT 1"
        ))?
        .query_row([now], entry_of)
        .optional()?;
    let Some(mut entry) = found else { return Ok(None) };
    t.prepare_cached("UPDATE diagnosis SET state = 'leased', holder = ?2, updated = ?3 WHERE seq = ?1")?
        .execute(params![entry.seq, holder, now])?;
    entry.state = State::Leased;
    let mut reports = Vec::new();
    let mut rows = t.prepare_cached(
        "SELECT body, submitter, trusted FROM report WHERE diagnosis = ?1 ORDER BY trusted DESC, digest",
    )?;
    let mut rows = rows.query([entry.seq])?;
    while let Some(row) = rows.next()? {
        reports.push((row.get(0)?, row.get(1)?, row.get(2)?));
    }
    let lease = Lease { id: entry.id.clone(), holder: holder.to_owned(), wanted: entry.wanted };
    Ok(Some(Leased { lease, entry, reports }))
}

pub(super) fn complete(
    t: &Transaction<'_>,
    lease: &Lease,
    outcome: &Outcome,
    now: i64,
) -> Result<bool, StoreError> {
    let held: Option<(i64, u32)> = t
        .query_row(
            "SELECT seq, cuts FROM diagnosis WHERE id = ?1 AND state = 'leased' AND holder = ?2",
            [&lease.id, &lease.holder],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .optional()?;
    let Some((seq, cuts)) = held else { return Ok(false) };
    match outcome {
        Outcome::Revised(revised) => revise(t, seq, lease, revised, now)?,
        Outcome::Cut { reason, again } if cuts + 1 < MOST_CUTS => {
            t.execute(
                "UPDATE diagnosis SET state = 'accepted', holder = NULL, cuts = cuts + 1, reason = ?2, due = ?3, updated = ?4
                 WHERE seq = ?1",
                params![seq, reason, again, now],
            )?;
        }
        Outcome::Cut { reason, .. } => park(t, seq, cuts + 1, reason, now)?,
        Outcome::Parked { reason } => park(t, seq, cuts, reason, now)?,
    }
    Ok(true)
}

fn revise(
    t: &Transaction<'_>,
    seq: i64,
    lease: &Lease,
    revised: &Revised,
    now: i64,
) -> Result<(), StoreError> {
    t.execute(
        "INSERT INTO revision (diagnosis, number, status, digest, made, document)
         SELECT seq, revision + 1, ?2, ?3, ?4, ?5 FROM diagnosis WHERE seq = ?1",
        params![
            seq,
            revised.status.name(),
            revised.digest,
            now,
            document::pack(revised.document.as_bytes())?
        ],
    )?;
    t.execute("DELETE FROM node_event WHERE diagnosis = ?1", [seq])?;
    for (node, symptom) in &revised.nodes {
        t.execute(
            "INSERT INTO node_event (diagnosis, node, symptom, at) VALUES (?1, ?2, ?3, ?4)",
            params![seq, node, symptom, revised.at],
        )?;
    }
    // What came in meanwhile is looked at next, a revision on schedule at its time.
    t.execute(
        "UPDATE diagnosis SET
            revision = revision + 1, status = :status, verdict = :verdict, summary = :summary,
            seen = :wanted, cuts = 0, reason = NULL, holder = NULL, updated = :now,
            due = CASE WHEN wanted > :wanted THEN :now ELSE :next END,
            state = CASE WHEN wanted > :wanted OR :next IS NOT NULL THEN 'accepted' ELSE 'done' END
         WHERE seq = :seq",
        named_params! {
            ":seq": seq,
            ":status": revised.status.name(),
            ":verdict": revised.verdict,
            ":summary": revised.summary,
            ":wanted": i64::try_from(lease.wanted).unwrap_or(i64::MAX),
            ":next": revised.next,
            ":now": now,
        },
    )?;
    Ok(())
}

fn park(t: &Transaction<'_>, seq: i64, cuts: u32, reason: &str, now: i64) -> Result<(), StoreError> {
    t.execute(
        "UPDATE diagnosis SET state = 'parked', holder = NULL, cuts = ?2, reason = ?3, due = NULL, updated = ?4 WHERE seq = ?1",
        params![seq, cuts, reason, now],
    )?;
    Ok(())
}

pub(super) fn release(t: &Transaction<'_>, holder: &str, now: i64) -> Result<u64, StoreError> {
    let given = t.execute(
        "UPDATE diagnosis SET state = 'accepted', holder = NULL, updated = ?2 WHERE state = 'leased' AND holder = ?1",
        params![holder, now],
    )?;
    Ok(u64::try_from(given).unwrap_or(u64::MAX))
}

pub(super) fn recover(t: &Transaction<'_>, holder: &str, now: i64) -> Result<u64, StoreError> {
    let mut rows = t.prepare("SELECT seq, cuts FROM diagnosis WHERE state = 'leased' AND holder <> ?1")?;
    let held = rows.query_map([holder], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let held: Vec<(i64, u32)> = held.collect::<Result<_, _>>()?;
    for (seq, cuts) in &held {
        let reason = "the daemon ended while it was in work";
        if cuts + 1 < MOST_CUTS {
            t.execute(
                "UPDATE diagnosis SET state = 'accepted', holder = NULL, cuts = cuts + 1, reason = ?2, updated = ?3 WHERE seq = ?1",
                params![seq, reason, now],
            )?;
        } else {
            park(t, *seq, cuts + 1, &format!("{reason}, {MOST_CUTS} times"), now)?;
        }
    }
    Ok(u64::try_from(held.len()).unwrap_or(u64::MAX))
}

pub(super) fn retry(t: &Transaction<'_>, id: &str, now: i64) -> Result<bool, StoreError> {
    let again = t.execute(
        "UPDATE diagnosis SET state = 'accepted', cuts = 0, reason = NULL, due = ?2, updated = ?2
         WHERE id = ?1 AND state IN ('parked', 'done', 'open')",
        params![id, now],
    )?;
    Ok(again == 1)
}
