//! Blocks in the tables of the index: put in, taken out, found by the sequence of a call.

use std::ops::Range;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::batch::as_stored;
use super::block::{Block, Entry};
use super::schema::{replica_of, row_id, sequence_of};

/// A last block with fewer calls is gone on with, so that a quiet gateway does not leave one block for each call. More
/// would be written again and again.
const REOPENED_BELOW: usize = 128;

const COLUMNS: &str = "id, calls, segment, entries";

/// Packs calls into blocks, one writer after the other, each in the order of its journal.
#[derive(Debug)]
pub(super) struct BlockWriter<'a> {
    connection: &'a Connection,
    open: Option<Block>,
    /// Sequences of the current writer that are known not to be in any block.
    free: Range<u64>,
}

impl<'a> BlockWriter<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self {
        Self { connection, open: None, free: 0..0 }
    }

    /// Whether a call is in the index already.
    pub(super) fn is_known(&mut self, replica: i64, sequence: u64) -> rusqlite::Result<bool> {
        if self.free.contains(&sequence) {
            return Ok(false);
        }
        self.finish()?;
        let before = last_up_to(self.connection, replica, sequence)?;
        if before.as_ref().is_some_and(|block| sequence < block.end_sequence()) {
            return Ok(true);
        }
        self.open =
            before.filter(|block| block.entries.len() < REOPENED_BELOW && block.end_sequence() == sequence);
        if let Some(block) = &self.open {
            remove(self.connection, block)?;
        }
        let sql = "SELECT id FROM block WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT 1";
        let bounds = [row_id(replica, sequence), row_id(replica + 1, 0)];
        let next: Option<i64> =
            self.connection.prepare_cached(sql)?.query_row(bounds, |row| row.get(0)).optional()?;
        self.free = sequence..next.map_or(u64::MAX, sequence_of);
        Ok(false)
    }

    /// Adds a call that is not in the index.
    pub(super) fn push(
        &mut self,
        replica: i64,
        sequence: u64,
        segment: u64,
        entry: Entry,
    ) -> rusqlite::Result<()> {
        match &mut self.open {
            Some(block) if block.can_take(replica, sequence, segment) => block.entries.push(entry),
            _ => {
                self.put_open()?;
                self.open = Some(Block { replica, first_sequence: sequence, segment, entries: vec![entry] });
            }
        }
        self.free.start = sequence.saturating_add(1);
        Ok(())
    }

    /// Puts what is left into the tables.
    pub(super) fn finish(&mut self) -> rusqlite::Result<()> {
        self.free = 0..0;
        self.put_open()
    }

    fn put_open(&mut self) -> rusqlite::Result<()> {
        self.open.take().map_or(Ok(()), |block| put(self.connection, &block))
    }
}

/// The block with this id.
pub(super) fn read(connection: &Connection, id: i64) -> rusqlite::Result<Option<Block>> {
    let sql = format!("SELECT {COLUMNS} FROM block WHERE id = ?1");
    connection.prepare_cached(&sql)?.query_row([id], from_row).optional()
}

/// The last block of a writer that begins with this call or an earlier one.
pub(super) fn last_up_to(
    connection: &Connection,
    replica: i64,
    sequence: u64,
) -> rusqlite::Result<Option<Block>> {
    let sql = format!("SELECT {COLUMNS} FROM block WHERE id <= ?1 AND id >= ?2 ORDER BY id DESC LIMIT 1");
    let bounds = [row_id(replica, sequence), row_id(replica, 0)];
    connection.prepare_cached(&sql)?.query_row(bounds, from_row).optional()
}

/// Removes the blocks of a writer that begin in a range of sequences.
pub(super) fn remove_range(connection: &Connection, replica: i64, range: Range<u64>) -> rusqlite::Result<()> {
    let sql = format!("SELECT {COLUMNS} FROM block WHERE id >= ?1 AND id < ?2");
    let bounds = [row_id(replica, range.start), row_id(replica, range.end)];
    let mut statement = connection.prepare_cached(&sql)?;
    let blocks: Vec<Block> = statement.query_map(bounds, from_row)?.collect::<Result<_, _>>()?;
    blocks.iter().try_for_each(|block| remove(connection, block))
}

fn put(connection: &Connection, block: &Block) -> rusqlite::Result<()> {
    let Some(span) = block.span() else { return Ok(()) };
    connection.prepare_cached("INSERT INTO block VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?.execute(params![
        block.id(),
        block.entries.len() as i64,
        span.first_us,
        span.last_us,
        as_stored(block.segment),
        block.pack(),
    ])?;
    let mut insert = connection.prepare_cached("INSERT INTO series_block VALUES (?1, ?2, ?3, ?4)")?;
    for (series, span) in block.spans() {
        insert.execute([series, span.last_us, block.id(), span.first_us])?;
    }
    Ok(())
}

fn remove(connection: &Connection, block: &Block) -> rusqlite::Result<()> {
    let sql = "DELETE FROM series_block WHERE series = ?1 AND last_us = ?2 AND block = ?3";
    let mut delete = connection.prepare_cached(sql)?;
    for (series, span) in block.spans() {
        delete.execute([series, span.last_us, block.id()])?;
    }
    connection.prepare_cached("DELETE FROM block WHERE id = ?1")?.execute([block.id()])?;
    Ok(())
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<Block> {
    let id: i64 = row.get(0)?;
    let packed = row.get_ref(3)?.as_blob()?;
    let entries = Block::unpack(packed, row.get(1)?)
        .map_err(|error| rusqlite::Error::FromSqlConversionFailure(3, Type::Blob, Box::new(error)))?;
    Ok(Block { replica: replica_of(id), first_sequence: sequence_of(id), segment: row.get(2)?, entries })
}
