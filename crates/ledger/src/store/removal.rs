//! Taking calls and old sums out of the index when their segments go.

use rusqlite::{Connection, OptionalExtension};

use super::block_table;
use super::{Store, StoreError};

/// Small steps, so that nobody waits long for the one lock on writing.
const CALLS_AT_ONCE: u64 = 5_000;

impl Store {
    /// The segment up to which the journal of a writer is in the index; that one is not all there yet.
    pub(crate) fn shipped_segment(&self, connection: &Connection, replica: &str) -> Result<u64, StoreError> {
        let sql = "SELECT segment FROM replica WHERE name = ?1";
        let found = connection.query_row(sql, [replica], |row| row.get(0)).optional();
        Ok(found.map_err(|source| self.pool.error(source))?.unwrap_or(0))
    }

    /// Removes the calls of a writer from the sequence `first` up to and without `end`, which must be those of whole
    /// segments.
    pub(crate) fn remove_calls(
        &self,
        connection: &Connection,
        replica: &str,
        first: u64,
        end: u64,
    ) -> Result<(), StoreError> {
        let remove = || {
            let find = "SELECT id FROM replica WHERE name = ?1";
            let Some(replica) = connection.query_row(find, [replica], |row| row.get(0)).optional()? else {
                return Ok(());
            };
            let mut start = first;
            while start < end {
                let stop = end.min(start.saturating_add(CALLS_AT_ONCE));
                let transaction = connection.unchecked_transaction()?;
                block_table::remove_range(&transaction, replica, start..stop)?;
                transaction.commit()?;
                start = stop;
            }
            Ok(())
        };
        remove().map_err(|source| self.pool.error(source))
    }

    /// Removes the sums of all days before `oldest_day` (`yyyymmdd`).
    pub(crate) fn remove_day_sums(&self, connection: &Connection, oldest_day: i32) -> Result<(), StoreError> {
        let sql = "DELETE FROM day_sum WHERE day < ?1";
        connection.execute(sql, [oldest_day]).map_err(|source| self.pool.error(source))?;
        Ok(())
    }
}
