//! What counters need of records whose segments are gone.
//!
//! The counters of a month are counted again from the journal when a process starts. A segment that retention removes
//! before its month is over leaves its sums here, by quarters of an hour, which no time zone divides. They belong to the
//! segment they stand for: while its file is there the file counts and they do not, so an interruption between the two
//! counts nothing twice.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::batch::as_stored;
use super::pool::writing;
use super::{Store, StoreError};
use crate::journal::folder::segment_path;
use crate::journal::walk::FolderWalk;
use crate::journal::{Position, ReadError};
use crate::record::{Kind, Status};

/// A quarter of an hour in microseconds.
const QUARTER_US: i64 = 15 * 60 * 1_000_000;

/// Uses of one thing by one caller within a quarter of an hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedUse {
    /// When the quarter began, in microseconds since 1970.
    pub time_us: i64,
    /// Who.
    pub caller: String,
    /// The groups the caller was in.
    pub groups: Vec<Arc<str>>,
    /// What was asked for.
    pub kind: Kind,
    /// Where.
    pub server: String,
    /// The name that clients know.
    pub exposed: String,
    /// The name that the server knows.
    pub native: String,
    /// How many uses passed the gate.
    pub uses: u64,
    /// What was charged for them together.
    pub charged: u64,
}

/// Time, caller, groups, kind, server, exposed and native name.
type Key = (i64, String, Vec<Arc<str>>, u8, String, String, String);

impl Store {
    /// Keeps the sums of a segment that is about to go. Damage in it is passed over, as it is when the segment is counted.
    pub(crate) fn carry(
        &self,
        connection: &Connection,
        folder: &Path,
        replica: &str,
        segment: u64,
        since_us: i64,
    ) -> Result<(), StoreError> {
        let (start, end) = (Position { segment, offset: 0 }, Position { segment, offset: u64::MAX });
        let mut sums: HashMap<Key, (u64, u64)> = HashMap::new();
        for step in FolderWalk::new(folder, start, Some(end))? {
            let record = match step {
                Ok((_, record)) => record,
                Err(ReadError::Damage(_)) => continue,
                Err(error) => return Err(error.into()),
            };
            if record.status == Status::Denied || record.time_us < since_us {
                continue;
            }
            let quarter = record.time_us.div_euclid(QUARTER_US) * QUARTER_US;
            let kind = record.kind.code();
            let key =
                (quarter, record.caller, record.groups, kind, record.server, record.exposed, record.native);
            let (uses, charged) = sums.entry(key).or_default();
            *uses += 1;
            *charged = charged.saturating_add(record.price_settled);
        }
        let write = || {
            let transaction = writing(connection)?;
            transaction.execute(
                "DELETE FROM carried WHERE replica = ?1 AND segment = ?2",
                params![replica, as_stored(segment)],
            )?;
            let mut insert = transaction.prepare_cached(
                "INSERT INTO carried VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?;
            for ((time_us, caller, groups, kind, server, exposed, native), (uses, charged)) in sums {
                let groups: Vec<&str> = groups.iter().map(|group| &**group).collect();
                let groups = serde_json::json!(groups).to_string();
                insert.execute(params![
                    replica,
                    as_stored(segment),
                    time_us,
                    caller,
                    groups,
                    kind,
                    server,
                    exposed,
                    native,
                    as_stored(uses),
                    as_stored(charged)
                ])?;
            }
            drop(insert);
            transaction.commit()
        };
        write().map_err(|source| self.pool.error(source))
    }

    /// Forgets sums of before a moment, whose windows are over.
    pub(crate) fn remove_carried(&self, connection: &Connection, before_us: i64) -> Result<(), StoreError> {
        let sql = "DELETE FROM carried WHERE time_us < ?1";
        connection.execute(sql, [before_us]).map_err(|source| self.pool.error(source))?;
        Ok(())
    }

    /// The sums since a moment of all segments under `root` that are gone.
    pub(crate) fn carried(&self, root: &Path, since_us: i64) -> Result<Vec<CarriedUse>, StoreError> {
        self.pool.with(|connection| {
            let sql = "SELECT replica, segment, time_us, caller, groups, kind, server, exposed, native, uses, charged
                       FROM carried WHERE time_us >= ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query([since_us])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let (replica, segment): (String, u64) = (row.get(0)?, row.get(1)?);
                if segment_path(&root.join(replica), segment).exists() {
                    continue;
                }
                let groups: Vec<String> = serde_json::from_str(&row.get::<_, String>(4)?).unwrap_or_default();
                // A newer program may have kinds that this one does not count.
                let Some(kind) = Kind::from_code(row.get(5)?) else { continue };
                found.push(CarriedUse {
                    time_us: row.get(2)?,
                    caller: row.get(3)?,
                    groups: groups.into_iter().map(Arc::from).collect(),
                    kind,
                    server: row.get(6)?,
                    exposed: row.get(7)?,
                    native: row.get(8)?,
                    uses: row.get(9)?,
                    charged: row.get(10)?,
                });
            }
            Ok(found)
        })
    }
}
