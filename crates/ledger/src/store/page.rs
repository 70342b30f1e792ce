//! Pages of calls, newest first, for any filter.
//!
//! A filter that names something is turned into its series first. Each series gives its newest rows from one index
//! without touching the table, series that cannot have anything newer than the page so far are not asked, and only
//! the rows of the finished page are read. Where a filter matches very many series its rows are common, and a walk
//! back through time finds a page sooner.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params, params_from_iter};

use super::schema::{SEQUENCE_BITS, row_id};
use super::statistics::series_conditions;
use super::{Cursor, Filter, IndexRow, Page, Store, StoreError};
use crate::journal::Position;
use crate::record::{Kind, Status};

/// The most rows on a page.
pub const MAXIMUM_PAGE: usize = 1_000;
/// Up to this many series are asked one by one.
const MAXIMUM_SERIES: usize = 5_000;

const END_OF_TIME: Cursor = Cursor { time_us: i64::MAX, id: i64::MAX };

impl Store {
    /// The newest calls that match, older than `before` if it is given; at most [`MAXIMUM_PAGE`].
    pub fn page(&self, filter: &Filter, before: Option<Cursor>, limit: usize) -> Result<Page, StoreError> {
        let limit = limit.clamp(1, MAXIMUM_PAGE);
        let range = Range {
            from_us: filter.from_us.unwrap_or(i64::MIN),
            before: before
                .unwrap_or(END_OF_TIME)
                .min(filter.until_us.map_or(END_OF_TIME, |time_us| Cursor { time_us, id: i64::MIN })),
        };
        self.pool.with(|connection| {
            // One moment for all the questions, while the index is being filled.
            let transaction = connection.transaction()?;
            let found = find(&transaction, filter, range, limit)?;
            let next = if found.len() == limit { found.last().copied() } else { None };
            Ok(Page { rows: read_rows(&transaction, &found)?, next })
        })
    }

    /// The call that a writer gave this number; nothing if it is not in the index.
    pub fn call(&self, replica: &str, sequence: u64) -> Result<Option<IndexRow>, StoreError> {
        self.pool.with(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM replica WHERE name = ?1")?;
            let Some(writer) = statement.query_row([replica], |row| row.get(0)).optional()? else {
                return Ok(None);
            };
            let id = row_id(writer, sequence);
            let mut rows = read_rows(connection, &[Cursor { time_us: 0, id }])?;
            // A number beyond all numbers of writers would otherwise stand for another call.
            Ok(rows.pop().filter(|row| row.sequence == sequence))
        })
    }
}

/// From a moment on, and before a row.
#[derive(Clone, Copy)]
struct Range {
    from_us: i64,
    before: Cursor,
}

fn find(
    connection: &Connection,
    filter: &Filter,
    range: Range,
    limit: usize,
) -> rusqlite::Result<Vec<Cursor>> {
    let (conditions, values) = series_conditions(filter);
    if values.is_empty() {
        let sql = "SELECT time_us, id FROM call WHERE time_us >= ?1 AND (time_us, id) < (?2, ?3)
                   ORDER BY time_us DESC, id DESC LIMIT ?4";
        let mut statement = connection.prepare_cached(sql)?;
        let found = statement.query_map(
            params![range.from_us, range.before.time_us, range.before.id, limit as i64],
            to_cursor,
        )?;
        return found.collect();
    }
    let series = matching_series(connection, &conditions, &values, range)?;
    if series.len() > MAXIMUM_SERIES {
        walk_back(connection, &conditions, values, range, limit)
    } else {
        merge(connection, &series, range, limit)
    }
}

/// The series that match and may have rows in the range, with the time of their newest row, newest first.
fn matching_series(
    connection: &Connection,
    conditions: &str,
    values: &[Value],
    range: Range,
) -> rusqlite::Result<Vec<(i64, i64)>> {
    let sql = format!(
        "SELECT x.id, x.last_us FROM series x WHERE {conditions} AND x.last_us >= ? LIMIT {}",
        MAXIMUM_SERIES + 1
    );
    let values = values.iter().cloned().chain([Value::from(range.from_us)]);
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map(params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut found: Vec<(i64, i64)> = found.collect::<Result<_, _>>()?;
    found.sort_unstable_by_key(|(_, last_us)| Reverse(*last_us));
    Ok(found)
}

fn merge(
    connection: &Connection,
    series: &[(i64, i64)],
    mut range: Range,
    limit: usize,
) -> rusqlite::Result<Vec<Cursor>> {
    let sql = "SELECT time_us, id FROM call WHERE series = ?1 AND time_us >= ?2 AND (time_us, id) < (?3, ?4)
               ORDER BY time_us DESC, id DESC LIMIT ?5";
    let mut statement = connection.prepare_cached(sql)?;
    let mut newest: Vec<Cursor> = Vec::new();
    for (id, last_us) in series {
        // The series come newest first: nothing from here on belongs on the page.
        if *last_us < range.from_us {
            break;
        }
        let Range { from_us, before } = range;
        let found =
            statement.query_map(params![id, from_us, before.time_us, before.id, limit as i64], to_cursor)?;
        let known = newest.len();
        for cursor in found {
            newest.push(cursor?);
        }
        if newest.len() > known {
            newest.sort_unstable_by(|one, other| other.cmp(one));
            newest.truncate(limit);
        }
        if newest.len() == limit
            && let Some(oldest) = newest.last()
        {
            range.from_us = oldest.time_us;
        }
    }
    Ok(newest)
}

fn walk_back(
    connection: &Connection,
    conditions: &str,
    values: Vec<Value>,
    range: Range,
    limit: usize,
) -> rusqlite::Result<Vec<Cursor>> {
    let sql = format!(
        "SELECT c.time_us, c.id FROM call c INDEXED BY call_by_time CROSS JOIN series x ON x.id = c.series
         WHERE {conditions} AND c.time_us >= ? AND (c.time_us, c.id) < (?, ?)
         ORDER BY c.time_us DESC, c.id DESC LIMIT ?"
    );
    let bounds = [range.from_us, range.before.time_us, range.before.id, limit as i64].map(Value::from);
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map(params_from_iter(values.into_iter().chain(bounds)), to_cursor)?;
    found.collect()
}

fn to_cursor(row: &Row<'_>) -> rusqlite::Result<Cursor> {
    Ok(Cursor { time_us: row.get(0)?, id: row.get(1)? })
}

/// The whole rows, without any that has a code this version does not know.
fn read_rows(connection: &Connection, cursors: &[Cursor]) -> rusqlite::Result<Vec<IndexRow>> {
    let mut statement = connection.prepare_cached(
        "SELECT c.id, r.name, c.time_us, a.text, b.text, t.text, x.kind, x.status, c.error_code, c.duration_us,
                c.arguments_size, c.result_size, c.price_settled, c.segment, c.offset
         FROM call c JOIN series x ON x.id = c.series JOIN replica r ON r.id = ?2
         JOIN name a ON a.id = x.caller JOIN name b ON b.id = x.server JOIN name t ON t.id = x.tool
         WHERE c.id = ?1",
    )?;
    let mut rows = Vec::with_capacity(cursors.len());
    for Cursor { id, .. } in cursors {
        rows.extend(statement.query_row([*id, id >> SEQUENCE_BITS], read_row).optional()?.flatten());
    }
    Ok(rows)
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<Option<IndexRow>> {
    let (Some(kind), Some(status)) = (Kind::from_code(row.get(6)?), Status::from_code(row.get(7)?)) else {
        return Ok(None);
    };
    Ok(Some(IndexRow {
        replica: row.get(1)?,
        sequence: row.get::<_, i64>(0)?.unsigned_abs() & ((1 << SEQUENCE_BITS) - 1),
        time_us: row.get(2)?,
        caller: row.get(3)?,
        server: row.get(4)?,
        tool: row.get(5)?,
        kind,
        status,
        error_code: row.get(8)?,
        duration_us: row.get(9)?,
        arguments_size: row.get(10)?,
        result_size: row.get(11)?,
        price_settled: row.get(12)?,
        position: Position { segment: row.get(13)?, offset: row.get(14)? },
    }))
}
