//! The store in one SQLite file: write-ahead log, and a commit is on the disk before it is confirmed.

mod queue;
mod reading;
mod retention;
mod schema;
mod sessions;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::{
    Accepted, Counts, Document, Entry, Filter, Lease, Leased, NewObservation, NewReport, NodeEvent, Observed,
    Outcome, Page, Policy, Refusal, Removed, Session, Store, StoreError,
};

/// Statements that are kept prepared.
const STATEMENTS: usize = 64;
/// How long to wait for another program that writes.
const BUSY: Duration = Duration::from_secs(2);

/// The store in one SQLite file.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    writer: Mutex<Connection>,
    reader: Mutex<Connection>,
}

impl SqliteStore {
    /// Opens a database, makes it if it is not there, brings its schema up to date and checks that it is whole.
    ///
    /// # Errors
    /// It is damaged, of a later version, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut writer = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_CREATE)?;
        writer.busy_timeout(BUSY)?;
        schema::check(&writer, path)?;
        // Before the first table, else it is not taken.
        writer.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        writer.pragma_update(None, "journal_mode", "WAL")?;
        // Each commit waits for the disk: what is confirmed is kept.
        writer.pragma_update(None, "synchronous", "FULL")?;
        writer.pragma_update(None, "foreign_keys", true)?;
        schema::migrate(&mut writer)?;
        writer.set_prepared_statement_cache_capacity(STATEMENTS);
        let reader = Connection::open_with_flags(path, flags)?;
        reader.busy_timeout(BUSY)?;
        reader.pragma_update(None, "query_only", true)?;
        Ok(Self { path: path.to_owned(), writer: Mutex::new(writer), reader: Mutex::new(reader) })
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    // A thread that panicked with a connection has rolled its transaction back.
    fn reader(&self) -> MutexGuard<'_, Connection> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(&self, act: impl FnOnce(&Transaction<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let out = act(&transaction)?;
        transaction.commit()?;
        Ok(out)
    }
}

impl Store for SqliteStore {
    fn accept(&self, reports: &[NewReport], now: i64) -> Result<Vec<Result<Accepted, Refusal>>, StoreError> {
        self.write(|t| reports.iter().map(|report| queue::accept(t, report, now)).collect())
    }

    fn ask(&self, id: &str, now: i64) -> Result<bool, StoreError> {
        self.write(|t| queue::ask(t, id, now))
    }

    fn lease(&self, holder: &str, now: i64) -> Result<Option<Leased>, StoreError> {
        // Idle workers look often, and looking needs no lock.
        if !queue::is_due(&self.reader(), now)? {
            return Ok(None);
        }
        self.write(|t| queue::lease(t, holder, now))
    }

    fn complete(&self, lease: &Lease, outcome: &Outcome, now: i64) -> Result<bool, StoreError> {
        self.write(|t| queue::complete(t, lease, outcome, now))
    }

    fn release(&self, holder: &str, now: i64) -> Result<u64, StoreError> {
        self.write(|t| queue::release(t, holder, now))
    }

    fn recover(&self, holder: &str, now: i64) -> Result<u64, StoreError> {
        self.write(|t| queue::recover(t, holder, now))
    }

    fn retry(&self, id: &str, now: i64) -> Result<bool, StoreError> {
        self.write(|t| queue::retry(t, id, now))
    }

    fn entry(&self, id: &str) -> Result<Option<Entry>, StoreError> {
        reading::entry(&self.reader(), id)
    }

    fn list(&self, filter: &Filter, before: Option<i64>, limit: u32) -> Result<Page<Entry>, StoreError> {
        reading::list(&self.reader(), filter, before, limit)
    }

    fn document(&self, id: &str, revision: Option<u32>) -> Result<Option<Document>, StoreError> {
        reading::document(&self.reader(), id, revision)
    }

    fn history(&self, node: &str, before: Option<i64>, limit: u32) -> Result<Page<NodeEvent>, StoreError> {
        reading::history(&self.reader(), node, before, limit)
    }

    fn open_session(&self, session: &Session, now: i64) -> Result<(), StoreError> {
        self.write(|t| sessions::open(t, session, now))
    }

    fn session(&self, id: &str) -> Result<Option<Session>, StoreError> {
        sessions::session(&self.reader(), id)
    }

    fn observe(&self, observations: &[NewObservation], now: i64) -> Result<Vec<Observed>, StoreError> {
        self.write(|t| sessions::observe(t, observations, now))
    }

    fn observations(&self, diagnosis: &str, each: &mut dyn FnMut(&str, &[u8])) -> Result<(), StoreError> {
        // On a connection of its own: this may take long, and others want to read meanwhile.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY)?;
        sessions::observations(&connection, diagnosis, each)
    }

    fn counts(&self) -> Result<Counts, StoreError> {
        reading::counts(&self.reader())
    }

    fn retain(&self, policy: &Policy, now: i64) -> Result<Removed, StoreError> {
        let removed = self.write(|t| retention::retain(t, policy, now))?;
        if removed != Removed::default() {
            let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.execute_batch("PRAGMA incremental_vacuum")?;
        }
        Ok(removed)
    }
}

#[cfg(test)]
mod tests;
