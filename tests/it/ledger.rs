//! The record of every call, as it is read after the gateway has ended.

mod crash;
mod denials;
mod failing;
mod generated;
mod records;
mod retention;

use std::path::PathBuf;

use harness::Gateway;
use serde_json::Value;
use toolgate_ledger::journal::verify::verify;
use toolgate_ledger::replay::Replay;
use toolgate_ledger::{Body, Record};

/// The folder of a gateway's ledger.
fn folder(gateway: &Gateway) -> PathBuf {
    gateway.home().join("state/ledger")
}

/// All records of a gateway, which must be sound.
pub(crate) fn records(gateway: &Gateway) -> Vec<Record> {
    for found in verify(&folder(gateway)).unwrap() {
        assert!(found.damage.is_none(), "{found:?}");
    }
    Replay::since(&folder(gateway), 0).unwrap().collect::<Result<_, _>>().unwrap()
}

/// A body as JSON; nothing where there is none.
pub(crate) fn json(body: Option<&Body>) -> Value {
    body.map_or(Value::Null, |body| serde_json::from_slice(&body.kept).unwrap())
}
