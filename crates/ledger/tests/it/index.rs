//! The index: filled exactly once, asked in every way.

use rusqlite::Connection;
use tempfile::TempDir;
use toolgate_ledger::store::{Filter, GroupBy, INDEX_FILE, Store, Sums};
use toolgate_ledger::{CivilDay, Ledger, Status};

use crate::scene::{DAY_US, NOON_US, call, open};

fn filled(place: &TempDir) -> Ledger {
    let ledger = open(place.path());
    for count in 0..300 {
        let caller = ["ann", "bob", "cy"][count % 3];
        let status = if count % 50 == 0 { Status::Denied } else { Status::Ok };
        let tool = if count % 2 == 0 { "forecast" } else { "history" };
        ledger.append(&call(caller, tool, status, NOON_US + count as i64)).unwrap();
    }
    ledger.append(&call("ann", "forecast", Status::Ok, NOON_US + 4 * DAY_US)).unwrap();
    ledger.catch_up().unwrap();
    ledger
}

#[test]
fn months_and_days_are_summed() {
    let place = TempDir::new().unwrap();
    let store = filled(&place).store();
    let sums = store.month_of_caller("ann", 202607).unwrap();
    assert_eq!((sums.calls, sums.price_settled, sums.duration_us), (100, 500, 10_000));
    assert_eq!(store.month_of_caller("ann", 202608).unwrap().calls, 1);
    assert_eq!(store.month_of_caller("nobody", 202607).unwrap(), Sums::default());

    let (first, last) = (CivilDay::new(2026, 7, 1), CivilDay::new(2026, 8, 31));
    let check = |group_by, filter: Filter, expected: &[(&str, u64, u64)]| {
        let rows = store.statistics(group_by, &filter, first, last).unwrap();
        let rows: Vec<_> = rows.iter().map(|row| (row.group.as_str(), row.sums.calls, row.failed)).collect();
        assert_eq!(rows, expected);
    };
    check(GroupBy::Caller, Filter::default(), &[("ann", 101, 2), ("bob", 100, 2), ("cy", 100, 2)]);
    check(GroupBy::Day, Filter::default(), &[("20260728", 300, 6), ("20260801", 1, 0)]);
    check(GroupBy::Month, Filter::default(), &[("202607", 300, 6), ("202608", 1, 0)]);
    check(GroupBy::Server, Filter::default(), &[("weather", 301, 6)]);
    check(GroupBy::Status, Filter::default(), &[("ok", 295, 0), ("denied", 6, 6)]);
    // Part of a month is summed by days.
    let part =
        store.statistics(GroupBy::Month, &Filter::default(), first, CivilDay::new(2026, 7, 27)).unwrap();
    assert!(part.is_empty());
    let denied_bob =
        Filter { caller: Some("bob".to_owned()), status: Some(Status::Denied), ..Filter::default() };
    check(GroupBy::Tool, denied_bob, &[("forecast", 2, 2)]);
}

#[test]
fn pages_lead_back_through_time_to_whole_records() {
    let place = TempDir::new().unwrap();
    let ledger = filled(&place);
    let (store, reader) = (ledger.store(), ledger.reader());
    let filter =
        Filter { caller: Some("bob".to_owned()), tool: Some("history".to_owned()), ..Filter::default() };
    let mut seen = Vec::new();
    let mut before = None;
    loop {
        let page = store.page(&filter, before, 7).unwrap();
        for row in &page.rows {
            let record = reader.read(&row.replica, row.position).unwrap().unwrap();
            assert_eq!(
                (record.sequence, record.caller.as_str(), record.exposed.as_str()),
                (row.sequence, "bob", "history")
            );
            seen.push(row.time_us);
        }
        let Some(next) = page.next else { break };
        before = Some(next.to_string().parse().unwrap());
    }
    let mut expected: Vec<_> =
        (0..300).filter(|count| count % 3 == 1 && count % 2 == 1).map(|count| NOON_US + count).collect();
    expected.reverse();
    assert_eq!(seen, expected);
    let nobody = Filter { caller: Some("nobody".to_owned()), ..Filter::default() };
    assert!(store.page(&nobody, None, 10).unwrap().rows.is_empty());
}

#[test]
fn what_is_shipped_twice_counts_once() {
    let place = TempDir::new().unwrap();
    filled(&place).close();
    let state = || {
        let store = Store::open(place.path()).unwrap();
        let rows = store.page(&Filter::default(), None, 1_000).unwrap().rows;
        (rows, store.month_of_all_callers(202607).unwrap())
    };
    let before = state();
    assert_eq!(before.0.len(), 301);

    // As if the index had forgotten how far it had come, wholly or in part.
    let harms = [
        "UPDATE replica SET segment = 0, offset = 0",
        "UPDATE replica SET segment = segment - 1, offset = 0",
    ];
    for harm in harms {
        Connection::open(place.path().join(INDEX_FILE)).unwrap().execute(harm, []).unwrap();
        let ledger = open(place.path());
        ledger.catch_up().unwrap();
        assert_eq!(ledger.health().shipped, 0);
        ledger.close();
        assert_eq!(state(), before);
    }
}

#[test]
fn calls_that_come_one_by_one_are_found_one_by_one() {
    let place = TempDir::new().unwrap();
    let ledger = open(place.path());
    for count in 0..200u64 {
        let caller = ["ann", "bob"][count as usize % 2];
        ledger.append(&call(caller, "forecast", Status::Ok, NOON_US - count as i64)).unwrap();
        ledger.catch_up().unwrap();
    }
    let store = ledger.store();
    let blocks = Connection::open(store.path()).unwrap();
    let count: i64 = blocks.query_row("SELECT count(*) FROM block", [], |row| row.get(0)).unwrap();
    assert!(count < 10, "a quiet gateway does not leave a block for each call, but there are {count}");
    for (caller, expected) in [(None, 200), (Some("ann"), 100), (Some("cy"), 0)] {
        let filter = Filter { caller: caller.map(str::to_owned), ..Filter::default() };
        assert_eq!(store.page(&filter, None, 1_000).unwrap().rows.len(), expected);
    }
    for sequence in 1..=200 {
        let row = store.call("local-0", sequence).unwrap().unwrap();
        assert_eq!((row.sequence, row.time_us), (sequence, NOON_US + 1 - sequence as i64));
        assert_eq!(ledger.reader().read("local-0", row.position).unwrap().unwrap().sequence, sequence);
    }
    for unknown in [0, 201, 1 + (1 << 40)] {
        assert_eq!(store.call("local-0", unknown).unwrap(), None);
    }
}

/// The table of calls that the first version had.
const FIRST_VERSION: &str = "
DROP TABLE block;
DROP TABLE series_block;
CREATE TABLE call (
    id INTEGER PRIMARY KEY, series INTEGER NOT NULL, time_us INTEGER NOT NULL, error_code INTEGER,
    duration_us INTEGER NOT NULL, arguments_size INTEGER NOT NULL, result_size INTEGER NOT NULL,
    price_settled INTEGER NOT NULL, segment INTEGER NOT NULL, offset INTEGER NOT NULL
) STRICT;
PRAGMA user_version = 0;";

#[test]
fn an_index_of_the_first_version_is_gone_on_with() {
    let place = TempDir::new().unwrap();
    filled(&place).close();
    let state = || {
        let store = Store::open(place.path()).unwrap();
        let rows = store.page(&Filter::default(), None, 1_000).unwrap().rows;
        (rows, store.month_of_all_callers(202607).unwrap())
    };
    let before = state();
    let connection = Connection::open(place.path().join(INDEX_FILE)).unwrap();
    connection.execute_batch(FIRST_VERSION).unwrap();
    for row in &before.0 {
        let series = "(SELECT x.id FROM series x JOIN name a ON a.id = x.caller JOIN name t ON t.id = x.tool
                       WHERE a.text = ?2 AND t.text = ?3 AND x.status = ?4)";
        let insert = format!("INSERT INTO call VALUES (?1, {series}, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)");
        let values = rusqlite::params![
            1 << 40 | row.sequence as i64,
            row.caller,
            row.tool,
            row.status.code(),
            row.time_us,
            row.error_code,
            row.duration_us,
            row.arguments_size,
            row.result_size,
            row.price_settled,
            row.position.segment,
            row.position.offset,
        ];
        connection.execute(&insert, values).unwrap();
    }
    drop(connection);
    assert_eq!(state(), before);
    let ledger = open(place.path());
    ledger.append(&call("ann", "forecast", Status::Ok, NOON_US)).unwrap();
    ledger.catch_up().unwrap();
    assert_eq!(ledger.health().shipped, 1);
    assert_eq!(state().0.len(), before.0.len() + 1);
}

#[test]
fn a_lost_index_is_made_again() {
    let place = TempDir::new().unwrap();
    filled(&place).close();
    for name in [INDEX_FILE, "index.sqlite-wal", "index.sqlite-shm"] {
        let _ = std::fs::remove_file(place.path().join(name));
    }
    let ledger = open(place.path());
    ledger.catch_up().unwrap();
    assert_eq!(ledger.store().month_of_caller("ann", 202607).unwrap().calls, 100);
}

#[test]
fn the_journal_of_a_process_that_is_gone_is_shipped_by_another() {
    let place = TempDir::new().unwrap();
    let (first, second) = (open(place.path()), open(place.path()));
    second.append(&call("ann", "forecast", Status::Ok, NOON_US)).unwrap();
    assert_eq!(second.replica(), "local-1");
    drop((first, second));
    std::fs::remove_file(place.path().join(INDEX_FILE)).unwrap();
    let again = open(place.path());
    assert_eq!(again.replica(), "local-0");
    again.catch_up().unwrap();
    let page = again.store().page(&Filter::default(), None, 10).unwrap();
    assert_eq!(page.rows.len(), 1);
    assert_eq!(page.rows[0].replica, "local-1");
}
