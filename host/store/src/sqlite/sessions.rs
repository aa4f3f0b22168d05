//! Push sessions and their observations.

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::{NewObservation, Observed, Session, StoreError, document};

pub(super) fn open(t: &Transaction<'_>, session: &Session, now: i64) -> Result<(), StoreError> {
    t.execute(
        "INSERT OR IGNORE INTO session (id, diagnosis, owner, most_bytes) SELECT ?1, seq, ?3, ?4 FROM diagnosis WHERE id = ?2",
        params![
            session.id,
            session.diagnosis,
            session.owner,
            i64::try_from(session.most_bytes).unwrap_or(i64::MAX)
        ],
    )?;
    t.execute("UPDATE diagnosis SET updated = ?2 WHERE id = ?1", params![session.diagnosis, now])?;
    Ok(())
}

pub(super) fn session(connection: &Connection, id: &str) -> Result<Option<Session>, StoreError> {
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    Ok(connection
        .prepare_cached(
            "SELECT s.id, d.id, s.owner, s.most_bytes, s.bytes, s.count FROM session s
             JOIN diagnosis d ON d.seq = s.diagnosis WHERE s.id = ?1",
        )?
        .query_row([id], |row| {
            Ok(Session {
                id: row.get(0)?,
                diagnosis: row.get(1)?,
                owner: row.get(2)?,
                most_bytes: count(row.get(3)?),
                bytes: count(row.get(4)?),
                count: count(row.get(5)?),
            })
        })
        .optional()?)
}

pub(super) fn observe(
    t: &Transaction<'_>,
    observations: &[NewObservation],
    now: i64,
) -> Result<Vec<Observed>, StoreError> {
    let mut packer = document::packer()?;
    let mut find = t.prepare_cached("SELECT diagnosis, most_bytes, bytes FROM session WHERE id = ?1")?;
    let mut has = t.prepare_cached("SELECT 1 FROM observation WHERE session = ?1 AND id = ?2")?;
    let mut keep = t.prepare_cached("INSERT INTO observation (session, id, body) VALUES (?1, ?2, ?3)")?;
    let mut count =
        t.prepare_cached("UPDATE session SET bytes = bytes + ?2, count = count + 1 WHERE id = ?1")?;
    let mut news =
        t.prepare_cached(
        "UPDATE diagnosis SET wanted = wanted + 1, updated = ?2,
            due = CASE WHEN ?3 IS NOT NULL AND state IN ('open', 'done', 'accepted') THEN min(?3, coalesce(due, ?3)) ELSE due END,
            state = CASE WHEN ?3 IS NOT NULL AND state IN ('open', 'done') THEN 'accepted' ELSE state END
         WHERE seq = ?1",
    )?;
    observations
        .iter()
        .map(|one| {
            let found: Option<(i64, i64, i64)> = find
                .query_row([&one.session], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()?;
            let Some((diagnosis, most, bytes)) = found else { return Ok(Observed::NoSession) };
            if has.exists([&one.session, &one.id])? {
                return Ok(Observed::Known);
            }
            // Counted as it came: what it takes when compressed is the store's affair.
            let size = i64::try_from(one.body.len()).unwrap_or(i64::MAX);
            if bytes.saturating_add(size) > most {
                return Ok(Observed::TooMuch);
            }
            keep.execute(params![one.session, one.id, packer.compress(&one.body)?])?;
            count.execute(params![one.session, size])?;
            news.execute(params![diagnosis, now, one.due_in.map(|wait| now.saturating_add(wait))])?;
            Ok(Observed::Kept)
        })
        .collect()
}

pub(super) fn observations(
    connection: &Connection,
    diagnosis: &str,
    each: &mut dyn FnMut(&str, &[u8]),
) -> Result<(), StoreError> {
    let mut rows = connection.prepare(
        "SELECT o.id, o.body FROM observation o JOIN session s ON s.id = o.session JOIN diagnosis d ON d.seq = s.diagnosis
         WHERE d.id = ?1 ORDER BY o.session, o.id",
    )?;
    let mut rows = rows.query([diagnosis])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        let body = document::unpack(diagnosis, row.get_ref(1)?.as_blob().unwrap_or_default())?;
        each(&id, &body);
    }
    Ok(())
}
