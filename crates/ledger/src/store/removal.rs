//! Taking calls and old sums out of the index when their segments go.

use rusqlite::{Connection, OptionalExtension};

use super::block_table;
use super::pool::writing;
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
                let transaction = writing(connection)?;
                block_table::remove_range(&transaction, replica, start..stop)?;
                transaction.commit()?;
                start = stop;
            }
            Ok(())
        };
        remove().map_err(|source| self.pool.error(source))
    }

    /// Removes the sums of all days before `oldest_day` (`yyyymmdd`) and of all months before `oldest_month` (`yyyymm`).
    /// Says how many there were.
    pub(crate) fn remove_sums(
        &self,
        connection: &Connection,
        oldest_day: i32,
        oldest_month: i32,
    ) -> Result<usize, StoreError> {
        let remove = || {
            let days = connection.execute("DELETE FROM day_sum WHERE day < ?1", [oldest_day])?;
            let months = connection.execute("DELETE FROM month_sum WHERE month < ?1", [oldest_month])?;
            Ok(days + months)
        };
        remove().map_err(|source| self.pool.error(source))
    }

    /// Removes series that no call and no sum belongs to any more, and names that nothing has. The last of each stays, so
    /// that its number is not given out again while somebody remembers it.
    pub(crate) fn remove_unused_names(&self, connection: &Connection) -> Result<(), StoreError> {
        let remove = || {
            let transaction = writing(connection)?;
            transaction.execute_batch(
                "DELETE FROM series WHERE id < (SELECT max(id) FROM series)
                     AND NOT EXISTS (SELECT 1 FROM series_block x WHERE x.series = series.id)
                     AND NOT EXISTS (SELECT 1 FROM day_sum x WHERE x.series = series.id)
                     AND NOT EXISTS (SELECT 1 FROM month_sum x WHERE x.series = series.id);
                 DELETE FROM name WHERE id < (SELECT max(id) FROM name)
                     AND id NOT IN (SELECT caller FROM series UNION SELECT server FROM series
                                    UNION SELECT tool FROM series);",
            )?;
            transaction.commit()
        };
        remove().map_err(|source| self.pool.error(source))
    }
}
