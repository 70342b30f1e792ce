//! Several workers that are one server.

use std::collections::BTreeSet;
use std::thread;

use harness::{Client, Era, eventually};
use serde_json::json;

use super::Workshop;

const TOOLS: &str = r#"
import os, time
from toolgate import handler

@handler
def nap(seconds: float) -> int:
    """Sleep while holding on to the process."""
    time.sleep(seconds)
    return os.getpid()
"#;

#[test]
fn calls_at_the_same_time_run_in_different_processes() {
    let workshop = Workshop::with(TOOLS);
    let gateway = workshop.open("processes: 3");
    let client = Client::new(&gateway, Era::Modern);
    eventually("three processes share the calls", || {
        let used: BTreeSet<_> = thread::scope(|scope| {
            let nap = || client.call("w__nap", &json!({"seconds": 0.1})).text().to_owned();
            let napping: Vec<_> = (0..6).map(|_| scope.spawn(nap)).collect();
            napping.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(used.len() <= 3, "{used:?}");
        (used.len() == 3).then_some(())
    });
    // What Python writes beside the files when it imports them is no change.
    assert!(!gateway.log().text().contains("files of handlers have changed"));
}
