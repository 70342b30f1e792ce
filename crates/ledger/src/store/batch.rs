//! Copying records from the journal into the index, exactly once.
//!
//! Calls, sums and the position in the journal change in one transaction. Whatever is interrupted is done again from
//! the position that stands, and a call that is already there is known by its sequence before it is summed twice.

use std::path::Path;

use foldhash::{HashMap, HashMapExt};
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::block::Entry;
use super::block_table::BlockWriter;
use super::pool::writing;
use super::statistics::Sums;
use super::{Store, StoreError};
use crate::calendar::Calendar;
use crate::journal::folder::replica_of;
use crate::journal::walk::{FolderWalk, Place};
use crate::journal::{Position, ReadError};
use crate::record::{RecordView, put_number};

/// The name of all that is not there.
const UNKNOWN: &str = "(unknown)";
/// Records per transaction.
const BATCH_SIZE: usize = 4_096;
/// How many bytes of names and series are remembered between batches; beyond this they are looked up again.
const MAXIMUM_REMEMBERED: usize = 16 << 20;
/// About what an entry takes besides its text.
const ENTRY: usize = 48;

/// Ids already looked up. Forgotten when a transaction fails, since it may have made them.
#[derive(Debug, Default)]
pub struct KnownIds {
    names: HashMap<String, i64>,
    /// By what records of a series say, see [`put_words`]: one look-up for each.
    series: HashMap<Box<[u8]>, i64>,
    /// The words of the current record; kept to be used again.
    words: Vec<u8>,
    /// How many bytes the names and series take; more where names were forgotten by themselves.
    size: usize,
}

impl KnownIds {
    fn is_empty(&self) -> bool {
        self.names.is_empty() && self.series.is_empty()
    }

    /// Makes room for an entry with so much text, by forgetting the others where there would be too many.
    fn make_room(&mut self, text: usize) {
        self.size += text + ENTRY;
        if self.size > MAXIMUM_REMEMBERED {
            self.names = HashMap::new();
            self.series = HashMap::new();
            self.size = text + ENTRY;
        }
    }
}

/// Caller, server, tool, kind and status.
type SeriesKey = (i64, i64, i64, u8, u8);

/// What a batch did.
#[derive(Debug, Default)]
pub struct Shipped {
    /// Calls that are new in the index.
    pub records: u64,
    /// Whether the journal may hold more.
    pub is_full: bool,
    /// Damage that was met and passed over.
    pub damage: Vec<ReadError>,
}

/// Copies all records of a folder up to `end`. Says how many calls are new, and what could not be read.
pub fn ship_folder(
    store: &Store,
    connection: &mut Connection,
    folder: &Path,
    end: Option<Position>,
    calendar: &Calendar,
    known: &mut KnownIds,
) -> Result<Shipped, StoreError> {
    let mut total = Shipped::default();
    loop {
        let mut batch = ship_batch(store, connection, folder, end, calendar, known);
        if batch.is_err() && !known.is_empty() {
            // What was remembered may have been removed by another process.
            *known = KnownIds::default();
            batch = ship_batch(store, connection, folder, end, calendar, known);
        }
        let batch = batch.inspect_err(|_| *known = KnownIds::default())?;
        total.records += batch.records;
        total.damage.extend(batch.damage);
        if !batch.is_full {
            return Ok(total);
        }
    }
}

fn ship_batch(
    store: &Store,
    connection: &mut Connection,
    folder: &Path,
    end: Option<Position>,
    calendar: &Calendar,
    known: &mut KnownIds,
) -> Result<Shipped, StoreError> {
    let sqlite = |source| store.pool.error(source);
    let name = replica_of(folder);
    let transaction = writing(connection).map_err(sqlite)?;
    let (replica, start) = replica_position(&transaction, &name).map_err(sqlite)?;
    let mut walk = FolderWalk::new(folder, start, end)?;
    let mut batch = Batch {
        transaction: &transaction,
        replica,
        blocks: BlockWriter::new(&transaction),
        known,
        sums: HashMap::new(),
    };
    let mut shipped = Shipped::default();
    let mut steps = 0;
    while steps < BATCH_SIZE
        && let Some(step) = walk.next_with(|place, record| batch.insert(place, record, calendar))
    {
        steps += 1;
        match step {
            Ok(inserted) => shipped.records += u64::from(inserted.map_err(sqlite)?),
            Err(ReadError::Damage(damage)) => shipped.damage.push(damage.into()),
            Err(error) => return Err(error.into()),
        }
    }
    shipped.is_full = steps == BATCH_SIZE;
    if walk.position() != start {
        batch.finish(walk.position()).map_err(sqlite)?;
    }
    transaction.commit().map_err(sqlite)?;
    Ok(shipped)
}

/// The id of a writer, and how far its journal has been copied.
fn replica_position(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<(i64, Position)> {
    let mut find = transaction.prepare_cached("SELECT id, segment, offset FROM replica WHERE name = ?1")?;
    let found = find
        .query_row([name], |row| Ok((row.get(0)?, Position { segment: row.get(1)?, offset: row.get(2)? })))
        .optional()?;
    if let Some(found) = found {
        return Ok(found);
    }
    transaction.execute("INSERT INTO replica (name, segment, offset) VALUES (?1, 0, 0)", [name])?;
    Ok((transaction.last_insert_rowid(), Position::default()))
}

/// The work of one transaction.
struct Batch<'a> {
    transaction: &'a Transaction<'a>,
    replica: i64,
    blocks: BlockWriter<'a>,
    known: &'a mut KnownIds,
    /// What the calls of a series on one day add up to, and the newest of them.
    sums: HashMap<(i64, i32), (Sums, i64)>,
}

impl Batch<'_> {
    /// Adds a record; says whether it was new.
    fn insert(
        &mut self,
        place: &Place<'_>,
        record: &RecordView<'_>,
        calendar: &Calendar,
    ) -> rusqlite::Result<bool> {
        if self.blocks.is_known(self.replica, place.sequence)? {
            return Ok(false);
        }
        let series = self.series_id(record)?;
        let arguments_size = record.arguments.map_or(0, |body| body.size());
        let result_size = record.result.map_or(0, |body| body.size());
        let entry = Entry {
            series,
            time_us: record.time_us,
            error_code: record.error_code,
            duration_us: record.duration_us,
            arguments_size,
            result_size,
            price_settled: record.price_settled,
            offset: place.position.offset,
        };
        self.blocks.push(self.replica, place.sequence, place.position.segment, entry)?;
        let day = calendar.day_of(record.time_us).0;
        let (sums, last_us) = self.sums.entry((series, day)).or_insert((Sums::default(), record.time_us));
        *last_us = record.time_us.max(*last_us);
        sums.add(&Sums {
            calls: 1,
            duration_us: record.duration_us,
            arguments_bytes: arguments_size,
            result_bytes: result_size,
            price_settled: record.price_settled,
        });
        Ok(true)
    }

    /// Writes what is left of the calls, the sums and the new position.
    fn finish(mut self, position: Position) -> rusqlite::Result<()> {
        self.blocks.finish()?;
        let mut months: HashMap<(i64, i32), Sums> = HashMap::new();
        for ((series, day), (sums, last_us)) in &self.sums {
            self.add_sums("day_sum", "day", *series, *day, sums)?;
            self.note_last(*series, *last_us)?;
            months.entry((*series, day.div_euclid(100))).or_default().add(sums);
        }
        for ((series, month), sums) in &months {
            self.add_sums("month_sum", "month", *series, *month, sums)?;
        }
        self.transaction
            .prepare_cached("UPDATE replica SET segment = ?2, offset = ?3 WHERE id = ?1")?
            .execute(params![self.replica, as_stored(position.segment), as_stored(position.offset)])?;
        Ok(())
    }

    fn note_last(&self, series: i64, last_us: i64) -> rusqlite::Result<()> {
        let sql = "UPDATE series SET last_us = max(last_us, ?2) WHERE id = ?1";
        match self.transaction.prepare_cached(sql)?.execute([series, last_us])? {
            // Another process has removed it; all that is remembered is looked up again.
            0 => Err(rusqlite::Error::StatementChangedRows(0)),
            _ => Ok(()),
        }
    }

    fn add_sums(
        &self,
        table: &str,
        period: &str,
        series: i64,
        value: i32,
        sums: &Sums,
    ) -> rusqlite::Result<()> {
        let sql = format!(
            "INSERT INTO {table} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (series, {period}) DO UPDATE SET calls = calls + excluded.calls,
             duration_us = duration_us + excluded.duration_us,
             arguments_bytes = arguments_bytes + excluded.arguments_bytes,
             result_bytes = result_bytes + excluded.result_bytes,
             price_settled = price_settled + excluded.price_settled"
        );
        self.transaction.prepare_cached(&sql)?.execute(params![
            series,
            value,
            as_stored(sums.calls),
            as_stored(sums.duration_us),
            as_stored(sums.arguments_bytes),
            as_stored(sums.result_bytes),
            as_stored(sums.price_settled),
        ])?;
        Ok(())
    }

    fn series_id(&mut self, record: &RecordView<'_>) -> rusqlite::Result<i64> {
        put_words(&mut self.known.words, record);
        if let Some(id) = self.known.series.get(self.known.words.as_slice()) {
            return Ok(*id);
        }
        let mut key = self.series_key(record)?;
        if !self.has_names(&key)? {
            // Another process has removed what nobody used any more.
            self.known.names.clear();
            key = self.series_key(record)?;
        }
        let (caller, server, tool, ..) = key;
        let id = self
            .transaction
            .prepare_cached(
                "INSERT INTO series (caller, server, tool, kind, status, last_us) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT DO UPDATE SET last_us = max(last_us, excluded.last_us) RETURNING id",
            )?
            .query_row(params![caller, server, tool, key.3, key.4, record.time_us], |row| row.get(0))?;
        self.known.make_room(self.known.words.len());
        self.known.series.insert(self.known.words.as_slice().into(), id);
        Ok(id)
    }

    fn series_key(&mut self, record: &RecordView<'_>) -> rusqlite::Result<SeriesKey> {
        let caller = self.name_id(record.caller)?;
        let server = self.name_id(record.server)?;
        let tool = self.name_id(indexed_name(record))?;
        Ok((caller, server, tool, record.kind.code(), record.status.code()))
    }

    fn has_names(&self, (caller, server, tool, ..): &SeriesKey) -> rusqlite::Result<bool> {
        let sql =
            "SELECT (SELECT count(*) FROM name WHERE id = ?1) + (SELECT count(*) FROM name WHERE id = ?2)
                   + (SELECT count(*) FROM name WHERE id = ?3) = 3";
        self.transaction.prepare_cached(sql)?.query_row([caller, server, tool], |row| row.get(0))
    }

    fn name_id(&mut self, text: &str) -> rusqlite::Result<i64> {
        if let Some(id) = self.known.names.get(text) {
            return Ok(*id);
        }
        let find = "SELECT id FROM name WHERE text = ?1";
        let found = self.transaction.prepare_cached(find)?.query_row([text], |row| row.get(0)).optional()?;
        let id = match found {
            Some(id) => id,
            None => {
                self.transaction.prepare_cached("INSERT INTO name (text) VALUES (?1)")?.execute([text])?;
                self.transaction.last_insert_rowid()
            }
        };
        self.known.make_room(text.len());
        self.known.names.insert(text.to_owned(), id);
        Ok(id)
    }
}

/// The name under which calls are found and summed. What clients make up, and addresses that are used once, share one:
/// each would stay a name of its own for years. Records have the names themselves.
fn indexed_name<'a>(record: &RecordView<'a>) -> &'a str {
    if record.server.is_empty() {
        return UNKNOWN;
    }
    let is_one_of_many = record.native.ends_with("://") && record.exposed.starts_with(record.native);
    if is_one_of_many { record.native } else { record.exposed }
}

/// All that decides about the series of a record, as bytes that no other series has.
fn put_words(words: &mut Vec<u8>, record: &RecordView<'_>) {
    words.clear();
    words.extend([record.kind.code(), record.status.code()]);
    for name in [record.caller, record.server] {
        put_number(words, name.len() as u64);
        words.extend(name.as_bytes());
    }
    words.extend(indexed_name(record).as_bytes());
}

/// SQLite has no unsigned numbers; what does not fit is as large as can be.
pub(super) fn as_stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{KnownIds, MAXIMUM_REMEMBERED};

    #[test]
    fn what_is_remembered_has_an_end() {
        let mut known = KnownIds::default();
        for number in 0..2 * MAXIMUM_REMEMBERED / 8_000 {
            let name = format!("{number:08000}");
            known.make_room(name.len());
            known.names.insert(name, 0);
            let remembered: usize = known.names.keys().map(String::len).sum();
            assert!(remembered <= MAXIMUM_REMEMBERED, "{remembered}");
        }
        assert!(!known.is_empty());
    }
}
