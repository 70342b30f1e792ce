//! What the ledger is asked. These functions wait for the disk.

use std::str::FromStr;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use toolgate_ledger::journal::reader::Reader;
use toolgate_ledger::store::{self, Cursor, Filter, IndexRow, Store};
use toolgate_ledger::{Body, Record};

use crate::answers::{Call, CallPage, MonthOfCaller, RecordedBody, RecordedCall, Statistics, StatisticsRow};
use crate::problem::Problem;
use crate::questions::{Day, LedgerQuery, StatisticsQuery};

/// How many calls a page has unless told.
const USUAL_PAGE: usize = 100;

/// Sums over whole days.
pub fn statistics(store: &Store, query: &StatisticsQuery) -> Result<Statistics, Problem> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let from = query.from.unwrap_or(Day(today.first_of_month()));
    let to = query.to.unwrap_or(Day(today));
    if to.0 < from.0 {
        return Err(Problem::invalid(format!("'to' ({to}) is before 'from' ({from})")));
    }
    let filter = Filter {
        caller: query.caller.clone(),
        server: query.server.clone(),
        tool: query.tool.clone(),
        status: query.status,
        ..Filter::default()
    };
    let rows = store.statistics(query.by.group(), &filter, from.civil(), to.civil())?;
    let rows = rows.into_iter().map(|store::StatisticsRow { group, sums, failed }| StatisticsRow {
        group,
        calls: sums.calls,
        failed,
        duration_us: sums.duration_us,
        arguments_bytes: sums.arguments_bytes,
        result_bytes: sums.result_bytes,
        price_settled: sums.price_settled,
    });
    Ok(Statistics { by: query.by, from: from.to_string(), to: to.to_string(), rows: rows.collect() })
}

/// A page of calls, newest first.
pub fn page(store: &Store, query: &LedgerQuery) -> Result<CallPage, Problem> {
    let cursor = query.cursor.as_deref().map(Cursor::from_str).transpose();
    let cursor = cursor.map_err(|error| Problem::invalid(error.to_string()))?;
    let filter = Filter {
        caller: query.caller.clone(),
        server: query.server.clone(),
        tool: query.tool.clone(),
        kind: query.kind,
        status: query.status,
        from_us: query.from.map(|moment| moment.0.as_microsecond()),
        until_us: query.until.map(|moment| moment.0.as_microsecond()),
    };
    let limit = query.limit.map_or(USUAL_PAGE, |limit| limit as usize);
    let page = store.page(&filter, cursor, limit)?;
    Ok(CallPage {
        calls: page.rows.into_iter().map(call).collect(),
        next: page.next.map(|next| next.to_string()),
    })
}

/// One call with its bodies.
pub fn record(store: &Store, reader: &Reader, replica: &str, sequence: u64) -> Result<RecordedCall, Problem> {
    let missing = || {
        Problem::not_found(format!(
            "there is no record {replica}/{sequence}: it was never written, is too new to be in the index, or was \
             removed by retention"
        ))
    };
    let row = store.call(replica, sequence)?.ok_or_else(missing)?;
    let record = reader.read(&row.replica, row.position)?.ok_or_else(missing)?;
    Ok(recorded(record))
}

/// What a caller's calls of this month add up to.
pub(crate) fn month(store: &Store, caller: &str) -> Result<MonthOfCaller, Problem> {
    let month = Day(Timestamp::now().to_zoned(TimeZone::UTC).date()).civil().month();
    let sums = store.month_of_caller(caller, month)?;
    Ok(MonthOfCaller { month, calls: sums.calls, price_settled: sums.price_settled })
}

fn call(row: IndexRow) -> Call {
    Call {
        time: timestamp(row.time_us),
        replica: row.replica,
        sequence: row.sequence,
        caller: row.caller,
        server: row.server,
        tool: row.tool,
        kind: row.kind.as_str().to_owned(),
        status: row.status.as_str().to_owned(),
        error_code: row.error_code,
        duration_us: row.duration_us,
        arguments_size: row.arguments_size,
        result_size: row.result_size,
        price_settled: row.price_settled,
    }
}

fn recorded(record: Record) -> RecordedCall {
    RecordedCall {
        time: timestamp(record.time_us),
        replica: record.replica.to_string(),
        sequence: record.sequence,
        caller: record.caller,
        groups: record.groups.iter().map(ToString::to_string).collect(),
        kind: record.kind.as_str().to_owned(),
        server: record.server,
        tool: record.exposed,
        native: record.native,
        era: record.era.as_str().to_owned(),
        status: record.status.as_str().to_owned(),
        error_code: record.error_code,
        duration_us: record.duration_us,
        price_reserved: record.price_reserved,
        price_settled: record.price_settled,
        trace_id: record.trace_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
        policy_revision: record.policy_revision,
        arguments: record.arguments.as_ref().map(body),
        result: record.result.as_ref().map(body),
    }
}

fn body(body: &Body) -> RecordedBody {
    let text = || Value::String(String::from_utf8_lossy(&body.kept).into_owned());
    let whole = body.is_whole();
    let json = if whole { serde_json::from_slice(&body.kept).ok() } else { None };
    RecordedBody {
        size: body.size(),
        digest: body.digest().to_string(),
        cut: !whole,
        body: json.unwrap_or_else(text),
    }
}

fn timestamp(time_us: i64) -> Timestamp {
    // Only a clock beyond the year 9999 wrote a time that is none.
    Timestamp::from_microsecond(time_us).unwrap_or_default()
}
