//! A few open connections, so that questions neither wait for each other nor pay for opening.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use super::StoreError;
use crate::private;

/// Connections kept open between questions.
const KEPT_CONNECTIONS: usize = 4;
/// Another process on the same root may be filling the index; a batch takes far less than this.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
const STATEMENTS_KEPT: usize = 64;

#[derive(Debug)]
pub(super) struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Pool {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn connect(&self) -> Result<Connection, StoreError> {
        // SQLite gives the files beside it the mode of this one. Where it is there already this touches nothing, which is
        // important: closing a file takes away all locks that the process has on it.
        drop(private::make_file(&self.path));
        let open = || {
            let connection = Connection::open(&self.path)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
            // What a power cut takes from the index is shipped again from the journal, so it need not be synced.
            connection.execute_batch(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -16000;
                 PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;",
            )?;
            Ok(connection)
        };
        open().map_err(|source| self.error(source))
    }

    pub(super) fn with<T>(
        &self,
        ask: impl FnOnce(&mut Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let answer = ask(&mut connection).map_err(|source| self.error(source))?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT_CONNECTIONS {
            idle.push(connection);
        }
        Ok(answer)
    }

    pub(super) fn error(&self, source: rusqlite::Error) -> StoreError {
        StoreError::Sqlite { path: self.path.clone(), source }
    }
}

/// Begins to write. A transaction that has read before it writes is refused at once where another connection writes; one
/// that begins by writing waits its turn.
pub(super) fn writing(connection: &Connection) -> rusqlite::Result<Transaction<'_>> {
    Transaction::new_unchecked(connection, TransactionBehavior::Immediate)
}
