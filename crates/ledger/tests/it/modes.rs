//! Nobody but the owner reads what is on record.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use toolgate_ledger::Status;

use crate::scene::{NOON_US, call, open};

/// All files and folders under a path with their modes. The index may come and go with some of its files meanwhile.
fn modes(path: &Path, found: &mut Vec<(String, u32)>) {
    let Ok(metadata) = fs::metadata(path) else { return };
    found.push((path.display().to_string(), metadata.permissions().mode() & 0o777));
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            modes(&entry.unwrap().path(), found);
        }
    }
}

#[test]
fn folders_and_files_of_a_ledger_are_its_owners_alone() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().join("deep/ledger");
    let ledger = open(&root);
    for number in 0..200 {
        ledger.append(&call("anna", "forecast", Status::Ok, NOON_US + number)).unwrap();
    }
    let mut found = Vec::new();
    modes(&place.path().join("deep"), &mut found);
    for (path, mode) in &found {
        let expected = if Path::new(path).is_dir() { 0o700 } else { 0o600 };
        assert_eq!(*mode, expected, "{path} has {mode:o}");
    }
    assert!(found.len() > 5, "segments, the lock and the index are there: {found:?}");
}
