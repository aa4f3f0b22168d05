//! The tables, and how an older file gets them.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;

/// What leads from each schema to the next. Entries are never changed, only added: files of old versions go through them.
const MIGRATIONS: &[&str] = &["
    CREATE TABLE diagnosis (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        scheduler TEXT NOT NULL,
        cluster TEXT NOT NULL,
        workload TEXT NOT NULL,
        attempt INTEGER,
        start INTEGER,
        owner TEXT,
        submitter TEXT NOT NULL,
        state TEXT NOT NULL,
        holder TEXT,
        cuts INTEGER NOT NULL DEFAULT 0,
        reason TEXT,
        created INTEGER NOT NULL,
        updated INTEGER NOT NULL,
        due INTEGER,
        wanted INTEGER NOT NULL DEFAULT 0,
        seen INTEGER NOT NULL DEFAULT 0,
        reports INTEGER NOT NULL DEFAULT 0,
        revision INTEGER NOT NULL DEFAULT 0,
        status TEXT,
        verdict TEXT,
        summary TEXT
    ) STRICT;
    CREATE INDEX diagnosis_workload ON diagnosis (workload, cluster, scheduler);
    CREATE INDEX diagnosis_due ON diagnosis (due, seq) WHERE state = 'accepted';
    CREATE INDEX diagnosis_state ON diagnosis (state, seq);
    CREATE INDEX diagnosis_updated ON diagnosis (updated);

    CREATE TABLE report (
        diagnosis INTEGER NOT NULL REFERENCES diagnosis (seq) ON DELETE CASCADE,
        digest TEXT NOT NULL,
        submitter TEXT NOT NULL,
        trusted INTEGER NOT NULL,
        body TEXT NOT NULL,
        PRIMARY KEY (diagnosis, digest)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE revision (
        diagnosis INTEGER NOT NULL REFERENCES diagnosis (seq) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        status TEXT NOT NULL,
        digest TEXT NOT NULL,
        made INTEGER NOT NULL,
        document BLOB NOT NULL,
        PRIMARY KEY (diagnosis, number)
    ) STRICT;

    CREATE TABLE node_event (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        diagnosis INTEGER NOT NULL REFERENCES diagnosis (seq) ON DELETE CASCADE,
        node TEXT NOT NULL,
        symptom TEXT NOT NULL,
        at INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX node_event_node ON node_event (node, seq);
    CREATE INDEX node_event_diagnosis ON node_event (diagnosis);

    CREATE TABLE session (
        id TEXT PRIMARY KEY,
        diagnosis INTEGER NOT NULL REFERENCES diagnosis (seq) ON DELETE CASCADE,
        owner TEXT NOT NULL,
        most_bytes INTEGER NOT NULL,
        bytes INTEGER NOT NULL DEFAULT 0,
        count INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX session_diagnosis ON session (diagnosis);

    CREATE TABLE observation (
        session TEXT NOT NULL REFERENCES session (id) ON DELETE CASCADE,
        id TEXT NOT NULL,
        body BLOB NOT NULL,
        PRIMARY KEY (session, id)
    ) STRICT;
"];

/// Looks whether the file is whole.
pub(super) fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let damaged = |detail: String| StoreError::Damaged { path: path.to_owned(), detail };
    let check = || -> rusqlite::Result<String> {
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
    };
    match check() {
        Ok(answer) if answer == "ok" => Ok(()),
        Ok(answer) => Err(damaged(answer)),
        Err(error) => match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::NotADatabase | rusqlite::ErrorCode::DatabaseCorrupt) => {
                Err(damaged(error.to_string()))
            }
            _ => Err(error.into()),
        },
    }
}

/// Brings the schema up to date.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), StoreError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let known = i64::try_from(MIGRATIONS.len()).unwrap_or(i64::MAX);
    if found > known || found < 0 {
        return Err(StoreError::Newer { found, known });
    }
    for migration in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    Ok(())
}
