//! The record of every call, as it is read after the gateway has ended.

use std::path::PathBuf;

use harness::Gateway;
use toolgate_ledger::Record;
use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::replay::Replay;

/// The folder of a gateway's ledger.
fn folder(gateway: &Gateway) -> PathBuf {
    gateway.home().join("state/ledger")
}

/// All records of a gateway, which must be sound.
fn records(gateway: &Gateway) -> Vec<Record> {
    for found in verify(&folder(gateway)).unwrap() {
        assert!(found.damage.is_none(), "{found:?}");
    }
    Replay::since(&folder(gateway), 0).unwrap().collect::<Result<_, _>>().unwrap()
}
