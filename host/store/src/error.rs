//! Why the store did not do what it was asked.

use std::path::PathBuf;

/// Why the store did not do what it was asked. Nothing that it had confirmed before is lost by any of these.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk is full.
    #[error("the disk of the store is full")]
    Full,
    /// Another program holds the database.
    #[error("another program holds the store's database")]
    Locked,
    /// The database is damaged.
    #[error("the store's database '{path}' is damaged: {detail}; move it away or bring a copy back")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the check found.
        detail: String,
    },
    /// A later version wrote it.
    #[error(
        "the store is of schema {found}, this version knows schemas up to {known}; use the version that wrote it"
    )]
    Newer {
        /// Schema of the file.
        found: i64,
        /// The newest known.
        known: i64,
    },
    /// What is kept cannot be read back.
    #[error("what the store keeps of '{id}' cannot be read: {detail}")]
    Content {
        /// Of which diagnosis or session.
        id: String,
        /// Why.
        detail: String,
    },
    /// Anything else that the database says.
    #[error("the store's database does not work: {0}")]
    Database(rusqlite::Error),
    /// The file system.
    #[error("the store's folder does not work: {0}")]
    Io(#[from] std::io::Error),
}

impl StoreError {
    /// Whether the same may work a little later.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::Full | Self::Locked | Self::Io(_) | Self::Database(_))
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        match error.sqlite_error_code() {
            Some(Code::DiskFull) => Self::Full,
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked,
            _ => Self::Database(error),
        }
    }
}
