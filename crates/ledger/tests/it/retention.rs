//! Old segments go with their index rows; sums stay; what is not shipped stays.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use toolgate_ledger::journal::folder::segments;
use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::replay::Replay;
use toolgate_ledger::retention::{Retention, prune};
use toolgate_ledger::store::{Filter, ShipperSettings};
use toolgate_ledger::{Calendar, Ledger, RecordRef, Status};

use crate::scene::{NOON_US, call, open};

const CALLS: u64 = 500;

fn filled(place: &TempDir) -> Ledger {
    let ledger = open(place.path());
    for count in 0..CALLS {
        ledger.append(&call("ann", "forecast", Status::Ok, NOON_US + count as i64)).unwrap();
    }
    ledger.catch_up().unwrap();
    ledger
}

fn keeping(place: &TempDir, retention: Retention) -> ShipperSettings {
    let root = place.path().to_owned();
    ShipperSettings { root, interval: Duration::from_secs(1), calendar: Calendar::default(), retention }
}

fn now_us() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_micros() as i64
}

#[test]
fn by_age_and_by_size() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let keep_all =
        Retention { maximum_age: None, maximum_age_of_day_sums: HOUR * 24 * 4_000, ..Retention::default() };
    let check = |retention: Retention, later: Duration, expect_left: fn(usize, usize) -> bool| {
        let place = TempDir::new().unwrap();
        let ledger = filled(&place);
        let folder = place.path().join("local-0");
        let before = segments(&folder).unwrap().len();
        assert!(before > 3);
        let store = ledger.store();
        let now_us = now_us() + later.as_micros() as i64;
        prune(&store.connect().unwrap(), &store, &folder, &keeping(&place, retention), now_us).unwrap();

        let left = segments(&folder).unwrap().len();
        assert!(expect_left(left, before), "{left} of {before} segments are left");
        let records = verify(place.path()).unwrap().remove(0);
        assert_eq!(records.damage, None);
        let rows = store.page(&Filter::default(), None, 1_000).unwrap().rows;
        assert_eq!(rows.len() as u64, records.records, "a row for each record that is left");
        assert!(rows.iter().all(|row| ledger.reader().read(&row.replica, row.position).unwrap().is_some()));
        assert_eq!(Replay::since(place.path(), 0).unwrap().count() as u64, records.records);
        assert_eq!(store.month_of_caller("ann", 202607).unwrap().calls, CALLS, "sums stay");
        assert_eq!(ledger.append(&call("ann", "forecast", Status::Ok, NOON_US)).unwrap().sequence, CALLS + 1);
    };
    check(keep_all, HOUR, |left, before| left == before);
    check(Retention { maximum_age: Some(HOUR * 2), ..keep_all }, HOUR, |left, before| left == before);
    check(Retention { maximum_age: Some(HOUR), ..keep_all }, HOUR * 2, |left, _| left == 1);
    check(Retention { maximum_bytes: Some(33_000), ..keep_all }, HOUR, |left, _| left == 3);
}

#[test]
fn what_is_not_in_the_index_stays() {
    let place = TempDir::new().unwrap();
    let ledger = filled(&place);
    let store = ledger.store();
    let connection = store.connect().unwrap();
    let folder = place.path().join("local-0");
    let before = segments(&folder).unwrap();
    drop(ledger);
    connection.execute("UPDATE replica SET segment = 2", []).unwrap();
    let none = Retention { maximum_bytes: Some(0), ..Retention::default() };
    assert_eq!(prune(&connection, &store, &folder, &keeping(&place, none), now_us()).unwrap(), 1);
    assert_eq!(segments(&folder).unwrap(), before[1..]);
}

#[test]
fn names_go_with_the_last_that_is_known_of_them() {
    let place = TempDir::new().unwrap();
    let ledger = filled(&place);
    let store = ledger.store();
    let connection = store.connect().unwrap();
    for number in 0..100 {
        let (made_up, address) = (format!("dream-{number}"), format!("result://{number}"));
        ledger.append(&RecordRef { server: "", ..call("eve", &made_up, Status::Denied, NOON_US) }).unwrap();
        let read = RecordRef { native: "result://", ..call("ann", &address, Status::Ok, NOON_US) };
        ledger.append(&read).unwrap();
    }
    ledger.catch_up().unwrap();
    let names = || -> Vec<String> {
        let mut statement = connection.prepare("SELECT text FROM name ORDER BY text").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    assert_eq!(names(), ["", "(unknown)", "ann", "eve", "forecast", "result://", "weather"]);

    // All that is older than the last segment goes, and what the sums have goes with them.
    ledger.append(&call("zoe", "latest", Status::Ok, NOON_US)).unwrap();
    ledger.catch_up().unwrap();
    let nothing = Duration::from_secs(0);
    let (maximum_age_of_day_sums, maximum_age_of_month_sums) = (nothing, nothing);
    let none = Retention {
        maximum_bytes: Some(0),
        maximum_age_of_day_sums,
        maximum_age_of_month_sums,
        ..Retention::default()
    };
    let later = NOON_US + 400 * crate::scene::DAY_US;
    prune(&connection, &store, &place.path().join("local-0"), &keeping(&place, none), later).unwrap();
    let left = store.page(&Filter::default(), None, 1_000).unwrap().rows.len();
    let known = names();
    assert!(left < 300 && !known.is_empty(), "{left} {known:?}");
    let series: u64 = connection.query_row("SELECT count(*) FROM series", [], |row| row.get(0)).unwrap();
    assert!(series <= 4, "{series}");
    // What went is made again when it is needed.
    ledger.append(&call("ann", "forecast", Status::Ok, NOON_US)).unwrap();
    ledger.catch_up().unwrap();
    let filter =
        Filter { caller: Some("ann".to_owned()), tool: Some("forecast".to_owned()), ..Filter::default() };
    assert!(!store.page(&filter, None, 1_000).unwrap().rows.is_empty());
    assert_eq!(ledger.health().last_error.map(|error| error.message), None);
}

/// How often the connection that prunes was told to wait.
static WAITS: AtomicUsize = AtomicUsize::new(0);

#[test]
fn it_waits_for_who_writes() {
    let place = TempDir::new().unwrap();
    let ledger = filled(&place);
    let store = ledger.store();
    let folder = place.path().join("local-0");
    drop(ledger);
    let writer = store.connect().unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut connection = store.connect().unwrap();
    let wait = |_| {
        WAITS.fetch_add(1, Ordering::SeqCst);
        thread::yield_now();
        true
    };
    connection.busy_handler(Some(wait)).unwrap();
    let all = Retention { maximum_bytes: Some(0), ..Retention::default() };
    let settings = keeping(&place, all);
    let later_us = now_us() + 400 * crate::scene::DAY_US;
    thread::scope(|scope| {
        let (store, folder) = (&store, &folder);
        let pruned = scope.spawn(move || prune(&connection, store, folder, &settings, later_us));
        while WAITS.load(Ordering::SeqCst) == 0 && !pruned.is_finished() {
            thread::yield_now();
        }
        writer.execute_batch("COMMIT").unwrap();
        assert!(pruned.join().unwrap().unwrap() > 3);
    });
}

#[test]
fn what_counters_need_outlives_its_segment() {
    let place = TempDir::new().unwrap();
    let ledger = open(place.path());
    let now_us = now_us();
    let since_us = now_us - 86_400_000_000;
    for count in 0..CALLS {
        let status = if count % 5 == 0 { Status::Denied } else { Status::Ok };
        ledger.append(&call("ann", "forecast", status, now_us - 3_600_000_000 + count as i64)).unwrap();
    }
    ledger.catch_up().unwrap();
    let counted = || {
        let records = Replay::since(place.path(), since_us).unwrap().map(Result::unwrap);
        let of_records = records.filter(|record| record.status != Status::Denied).map(|_| (1, 5));
        let carried = ledger.carried_since(since_us).unwrap();
        assert!(carried.iter().all(|one| one.caller == "ann" && one.native == "forecast"));
        let all = of_records.chain(carried.iter().map(|one| (one.uses, one.charged)));
        all.fold((0, 0), |(uses, charged), one| (uses + one.0, charged + one.1))
    };
    let expected = (CALLS * 4 / 5, CALLS * 4);
    assert_eq!(counted(), expected);
    let store = ledger.store();
    let folder = place.path().join("local-0");
    let none = keeping(&place, Retention { maximum_bytes: Some(0), ..Retention::default() });
    let connection = store.connect().unwrap();
    assert!(prune(&connection, &store, &folder, &none, now_us).unwrap() > 3);
    assert_eq!(counted(), expected, "the segments are gone and what they counted is there");
    prune(&connection, &store, &folder, &none, now_us + 40 * 86_400_000_000).unwrap();
    assert!(ledger.carried_since(0).unwrap().is_empty(), "their windows are over");
}
