//! A disk that takes no more: appends fail, nothing half-written stays, and all goes on when there is room again.

use std::fs;
use std::path::Path;

use rustix::process::{Resource, Rlimit, setrlimit};
use tempfile::TempDir;
use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::{AppendError, BodyRef, Durability, Ledger, RecordRef, Settings, Status};

use crate::scene::{NOON_US, ROOT_VARIABLE, call, other_process};

const LARGE: usize = 50_000;

fn large(body: &[u8]) -> RecordRef<'_> {
    RecordRef {
        result: Some(BodyRef::new(body, body.len())),
        ..call("large", "forecast", Status::Ok, NOON_US)
    }
}

/// The other process, in which no file may grow beyond 1 MiB.
#[test]
fn child_fills_the_disk() {
    let Ok(root) = std::env::var(ROOT_VARIABLE) else { return };
    // Records that the disk must confirm do not land anywhere before.
    let settings = Settings { durability: Durability::Always, ..Settings::new(&root) };
    let ledger = Ledger::open(settings).unwrap();
    let body = vec![b'x'; LARGE];
    let large = large(&body);
    let mut written = 0u64;
    let error = loop {
        match ledger.append(&large) {
            Ok(receipt) => written = receipt.sequence,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, AppendError::Write { .. }), "{error}");
    let health = ledger.health();
    assert!(!health.writable);
    assert_eq!((health.appended, health.failed), (written, 1));
    assert!(health.last_error.is_some());
    assert!(ledger.append(&large).is_err(), "there is still no room");

    // Who waits for the same write shares its failure, even with a record that would have fitted.
    let small = call("small", "forecast", Status::Ok, NOON_US);
    let queued = [&small, &large, &small].map(|record| ledger.enqueue(record).unwrap());
    for waiting in queued {
        assert!(matches!(ledger.write(&waiting), Err(AppendError::Write { .. })));
    }

    // A small record fits where the large one did not, if nothing of that one is left.
    let receipt = ledger.append(&small).unwrap();
    assert_eq!(receipt.sequence, written + 1);
    assert!(ledger.health().writable);
    ledger.close();
    fs::write(Path::new(&root).join("done"), receipt.sequence.to_string()).unwrap();
}

#[test]
fn a_full_disk_leaves_no_half_record() {
    let place = TempDir::new().unwrap();
    // `ulimit -f` counts blocks of 512 bytes.
    let limit = "trap '' XFSZ; ulimit -f 2048";
    let output =
        other_process(Some(limit), "full_disk::child_fills_the_disk", place.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let records: u64 = fs::read_to_string(place.path().join("done")).unwrap().parse().unwrap();
    assert!(records > 10);
    let verifications = verify(place.path()).unwrap();
    assert_eq!((verifications[0].records, &verifications[0].damage), (records, &None));
}

/// The other process, in which files may not grow beyond 1 MiB for a while.
#[test]
fn child_lands_on_a_full_disk() {
    let Ok(root) = std::env::var(ROOT_VARIABLE) else { return };
    let ledger = Ledger::open(Settings::new(&root)).unwrap();
    let body = vec![b'x'; LARGE];
    let fill = || (1u64..).find(|_| ledger.append(&large(&body)).is_err()).unwrap() - 1;
    let landed = fill();
    let health = ledger.health();
    assert!(!health.writable && !ledger.takes_records());
    assert!(health.appended < landed, "some are not in the journal yet");
    let small = call("small", "forecast", Status::Ok, NOON_US);
    let error = ledger.append(&small).unwrap_err();
    assert!(
        matches!(error, AppendError::Write { .. }),
        "one that would fit is not accepted before those: {error}"
    );

    setrlimit(Resource::Fsize, Rlimit { current: Some(4 << 20), maximum: None }).unwrap();
    assert_eq!(ledger.append(&small).unwrap().sequence, landed + 1);
    assert!(ledger.takes_records());
    let accepted = landed + 1 + fill();
    assert!(!ledger.takes_records());
    fs::write(Path::new(&root).join("accepted"), accepted.to_string()).unwrap();
    // Whatever waits for room goes to who comes after.
    std::process::exit(0);
}

#[test]
fn what_has_landed_on_a_full_disk_is_written_when_there_is_room() {
    let place = TempDir::new().unwrap();
    let limit = "trap '' XFSZ; ulimit -S -f 2048";
    let output =
        other_process(Some(limit), "full_disk::child_lands_on_a_full_disk", place.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let accepted: u64 = fs::read_to_string(place.path().join("accepted")).unwrap().parse().unwrap();
    assert!(verify(place.path()).unwrap()[0].records < accepted);
    let ledger = Ledger::open(Settings::new(place.path())).unwrap();
    let found = verify(place.path()).unwrap().remove(0);
    assert_eq!((found.records, found.damage), (accepted, None));
    let next = ledger.append(&call("next", "forecast", Status::Ok, NOON_US)).unwrap();
    assert_eq!(next.sequence, accepted + 1);
}
