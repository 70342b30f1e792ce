//! What a server is asked to tell unasked.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use toolgate_client::{State, What};

use crate::http_script::{HttpScript, Said, Seen, event};
use crate::over_http::{legacy, modern, result};
use crate::rig::{Rig, call, caller, http, spec};

/// The settings that the scripted server has seen, by method.
async fn settings(rig: &Rig, method: &str, key: &str) -> Vec<String> {
    let seen = rig.tool("seen").await.unwrap();
    let seen = seen["seen"].as_array().unwrap().clone();
    let of_method = seen.into_iter().filter(|message| message["method"] == method);
    of_method.map(|message| message["params"][key].as_str().unwrap_or_default().to_owned()).collect()
}

async fn until_settings(rig: &Rig, method: &str, key: &str, expected: &[&str]) {
    let look = async {
        while settings(rig, method, key).await != expected {
            tokio::task::yield_now().await;
        }
    };
    let came = tokio::time::timeout(crate::rig::LONG, look).await;
    assert!(came.is_ok(), "{method}: {:?}, not {expected:?}", settings(rig, method, key).await);
}

fn uris(uris: &[&str]) -> BTreeSet<String> {
    uris.iter().map(|uri| (*uri).to_owned()).collect()
}

#[tokio::test]
async fn a_legacy_server_is_told_the_differences_and_all_of_it_after_a_restart() {
    let mut rig = Rig::scripted("legacy");
    rig.until(State::Ready).await;
    rig.server.subscribe(uris(&["a:1", "a:2"]));
    until_settings(&rig, "resources/subscribe", "uri", &["a:1", "a:2"]).await;
    rig.server.subscribe(uris(&["a:2", "a:3"]));
    until_settings(&rig, "resources/subscribe", "uri", &["a:1", "a:2", "a:3"]).await;
    until_settings(&rig, "resources/unsubscribe", "uri", &["a:1"]).await;
    rig.server.set_log_level("warning");
    until_settings(&rig, "logging/setLevel", "level", &["warning"]).await;
    rig.tool("exit").await.unwrap_err();
    until_settings(&rig, "resources/subscribe", "uri", &["a:2", "a:3"]).await;
    until_settings(&rig, "logging/setLevel", "level", &["warning"]).await;
}

#[tokio::test]
async fn a_call_that_wants_more_logs_gets_them_first() {
    let rig = Rig::scripted("legacy");
    let mut verbose = call("seen", caller(1));
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "seen",
        "_meta": {"io.modelcontextprotocol/logLevel": "debug"}}});
    verbose.message = toolgate_protocol::Message::parse(message.to_string().into()).unwrap();
    let seen = rig.call(verbose).await.unwrap();
    let told: Vec<&Value> = seen["seen"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["method"] == "logging/setLevel")
        .collect();
    assert_eq!(told.len(), 1, "{seen}");
    assert_eq!(told[0]["params"]["level"], "debug");
}

#[tokio::test]
async fn a_modern_child_has_one_subscription_which_is_replaced() {
    let mut rig = Rig::scripted("modern");
    rig.until(State::Ready).await;
    rig.server.subscribe(uris(&["a:1"]));
    let look = async {
        loop {
            let seen = rig.tool("seen").await.unwrap()["seen"].as_array().unwrap().clone();
            let listens: Vec<&Value> =
                seen.iter().filter(|message| message["method"] == "subscriptions/listen").collect();
            let cancelled = seen.iter().find(|message| message["method"] == "notifications/cancelled");
            let newest =
                listens.last().map(|listen| &listen["params"]["notifications"]["resourceSubscriptions"]);
            if newest == Some(&json!(["a:1"])) && (listens.len() == 1 || cancelled.is_some()) {
                if let Some(cancelled) = cancelled {
                    assert_eq!(cancelled["params"]["requestId"], listens[0]["id"]);
                }
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::rig::LONG, look).await.expect("the subscription is not replaced");
}

#[tokio::test]
async fn a_modern_server_tells_changes_on_its_stream() {
    let ok = modern(|seen| Said::Json(200, result(seen, &json!({}))));
    let script = HttpScript::start(move |seen: &Seen| {
        if seen.rpc() != "subscriptions/listen" {
            return ok(seen);
        }
        assert_eq!(seen.header("mcp-method"), "subscriptions/listen");
        let meta = json!({"io.modelcontextprotocol/subscriptionId": seen.json["id"]});
        let say = |method: &str| {
            event(None, &json!({"jsonrpc": "2.0", "method": method, "params": {"_meta": meta}}))
        };
        Said::Open(vec![
            say("notifications/subscriptions/acknowledged"),
            say("notifications/tools/list_changed"),
        ])
    })
    .await;
    let mut rig = Rig::start(spec(http(&script.url)));
    rig.news(|what| matches!(what, What::ToolsChanged).then_some(())).await;
}

#[tokio::test]
async fn a_legacy_server_tells_changes_on_its_stream_which_is_resumed() {
    let script = HttpScript::start(move |seen: &Seen| {
        if seen.method != http::Method::GET {
            return legacy("s", |seen| Said::Json(200, result(seen, &json!({}))))(seen);
        }
        let changed =
            |what: &str| json!({"jsonrpc": "2.0", "method": format!("notifications/{what}/list_changed")});
        match seen.header("last-event-id") {
            "" => Said::Events(vec!["retry: 10\n\n".to_owned(), event(Some("e1"), &changed("tools"))]),
            "e1" => Said::Open(vec![event(Some("e2"), &changed("prompts"))]),
            other => panic!("{other}"),
        }
    })
    .await;
    let mut rig = Rig::start(spec(http(&script.url)));
    rig.news(|what| matches!(what, What::ToolsChanged).then_some(())).await;
    rig.news(|what| matches!(what, What::PromptsChanged).then_some(())).await;
    rig.server.stop(Duration::ZERO).await;
}
