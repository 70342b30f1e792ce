//! Streamable HTTP, both eras.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use toolgate_client::{CallError, Event, Outbox, Reply, State};

use crate::http_script::{HttpScript, Said, Seen, event};
use crate::rig::{Rig, call, caller, eventually, http, spec};

pub(crate) fn result(seen: &Seen, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.json["id"], "result": result})
}

fn error(seen: &Seen, code: i32) -> Value {
    json!({"jsonrpc": "2.0", "id": seen.json["id"], "error": {"code": code, "message": "no"}})
}

/// A modern server; `rest` answers what is not the greeting.
pub(crate) fn modern(rest: impl Fn(&Seen) -> Said) -> impl Fn(&Seen) -> Said {
    move |seen| match seen.rpc() {
        "server/discover" => {
            let versions = json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}});
            Said::Json(200, result(seen, &versions))
        }
        "subscriptions/listen" => Said::Json(404, error(seen, -32601)),
        _ => rest(seen),
    }
}

/// A legacy server with a session and without a stream of its own.
pub(crate) fn legacy(session: &'static str, rest: impl Fn(&Seen) -> Said) -> impl Fn(&Seen) -> Said {
    move |seen| match (seen.method.as_str(), seen.rpc()) {
        ("POST", "initialize") => {
            let greeting =
                json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x"}});
            Said::Session(result(seen, &greeting), session)
        }
        ("POST", "notifications/initialized" | "notifications/cancelled") => Said::Text(202, ""),
        ("POST", "server/discover") => Said::Text(400, "Bad Request: no valid session"),
        ("DELETE", _) => Said::Text(200, ""),
        ("GET", _) if seen.header("last-event-id").is_empty() => Said::Text(405, ""),
        _ => rest(seen),
    }
}

fn echo(seen: &Seen) -> Said {
    Said::Json(200, result(seen, &seen.json["params"]))
}

#[tokio::test]
async fn a_modern_server_gets_the_headers_of_its_era() {
    let script = HttpScript::start(modern(echo)).await;
    let rig = Rig::start(spec(http(&script.url)));
    let mut asked = call("größe", caller(1));
    let place = asked.message.place(toolgate_protocol::message::Field::Name).unwrap();
    asked.native = Some((place, "maß".into()));
    asked.parameters = vec![("Region".to_owned(), "us-west1".to_owned())];
    let answer = rig.call(asked).await.unwrap();
    assert_eq!(answer["name"], "maß");
    let seen = script.seen().into_iter().find(|seen| seen.rpc() == "tools/call").unwrap();
    assert_eq!(seen.header("mcp-protocol-version"), "2026-07-28");
    assert_eq!(seen.header("mcp-method"), "tools/call");
    assert_eq!(seen.header("mcp-name"), "=?base64?bWHDnw==?=");
    assert_eq!(seen.header("mcp-param-region"), "us-west1");
    assert_eq!(seen.header("mcp-session-id"), "");
    assert_eq!(seen.json["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
}

#[tokio::test]
async fn connections_are_used_again() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let script = HttpScript::serve(listener, modern(echo));
    let rig = Rig::start(spec(http(&script.url)));
    for _ in 0..50 {
        rig.tool("echo").await.unwrap();
    }
    // The port of each connection is told by the operating system. It also tells of closed ones that it remembers for a
    // while, which may be those of an earlier server with the same port.
    let port: u16 = script.url.split([':', '/']).nth(4).unwrap().parse().unwrap();
    let open = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let to_server = format!("0100007F:{port:04X}");
    let is_open_to_server = |line: &&str| {
        let mut columns = line.split_whitespace().skip(2);
        columns.next() == Some(&to_server) && columns.next() == Some("01")
    };
    let connections = open.lines().filter(is_open_to_server).count();
    assert!(connections <= 2, "{connections} connections for calls one after the other");
}

#[tokio::test]
async fn an_error_in_a_bad_status_is_the_answer() {
    let check = async |status: u16, body: fn(&Seen) -> Value, expected: &str| {
        let script = HttpScript::start(modern(move |seen| Said::Json(status, body(seen)))).await;
        let rig = Rig::start(spec(http(&script.url)));
        let found = match rig.tool("x").await {
            Ok(answer) => answer["code"].to_string(),
            Err(CallError::Unusable { cause, .. }) => cause,
            Err(other) => panic!("{other}"),
        };
        assert!(found.contains(expected), "{status}: {found}");
    };
    check(400, |seen| error(seen, -32020), "-32020").await;
    check(404, |seen| error(seen, -32601), "-32601").await;
    check(500, |seen| error(seen, -32603), "-32603").await;
    check(400, |_| json!({"jsonrpc": "2.0", "error": {"code": -32021, "message": ""}}), "-32021").await;
    check(401, |_| json!({"error": "invalid_token"}), "HTTP status 401: {\"error\":\"invalid_token\"}").await;
    check(503, |_| json!("down"), "HTTP status 503").await;
    check(200, |_| json!({"jsonrpc": "2.0", "id": 4711, "result": {}}), "not the answer").await;
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_refused() {
    let script =
        HttpScript::start(modern(|seen| Said::Json(200, result(seen, &json!({"x": "y".repeat(300_000)})))))
            .await;
    let rig = Rig::start(spec(http(&script.url)));
    let refused = rig.tool("x").await.unwrap_err();
    assert!(matches!(&refused, CallError::Unusable { cause, .. } if cause.contains("200000")), "{refused}");
}

#[tokio::test]
async fn what_a_stream_says_before_the_answer_comes_in_order() {
    let script = HttpScript::start(modern(|seen| {
        let token = &seen.json["params"]["_meta"]["progressToken"];
        let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}});
        let log = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
        Said::Events(vec![
            ": hello\n\n".to_owned(),
            event(None, &progress) + &event(None, &log),
            event(None, &result(seen, &json!({"done": true}))),
        ])
    }))
    .await;
    let rig = Rig::start(spec(http(&script.url)));
    let outbox = Arc::new(Outbox::default());
    let answer = rig.call_with(call("x", caller(1)), &outbox).await.unwrap();
    assert_eq!(answer, json!({"done": true}));
    assert!(matches!(outbox.take(), Some(Event::Progress(_))));
    assert!(matches!(outbox.take(), Some(Event::Log(_))));
    assert!(outbox.take().is_none());
}

#[tokio::test]
async fn a_legacy_server_asks_on_the_stream_and_gets_its_answer_by_post() {
    let (sender, receiver) = tokio::sync::mpsc::channel::<String>(8);
    let receiver = std::sync::Mutex::new(Some(receiver));
    let (tell, mut told) = tokio::sync::mpsc::channel::<Value>(8);
    let script = HttpScript::start(legacy("s1", move |seen| {
        if seen.rpc() == "tools/call" {
            tell.try_send(seen.json.clone()).unwrap();
            return Said::Live(receiver.lock().unwrap().take().unwrap());
        }
        tell.try_send(seen.json.clone()).unwrap();
        Said::Text(202, "")
    }))
    .await;
    let rig = Rig::start(spec(http(&script.url)));
    let outbox = Arc::new(Outbox::default());
    let server = async {
        let asked = told.recv().await.unwrap();
        let question = json!({"jsonrpc": "2.0", "id": 77, "method": "sampling/createMessage", "params": {"maxTokens": 1}});
        sender.send(event(None, &question)).await.unwrap();
        let reply = told.recv().await.unwrap();
        assert_eq!(reply, json!({"jsonrpc": "2.0", "id": 77, "result": {"model": "m"}}));
        let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"ok": 1}});
        sender.send(event(None, &answer)).await.unwrap();
    };
    let client = async {
        let Event::Ask(question) = outbox.next().await else { panic!("no question") };
        question.answer.send(Reply::Result(br#"{"model":"m"}"#.as_slice().into())).unwrap();
    };
    let (answer, (), ()) = tokio::join!(rig.call_with(call("x", caller(1)), &outbox), server, client);
    assert_eq!(answer.unwrap(), json!({"ok": 1}));
    assert!(
        script
            .seen()
            .iter()
            .filter(|seen| seen.rpc() == "tools/call")
            .all(|seen| seen.header("mcp-session-id") == "s1")
    );
}

#[tokio::test]
async fn a_forgotten_session_is_made_anew_and_the_call_repeated_once() {
    let initialized = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&initialized);
    let script = HttpScript::start(move |seen: &Seen| {
        let session = match count.load(Ordering::SeqCst) {
            0 | 1 => "first",
            _ => "second",
        };
        if seen.rpc() == "initialize" {
            let session = if count.fetch_add(1, Ordering::SeqCst) == 0 { "first" } else { "second" };
            return legacy(session, echo)(seen);
        }
        // After the first call the server has restarted.
        if seen.rpc() == "tools/call"
            && seen.header("mcp-session-id") == "first"
            && seen.json["params"]["name"] == "second"
        {
            return Said::Text(404, "no such session");
        }
        legacy(session, echo)(seen)
    })
    .await;
    let rig = Rig::start(spec(http(&script.url)));
    assert_eq!(rig.tool("first").await.unwrap()["name"], "first");
    assert_eq!(rig.tool("second").await.unwrap()["name"], "second");
    assert_eq!(initialized.load(Ordering::SeqCst), 2);
    assert_eq!(script.count(|seen| seen.rpc() == "tools/call"), 3);
    rig.server.stop(Duration::ZERO).await;
    assert_eq!(
        script.count(|seen| seen.method == Method::DELETE && seen.header("mcp-session-id") == "second"),
        1
    );
}

#[tokio::test]
async fn a_stream_that_broke_is_taken_up_after_its_last_event() {
    let script = HttpScript::start(legacy("s", |seen| {
        if seen.method == Method::GET {
            // The id of the call is not known here; it is the second request after the greeting.
            let id: u64 = seen.header("last-event-id").strip_prefix("call-").unwrap().parse().unwrap();
            let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"resumed": true}});
            return Said::Events(vec![event(None, &answer)]);
        }
        // A priming event, then the server hangs up.
        Said::Events(vec![format!("id: call-{}\nretry: 10\ndata:\n\n", seen.json["id"])])
    }))
    .await;
    let rig = Rig::start(spec(http(&script.url)));
    assert_eq!(rig.tool("x").await.unwrap(), json!({"resumed": true}));
    assert_eq!(script.count(|seen| seen.rpc() == "tools/call"), 1, "the call must not be repeated");
}

#[tokio::test]
async fn a_stream_that_ends_without_answer_is_broken() {
    let script = HttpScript::start(modern(|_| Said::Events(vec!["id: 1\ndata:\n\n".to_owned()]))).await;
    let rig = Rig::start(spec(http(&script.url)));
    let broken = rig.tool("x").await.unwrap_err();
    assert!(matches!(broken, CallError::Broken { .. }), "{broken}");
    assert_eq!(script.count(|seen| seen.method == Method::GET), 0, "modern streams cannot be resumed");
}

#[tokio::test]
async fn leaving_a_call_is_told_as_the_era_wants() {
    let script = HttpScript::start(legacy("s", |_| Said::Open(vec![": here\n\n".to_owned()]))).await;
    let rig = Rig::start(spec(http(&script.url)));
    let mut slow = call("x", caller(1));
    slow.timeout = Some(Duration::from_millis(100));
    assert!(matches!(rig.call(slow.clone()).await, Err(CallError::Timeout { .. })));
    eventually("cancelled", || script.count(|seen| seen.rpc() == "notifications/cancelled") == 1).await;

    let (sender, receiver) = tokio::sync::mpsc::channel::<String>(1);
    let receiver = std::sync::Mutex::new(Some(receiver));
    let script =
        HttpScript::start(modern(move |_| Said::Live(receiver.lock().unwrap().take().unwrap()))).await;
    let rig = Rig::start(spec(http(&script.url)));
    assert!(matches!(rig.call(slow).await, Err(CallError::Timeout { .. })));
    // The server notices that the stream was closed.
    tokio::time::timeout(crate::rig::LONG, sender.closed()).await.expect("the stream stays open");
    assert_eq!(script.count(|seen| seen.rpc() == "notifications/cancelled"), 0);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_down_and_comes_back() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let mut rig = Rig::start(spec(http(&format!("http://{address}/mcp"))));
    let status = rig.until(State::Down).await;
    assert!(status.cause.unwrap().contains("cannot connect"));
    assert!(matches!(rig.tool("x").await, Err(CallError::Unavailable { state: State::Down, .. })));
    let listener = tokio::net::TcpListener::bind(address).await.unwrap();
    let script = HttpScript::serve(listener, modern(echo));
    rig.until(State::Ready).await;
    assert_eq!(rig.tool("x").await.unwrap()["name"], "x");
    drop(script);
    // It goes away again: the next call finds out, and nothing was sent.
    let gone = rig.tool("x").await.unwrap_err();
    assert!(matches!(gone, CallError::Unavailable { .. } | CallError::Broken { .. }), "{gone}");
}

#[tokio::test]
async fn a_session_refused_with_400_is_a_forgotten_one_too() {
    let calls = AtomicUsize::new(0);
    let script = HttpScript::start(move |seen: &Seen| match seen.rpc() {
        "tools/call" if calls.fetch_add(1, Ordering::SeqCst) == 0 => {
            Said::Text(400, "Bad Request: No valid session ID provided")
        }
        _ => legacy("s", echo)(seen),
    })
    .await;
    let rig = Rig::start(spec(http(&script.url)));
    assert_eq!(rig.tool("x").await.unwrap()["name"], "x");
    assert_eq!(script.count(|seen| seen.rpc() == "initialize"), 2);
}

#[tokio::test]
async fn a_server_whose_stream_fails_is_degraded_but_called() {
    let script = HttpScript::start(|seen: &Seen| match seen.method.as_str() {
        "GET" => Said::Text(500, "no stream today"),
        _ => legacy("s", echo)(seen),
    })
    .await;
    let mut rig = Rig::start(spec(http(&script.url)));
    let status = rig.until(State::Degraded).await;
    assert!(status.cause.unwrap().contains("no stream today"));
    assert_eq!(rig.tool("x").await.unwrap()["name"], "x");
}
