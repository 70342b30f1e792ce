//! Sums by caller, tool, server, day and month, from the sums that are kept and never from the rows.

use rusqlite::types::Value;
use rusqlite::{Connection, Row, params, params_from_iter};
use serde::Serialize;

use super::{Filter, Store, StoreError};
use crate::calendar::CivilDay;

/// What calls add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Sums {
    /// How many calls.
    pub calls: u64,
    /// How long they took together.
    pub duration_us: u64,
    /// The bytes of their arguments.
    pub arguments_bytes: u64,
    /// The bytes of their results.
    pub result_bytes: u64,
    /// What they cost, in millionths.
    pub price_settled: u64,
}

impl Sums {
    /// Adds other sums to these. What no longer fits stays at the largest number.
    pub fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.duration_us = self.duration_us.saturating_add(other.duration_us);
        self.arguments_bytes = self.arguments_bytes.saturating_add(other.arguments_bytes);
        self.result_bytes = self.result_bytes.saturating_add(other.result_bytes);
        self.price_settled = self.price_settled.saturating_add(other.price_settled);
    }

    /// Reads the five sums that begin at column `first`.
    fn from_row(row: &Row<'_>, first: usize) -> rusqlite::Result<Self> {
        let number = |index: usize| row.get::<_, i64>(first + index).map(i64::unsigned_abs);
        Ok(Self {
            calls: number(0)?,
            duration_us: number(1)?,
            arguments_bytes: number(2)?,
            result_bytes: number(3)?,
            price_settled: number(4)?,
        })
    }
}

/// What statistics are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupBy {
    /// One row for each caller.
    Caller,
    /// One row for each tool, resource or prompt.
    Tool,
    /// One row for each server.
    Server,
    /// One row for each way in which calls end.
    Status,
    /// One row for each day.
    Day,
    /// One row for each month.
    Month,
}

/// One group and what its calls add up to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StatisticsRow {
    /// The group: a name, a word for the status, or a day or month in digits.
    pub group: String,
    /// What its calls add up to.
    #[serde(flatten)]
    pub sums: Sums,
    /// How many of them did not end well.
    pub failed: u64,
}

const SUMS: &str =
    "sum(s.calls), sum(s.duration_us), sum(s.arguments_bytes), sum(s.result_bytes), sum(s.price_settled)";

impl Store {
    /// What a caller's calls of a month (`yyyymm`) add up to.
    pub fn month_of_caller(&self, caller: &str, month: i32) -> Result<Sums, StoreError> {
        self.pool.with(|connection| {
            // The order of the join is forced: a caller has few series, a month has many.
            let sql = format!(
                "SELECT {SUMS} FROM name n CROSS JOIN series x ON x.caller = n.id
                 CROSS JOIN month_sum s ON s.series = x.id AND s.month = ?2 WHERE n.text = ?1
                 HAVING count(*) > 0"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query(params![caller, month])?;
            rows.next()?.map_or(Ok(Sums::default()), |row| Sums::from_row(row, 0))
        })
    }

    /// What every caller's calls of a month (`yyyymm`) add up to.
    pub fn month_of_all_callers(&self, month: i32) -> Result<Vec<(String, Sums)>, StoreError> {
        self.pool.with(|connection| month_of_all_callers(connection, month))
    }

    /// Statistics over whole days, `first` and `last` included. Moments in the filter do not count here.
    pub fn statistics(
        &self,
        group_by: GroupBy,
        filter: &Filter,
        first: CivilDay,
        last: CivilDay,
    ) -> Result<Vec<StatisticsRow>, StoreError> {
        // Sums by month are a small part of the sums by day, and most questions are about whole months.
        let months = if group_by == GroupBy::Day { None } else { whole_months(first, last) };
        let (table, period, bounds) = match months {
            Some(months) => ("month_sum", "month", months),
            None => ("day_sum", "day", [first.0, last.0]),
        };
        let key = match group_by {
            GroupBy::Caller => "(SELECT text FROM name WHERE id = x.caller)",
            GroupBy::Tool => "(SELECT text FROM name WHERE id = x.tool)",
            GroupBy::Server => "(SELECT text FROM name WHERE id = x.server)",
            GroupBy::Status => "x.status",
            GroupBy::Day => "s.day",
            GroupBy::Month if months.is_some() => "s.month",
            GroupBy::Month => "s.day / 100",
        };
        let group = match group_by {
            GroupBy::Caller => "x.caller",
            GroupBy::Tool => "x.tool",
            GroupBy::Server => "x.server",
            _ => key,
        };
        let (conditions, mut values) = series_conditions(filter);
        values.extend(bounds.map(Value::from));
        let sql = format!(
            "SELECT {key}, {SUMS}, sum(iif(x.status <> 1, s.calls, 0)) FROM series x
             CROSS JOIN {table} s ON s.series = x.id
             WHERE {conditions} AND s.{period} BETWEEN ? AND ? GROUP BY {group} ORDER BY 1"
        );
        self.pool.with(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), |row| {
                let group = match row.get(0)? {
                    Value::Text(text) => text,
                    Value::Integer(code) if group_by == GroupBy::Status => status_word(code),
                    Value::Integer(number) => number.to_string(),
                    _ => String::new(),
                };
                let failed = row.get::<_, i64>(6)?.unsigned_abs();
                Ok(StatisticsRow { group, sums: Sums::from_row(row, 1)?, failed })
            })?;
            rows.collect()
        })
    }
}

/// The sums of a month by caller, on a connection that may be inside a transaction.
pub(crate) fn month_of_all_callers(
    connection: &Connection,
    month: i32,
) -> rusqlite::Result<Vec<(String, Sums)>> {
    let sql = format!(
        "SELECT n.text, {SUMS} FROM month_sum s JOIN series x ON x.id = s.series
         JOIN name n ON n.id = x.caller WHERE s.month = ?1 GROUP BY x.caller"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map([month], |row| Ok((row.get(0)?, Sums::from_row(row, 1)?)))?;
    rows.collect()
}

/// The first and the last month, if the days from `first` to `last` are all of them.
fn whole_months(first: CivilDay, last: CivilDay) -> Option<[i32; 2]> {
    (first.0 % 100 == 1 && last.is_last_of_month()).then_some([first.month(), last.month()])
}

/// Conditions on `series x` for the parts of a filter that are given, and their values.
pub(super) fn series_conditions(filter: &Filter) -> (String, Vec<Value>) {
    let mut conditions = "TRUE".to_owned();
    let mut values = Vec::new();
    for (column, text) in [("caller", &filter.caller), ("server", &filter.server), ("tool", &filter.tool)] {
        if let Some(text) = text {
            conditions += &format!(" AND x.{column} = (SELECT id FROM name WHERE text = ?)");
            values.push(Value::from(text.clone()));
        }
    }
    let codes = [
        ("kind", filter.kind.map(|kind| kind.code())),
        ("status", filter.status.map(|status| status.code())),
    ];
    for (column, code) in codes {
        if let Some(code) = code {
            conditions += &format!(" AND x.{column} = ?");
            values.push(Value::from(i64::from(code)));
        }
    }
    (conditions, values)
}

fn status_word(code: i64) -> String {
    let status = u8::try_from(code).ok().and_then(crate::record::Status::from_code);
    status.map_or_else(|| code.to_string(), |status| status.as_str().to_owned())
}
