//! A worker whose interpreter is held by one call, so that it cannot even say that it is there.

use harness::{Client, eventually};
use serde_json::json;

use super::Workshop;

const TOOLS: &str = r#"
import ctypes, os
from toolgate import handler

@handler
def who() -> int:
    """Say which process this is."""
    return os.getpid()

@handler
def hold() -> int:
    """Sleep without letting other Python code run."""
    return ctypes.PyDLL(None).sleep(600)
"#;

#[test]
fn the_only_worker_is_replaced_when_it_is_stuck() {
    let workshop = Workshop::with(TOOLS);
    let gateway = workshop.open_with("call_timeout: 5s", "runtime: {health_check_interval: 1s}\n");
    let client = Client::modern(&gateway);
    let before = client.call("w__who", &json!({})).text().to_owned();
    let held = client.call("w__hold", &json!({}));
    assert!(held.error().contains("5 s"), "{}", held.answer);
    eventually("another worker is there", || {
        let exchange = client.call("w__who", &json!({}));
        (exchange.answer.get("result").is_some() && exchange.text() != before).then_some(())
    });
    gateway.log().until("it has answered nothing for 5 s");
}
