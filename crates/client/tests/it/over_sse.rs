//! HTTP+SSE of 2024-11-05.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgate_client::{State, Transport};

use crate::http_script::{HttpScript, Said, Seen, event};
use crate::rig::{Rig, http, spec};

/// A server that names `address` as the place for messages.
async fn old_server(address: &'static str) -> HttpScript {
    let stream: Arc<Mutex<Option<mpsc::Sender<String>>>> = Arc::default();
    HttpScript::start(move |seen: &Seen| {
        if seen.method == http::Method::GET {
            let (sender, receiver) = mpsc::channel(16);
            sender.try_send(format!("event: endpoint\ndata: {address}\n\n")).unwrap();
            *stream.lock().unwrap() = Some(sender);
            return Said::Live(receiver);
        }
        if seen.path != "/messages" {
            return Said::Text(405, "");
        }
        let answer = match seen.rpc() {
            "initialize" => {
                json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old"}})
            }
            "tools/call" => seen.json["params"].clone(),
            _ => return Said::Text(202, "Accepted"),
        };
        let message: Value = json!({"jsonrpc": "2.0", "id": seen.json["id"], "result": answer});
        stream.lock().unwrap().as_ref().unwrap().try_send(event(None, &message)).unwrap();
        Said::Text(202, "Accepted")
    })
    .await
}

#[tokio::test]
async fn an_old_server_is_found_and_spoken_to() {
    let script = old_server("/messages?session=1").await;
    let rig = Rig::start(spec(http(&script.url)));
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
    let greeting = rig.server.status().greeting.unwrap();
    assert_eq!(greeting.version, toolgate_protocol::Version::V2024_11_05);
}

#[tokio::test]
async fn an_old_server_named_as_such_is_not_probed() {
    let script = old_server("/messages").await;
    let transport = Transport::Sse { url: script.url.clone(), headers: std::collections::BTreeMap::new() };
    let rig = Rig::start(spec(transport));
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
    assert_eq!(script.count(|seen| seen.rpc() == "server/discover"), 0);
}

#[tokio::test]
async fn messages_are_sent_to_the_same_origin_only() {
    let script = old_server("http://127.0.0.1:1/messages").await;
    let mut rig = Rig::start(spec(http(&script.url)));
    let status = rig.until(State::Down).await;
    assert!(status.cause.unwrap().contains("origin"));
}
