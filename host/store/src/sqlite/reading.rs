//! What is asked of the store.

use rusqlite::{Connection, OptionalExtension as _, Row, named_params, params};

use crate::{
    Counts, Document, Entry, Filter, Identity, NodeEvent, Page, State, Status, StoreError, document,
};

/// Columns of an entry.
pub(super) const ENTRY: &str = "seq, id, scheduler, cluster, workload, attempt, start, owner, submitter, state, cuts, reason, \
                                created, updated, due, revision, status, wanted, seen, verdict, summary";

/// An entry from a row that begins with its columns.
pub(super) fn entry_of(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let count = |at: usize| Ok::<_, rusqlite::Error>(u64::try_from(row.get::<_, i64>(at)?).unwrap_or(0));
    let text = |at: usize| row.get_ref(at).map(|value| value.as_str().unwrap_or_default());
    // By position: to look up twenty names for each of a thousand hooks takes longer than all else.
    Ok(Entry {
        seq: row.get(0)?,
        id: row.get(1)?,
        identity: Identity {
            scheduler: row.get(2)?,
            cluster: row.get(3)?,
            workload: row.get(4)?,
            attempt: row.get(5)?,
            start: row.get(6)?,
        },
        owner: row.get(7)?,
        submitter: row.get(8)?,
        state: State::parse(text(9)?).unwrap_or(State::Parked),
        cuts: row.get(10)?,
        reason: row.get(11)?,
        created: row.get(12)?,
        updated: row.get(13)?,
        due: row.get(14)?,
        revision: row.get(15)?,
        status: Status::parse(text(16)?),
        wanted: count(17)?,
        seen: count(18)?,
        verdict: row.get(19)?,
        summary: row.get(20)?,
    })
}

pub(super) fn entry(connection: &Connection, id: &str) -> Result<Option<Entry>, StoreError> {
    Ok(connection
        .prepare_cached(&format!("SELECT {ENTRY} FROM diagnosis WHERE id = ?1"))?
        .query_row([id], entry_of)
        .optional()?)
}

pub(super) fn list(
    connection: &Connection,
    filter: &Filter,
    before: Option<i64>,
    limit: u32,
) -> Result<Page<Entry>, StoreError> {
    let mut rows = connection.prepare_cached(&format!(
        "SELECT {ENTRY} FROM diagnosis
         WHERE seq < :before AND (:reader IS NULL OR owner = :reader OR (owner IS NULL AND submitter = :reader))
           AND (:state IS NULL OR state = :state) AND (:cluster IS NULL OR cluster = :cluster)
           AND (:workload IS NULL OR workload = :workload)
         ORDER BY seq DESC LIMIT :limit"
    ))?;
    let found = rows.query_map(
        named_params! {
            ":before": before.unwrap_or(i64::MAX),
            ":reader": filter.reader,
            ":state": filter.state.map(State::name),
            ":cluster": filter.cluster,
            ":workload": filter.workload,
            ":limit": i64::from(limit) + 1,
        },
        entry_of,
    )?;
    Ok(page(found.collect::<Result<_, _>>()?, limit, |entry| entry.seq))
}

/// One more than asked for was read: there is a next page then.
fn page<T>(mut items: Vec<T>, limit: u32, seq: impl Fn(&T) -> i64) -> Page<T> {
    let more = items.len() > limit as usize;
    items.truncate(limit as usize);
    let next = items.last().filter(|_| more).map(seq);
    Page { items, next }
}

pub(super) fn document(
    connection: &Connection,
    id: &str,
    revision: Option<u32>,
) -> Result<Option<Document>, StoreError> {
    let found: Option<(u32, String, String, Vec<u8>)> = connection
        .prepare_cached(
            "SELECT number, r.status, digest, document FROM revision r JOIN diagnosis d ON d.seq = r.diagnosis
             WHERE d.id = ?1 AND number = coalesce(?2, d.revision)",
        )?
        .query_row(params![id, revision], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((revision, status, digest, packed)) = found else { return Ok(None) };
    let status = Status::parse(&status).unwrap_or(Status::Provisional);
    Ok(Some(Document { revision, status, digest, text: document::unpack_text(id, &packed)? }))
}

pub(super) fn history(
    connection: &Connection,
    node: &str,
    before: Option<i64>,
    limit: u32,
) -> Result<Page<NodeEvent>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT e.seq, d.id, d.workload, d.owner, e.symptom, e.at FROM node_event e JOIN diagnosis d ON d.seq = e.diagnosis
         WHERE e.node = ?1 AND e.seq < ?2 ORDER BY e.seq DESC LIMIT ?3",
    )?;
    let found = rows.query_map(params![node, before.unwrap_or(i64::MAX), i64::from(limit) + 1], |row| {
        Ok(NodeEvent {
            seq: row.get(0)?,
            diagnosis: row.get(1)?,
            workload: row.get(2)?,
            owner: row.get(3)?,
            symptom: row.get(4)?,
            at: row.get(5)?,
        })
    })?;
    Ok(page(found.collect::<Result<_, _>>()?, limit, |event| event.seq))
}

pub(super) fn counts(connection: &Connection) -> Result<Counts, StoreError> {
    let mut rows = connection.prepare_cached("SELECT count(*) FROM diagnosis WHERE state = ?1")?;
    let mut states = Vec::new();
    for state in State::ALL {
        let count: i64 = rows.query_row([state.name()], |row| row.get(0))?;
        states.push((state.name(), u64::try_from(count).unwrap_or(0)));
    }
    let oldest_due =
        connection
            .query_row("SELECT min(due) FROM diagnosis WHERE state = 'accepted'", [], |row| row.get(0))?;
    Ok(Counts { states, oldest_due, bytes: bytes(connection)? })
}

/// Bytes of the database that are in use.
pub(super) fn bytes(connection: &Connection) -> Result<u64, StoreError> {
    let number = |pragma: &str| -> rusqlite::Result<i64> {
        connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0))
    };
    let pages = number("page_count")?.saturating_sub(number("freelist_count")?);
    Ok(u64::try_from(pages.saturating_mul(number("page_size")?)).unwrap_or(0))
}
