//! A disk that takes no more: appends fail, nothing half-written stays, and all goes on when there is room again.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::{AppendError, BodyRef, Ledger, RecordRef, Settings, Status};

use crate::scene::{NOON_US, ROOT_VARIABLE, call, other_process};

/// The other process, in which no file may grow beyond 1 MiB.
#[test]
fn child_fills_the_disk() {
    let Ok(root) = std::env::var(ROOT_VARIABLE) else { return };
    let ledger = Ledger::open(Settings::new(&root)).unwrap();
    let body = vec![b'x'; 50_000];
    let large = RecordRef {
        result: Some(BodyRef::new(&body, body.len())),
        ..call("large", "forecast", Status::Ok, NOON_US)
    };
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
