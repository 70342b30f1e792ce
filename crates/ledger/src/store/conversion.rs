//! Bringing an index of the first version up to date, which had a row for each call.

use rusqlite::{Connection, Row};

use super::block::Entry;
use super::block_table::BlockWriter;
use super::schema::{replica_of, sequence_of};

/// Packs the rows of the first version into blocks; nothing where there are none.
pub(super) fn pack_rows(connection: &Connection) -> rusqlite::Result<()> {
    if !connection.table_exists(None, "call")? {
        return Ok(());
    }
    let mut blocks = BlockWriter::new(connection);
    let mut statement = connection.prepare(
        "SELECT id, segment, series, time_us, error_code, duration_us, arguments_size, result_size, price_settled,
                offset FROM call ORDER BY id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let id = row.get(0)?;
        blocks.push(replica_of(id), sequence_of(id), row.get(1)?, entry(row)?)?;
    }
    blocks.finish()?;
    drop(rows);
    drop(statement);
    connection.execute_batch("DROP TABLE call")
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    Ok(Entry {
        series: row.get(2)?,
        time_us: row.get(3)?,
        error_code: row.get(4)?,
        duration_us: row.get(5)?,
        arguments_size: row.get(6)?,
        result_size: row.get(7)?,
        price_settled: row.get(8)?,
        offset: row.get(9)?,
    })
}
