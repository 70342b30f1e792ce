//! Pages of calls, newest first, for any filter.
//!
//! A filter that names something is turned into its series first. Each series says in which blocks it has calls and of
//! which time, and series and blocks that cannot have anything newer than the page so far are not unpacked. Where a
//! filter matches very many series its calls are common, and a walk back through all blocks finds a page sooner.

mod newest;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use super::block::Block;
use super::block_table;
use super::schema::{replica_of, row_id, sequence_of};
use super::statistics::series_conditions;
use super::{Cursor, Filter, IndexRow, Page, Store, StoreError};
use crate::journal::Position;
use crate::record::{Kind, Status};

use newest::{Found, Newest, Range};

/// The most rows on a page.
pub const MAXIMUM_PAGE: usize = 1_000;
/// Up to this many series are asked one by one.
const MAXIMUM_SERIES: usize = 5_000;
/// Unpacked blocks that are kept while the next series is looked at, which often is in the same ones.
const KEPT_BLOCKS: usize = 256;

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
            let next = if found.len() == limit { found.last().map(|found| found.cursor) } else { None };
            Ok(Page { rows: Rows::new(&transaction).read(&found)?, next })
        })
    }

    /// The call that a writer gave this number; nothing if it is not in the index.
    pub fn call(&self, replica: &str, sequence: u64) -> Result<Option<IndexRow>, StoreError> {
        self.pool.with(|connection| {
            let mut statement = connection.prepare_cached("SELECT id FROM replica WHERE name = ?1")?;
            let Some(writer) = statement.query_row([replica], |row| row.get(0)).optional()? else {
                return Ok(None);
            };
            // A number beyond all numbers of writers would otherwise stand for another call.
            let id = Some(row_id(writer, sequence)).filter(|id| sequence_of(*id) == sequence);
            let block = block_table::last_up_to(connection, writer, sequence)?;
            let found = block.and_then(|block| {
                let (id, entry) = block.calls().find(|(known, _)| Some(*known) == id)?;
                Some(Found::new(id, entry, block.segment))
            });
            Ok(Rows::new(connection).read(found.as_slice())?.pop())
        })
    }
}

fn find(
    connection: &Connection,
    filter: &Filter,
    range: Range,
    limit: usize,
) -> rusqlite::Result<Vec<Found>> {
    let (conditions, values) = series_conditions(filter);
    if values.is_empty() {
        return walk_back(connection, range, limit, |_| Ok(true));
    }
    let series = matching_series(connection, &conditions, &values, range)?;
    if series.len() > MAXIMUM_SERIES {
        let matches = series_matcher(connection, &conditions, values);
        walk_back(connection, range, limit, matches)
    } else {
        merge(connection, &series, range, limit)
    }
}

/// The series that match and may have calls in the range, with the time of their newest call, newest first.
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
    range: Range,
    limit: usize,
) -> rusqlite::Result<Vec<Found>> {
    let sql = "SELECT block, last_us FROM series_block WHERE series = ?1 AND last_us >= ?2 AND first_us <= ?3
               ORDER BY last_us DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut newest = Newest::new(range, limit);
    let mut kept: HashMap<i64, Block> = HashMap::new();
    for (series, last_us) in series {
        // The series come newest first: nothing from here on belongs on the page.
        if !newest.may_take(*last_us) {
            break;
        }
        let mut blocks = statement.query([*series, newest.start_us(), range.before.time_us])?;
        while let Some(row) = blocks.next()? {
            let (id, last_us) = (row.get(0)?, row.get(1)?);
            if !newest.may_take(last_us) {
                break;
            }
            if kept.len() >= KEPT_BLOCKS {
                kept.clear();
            }
            if !kept.contains_key(&id)
                && let Some(block) = block_table::read(connection, id)?
            {
                kept.insert(id, block);
            }
            if let Some(block) = kept.get(&id) {
                newest.offer(block, |found| Ok(found == *series))?;
            }
        }
    }
    Ok(newest.finish())
}

fn walk_back(
    connection: &Connection,
    range: Range,
    limit: usize,
    mut matches: impl FnMut(i64) -> rusqlite::Result<bool>,
) -> rusqlite::Result<Vec<Found>> {
    let sql = "SELECT id, last_us FROM block WHERE last_us >= ?1 AND first_us <= ?2 ORDER BY last_us DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut newest = Newest::new(range, limit);
    let mut blocks = statement.query([range.from_us, range.before.time_us])?;
    while let Some(row) = blocks.next()? {
        if !newest.may_take(row.get(1)?) {
            break;
        }
        if let Some(block) = block_table::read(connection, row.get(0)?)? {
            newest.offer(&block, &mut matches)?;
        }
    }
    Ok(newest.finish())
}

/// Whether a series matches, asked once for each that is met.
fn series_matcher<'a>(
    connection: &'a Connection,
    conditions: &str,
    values: Vec<Value>,
) -> impl FnMut(i64) -> rusqlite::Result<bool> + 'a {
    let sql = format!("SELECT EXISTS (SELECT 1 FROM series x WHERE {conditions} AND x.id = ?)");
    let mut asked = HashMap::new();
    move |series| {
        if let Some(known) = asked.get(&series) {
            return Ok(*known);
        }
        let values = values.iter().cloned().chain([Value::from(series)]);
        let found = connection.prepare_cached(&sql)?.query_row(params_from_iter(values), |row| row.get(0))?;
        asked.insert(series, found);
        Ok(found)
    }
}

/// Gives calls the names that they have in the index by number.
struct Rows<'a> {
    connection: &'a Connection,
    replicas: HashMap<i64, Option<String>>,
    series: HashMap<i64, Option<Arc<Series>>>,
}

/// What the calls of a series have in common.
struct Series {
    caller: String,
    server: String,
    tool: String,
    kind: Kind,
    status: Status,
}

impl<'a> Rows<'a> {
    fn new(connection: &'a Connection) -> Self {
        Self { connection, replicas: HashMap::new(), series: HashMap::new() }
    }

    /// The whole rows, without any that has a code this version does not know.
    fn read(&mut self, found: &[Found]) -> rusqlite::Result<Vec<IndexRow>> {
        let mut rows = Vec::with_capacity(found.len());
        for Found { cursor, segment, entry } in found {
            let (Some(replica), Some(series)) = (self.replica(cursor.id)?, self.series(entry.series)?) else {
                continue;
            };
            rows.push(IndexRow {
                replica,
                sequence: sequence_of(cursor.id),
                time_us: entry.time_us,
                caller: series.caller.clone(),
                server: series.server.clone(),
                tool: series.tool.clone(),
                kind: series.kind,
                status: series.status,
                error_code: entry.error_code,
                duration_us: entry.duration_us,
                arguments_size: entry.arguments_size,
                result_size: entry.result_size,
                price_settled: entry.price_settled,
                position: Position { segment: *segment, offset: entry.offset },
            });
        }
        Ok(rows)
    }

    fn replica(&mut self, id: i64) -> rusqlite::Result<Option<String>> {
        let replica = replica_of(id);
        if let Some(known) = self.replicas.get(&replica) {
            return Ok(known.clone());
        }
        let mut statement = self.connection.prepare_cached("SELECT name FROM replica WHERE id = ?1")?;
        let name: Option<String> = statement.query_row([replica], |row| row.get(0)).optional()?;
        self.replicas.insert(replica, name.clone());
        Ok(name)
    }

    fn series(&mut self, id: i64) -> rusqlite::Result<Option<Arc<Series>>> {
        if let Some(known) = self.series.get(&id) {
            return Ok(known.clone());
        }
        let mut statement = self.connection.prepare_cached(
            "SELECT a.text, b.text, t.text, x.kind, x.status FROM series x JOIN name a ON a.id = x.caller
             JOIN name b ON b.id = x.server JOIN name t ON t.id = x.tool WHERE x.id = ?1",
        )?;
        let series = statement.query_row([id], |row| {
            let (Some(kind), Some(status)) = (Kind::from_code(row.get(3)?), Status::from_code(row.get(4)?))
            else {
                return Ok(None);
            };
            let (caller, server, tool) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Some(Arc::new(Series { caller, server, tool, kind, status })))
        });
        let series = series.optional()?.flatten();
        self.series.insert(id, series.clone());
        Ok(series)
    }
}
