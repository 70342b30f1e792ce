//! Old segments go with their index rows; sums stay; what is not shipped stays.

use std::time::Duration;

use tempfile::TempDir;
use toolgate_ledger::journal::folder::segments;
use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::replay::Replay;
use toolgate_ledger::retention::{Retention, prune};
use toolgate_ledger::store::{Filter, ShipperSettings};
use toolgate_ledger::{Calendar, Ledger, Status};

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
        Retention { maximum_age: None, maximum_bytes: None, maximum_age_of_day_sums: HOUR * 24 * 4_000 };
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
