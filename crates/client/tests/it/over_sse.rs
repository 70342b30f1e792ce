//! HTTP+SSE of 2024-11-05.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use toolgate_client::{CallError, Event, Outbox, Reply, State, Transport};

use crate::http_script::{HttpScript, Said, Seen, event};
use crate::rig::{Rig, call, caller, eventually, http, spec};

type Stream = Arc<Mutex<Option<mpsc::Sender<String>>>>;

/// A server that names `address` as the place for messages.
async fn old_server(address: &'static str) -> HttpScript {
    let stream: Stream = Arc::default();
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
        hear(&stream, seen)
    })
    .await
}

fn hear(stream: &Stream, seen: &Seen) -> Said {
    let say =
        |message: &Value| stream.lock().unwrap().as_ref().unwrap().try_send(event(None, message)).unwrap();
    let result = |id: &Value, result: &Value| say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    let (id, params) = (&seen.json["id"], &seen.json["params"]);
    match (seen.rpc(), params["name"].as_str().unwrap_or_default()) {
        ("initialize", _) => result(
            id,
            &json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old"}}),
        ),
        ("tools/call", "progress") => {
            let params = json!({"progressToken": params["_meta"]["progressToken"], "progress": 1});
            say(&json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}));
            result(id, &json!({}));
        }
        // Asked under the id of the call, so that the reply tells which call to answer.
        ("tools/call", "ask") => {
            say(&json!({"jsonrpc": "2.0", "id": id, "method": "elicitation/create", "params": {}}));
        }
        ("", _) => result(id, &json!({"answered": seen.json["result"]})),
        ("tools/call", "huge") => result(id, &json!({"text": "x".repeat(300_000)})),
        ("tools/call", "break") => *stream.lock().unwrap() = None,
        ("tools/call", "silent") => {}
        // Taken, and the taking never ends.
        ("tools/call", "late") => return Said::Open(Vec::new()),
        ("tools/call", _) => result(id, params),
        _ => {}
    }
    Said::Text(202, "Accepted")
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

#[tokio::test]
async fn progress_and_questions_belong_to_their_call() {
    let script = old_server("/messages").await;
    let rig = Rig::start(spec(http(&script.url)));
    let outbox = Arc::new(Outbox::default());
    rig.call_with(call("progress", caller(1)), &outbox).await.unwrap();
    assert!(matches!(outbox.take(), Some(Event::Progress(_))));
    let answering = async {
        let Event::Ask(question) = outbox.next().await else { panic!("no question") };
        question.answer.send(Reply::Result(Bytes::from_static(b"{\"action\":\"accept\"}"))).unwrap();
    };
    let (answer, ()) = tokio::join!(rig.call_with(call("ask", caller(1)), &outbox), answering);
    assert_eq!(answer.unwrap(), json!({"answered": {"action": "accept"}}));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled_there_too() {
    let script = old_server("/messages").await;
    let rig = Rig::start(spec(http(&script.url)));
    let mut silent = call("silent", caller(1));
    silent.timeout = Some(Duration::from_millis(50));
    assert!(matches!(rig.call(silent).await, Err(CallError::Timeout { .. })));
    eventually("the server is told", || script.count(|seen| seen.rpc() == "notifications/cancelled") == 1)
        .await;
}

#[tokio::test]
async fn a_message_that_is_not_accepted_holds_up_no_other() {
    let script = old_server("/messages").await;
    let rig = Rig::start(spec(http(&script.url)));
    let mut late = call("late", caller(1));
    late.timeout = Some(Duration::from_secs(3));
    let echo = async {
        eventually("it came", || script.count(|seen| seen.json["params"]["name"] == "late") == 1).await;
        rig.tool("echo").await
    };
    let (late, echoed) = tokio::join!(rig.call(late), echo);
    assert_eq!(echoed.unwrap()["name"], "echo");
    assert!(matches!(late, Err(CallError::Timeout { .. })), "{late:?}");
    eventually("the server is told", || script.count(|seen| seen.rpc() == "notifications/cancelled") == 1)
        .await;
}

#[tokio::test]
async fn an_event_that_is_too_long_fails_its_call_only() {
    let script = old_server("/messages").await;
    let rig = Rig::start(spec(http(&script.url)));
    let mut silent = call("silent", caller(1));
    silent.timeout = Some(Duration::from_secs(2));
    let (silent, huge) = tokio::join!(rig.call(silent), rig.tool("huge"));
    let error = huge.unwrap_err();
    assert!(matches!(&error, CallError::Unusable { cause, .. } if cause.contains("longer")), "{error}");
    // The other one was not touched.
    assert!(matches!(silent, Err(CallError::Timeout { .. })), "{silent:?}");
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
    let greeted = |seen: &Seen| seen.path == "/messages" && seen.rpc() == "initialize";
    assert_eq!(script.count(greeted), 1);
}

#[tokio::test]
async fn a_stream_that_breaks_fails_its_calls_and_is_opened_again() {
    let script = old_server("/messages").await;
    let rig = Rig::start(spec(http(&script.url)));
    let error = rig.tool("break").await.unwrap_err();
    assert!(matches!(&error, CallError::Broken { .. }), "{error}");
    assert_eq!(rig.tool("echo").await.unwrap()["name"], "echo");
}
