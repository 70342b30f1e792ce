//! The gateway on its own standard input and output, as a desktop program starts it.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Era, Setup, StdioClient, Upstream, eventually, processes};
use serde_json::{Value, json};

use crate::cells::scripted;

const MODERN_META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn legacy(upstream: &Upstream) -> StdioClient {
    let mut client = Setup::new().server("s", upstream.url()).start_stdio();
    client.initialize("2025-11-25", &json!({"elicitation": {}}));
    client
}

/// The same with a server that takes more calls at a time than the front does.
fn legacy_with_room(upstream: &Upstream) -> StdioClient {
    let yaml = format!("servers:\n  s:\n    url: {}\n    max_concurrency: 2000\n", upstream.url());
    let mut client = Setup::new().config(&yaml).start_stdio();
    client.initialize("2025-11-25", &json!({}));
    client
}

#[test]
fn both_eras_are_served() {
    for era in Era::BOTH {
        let mut client = Setup::new().server("s", scripted(&[era.word()])).start_stdio();
        let greeting = client.initialize("2025-11-25", &json!({}));
        assert_eq!(greeting["result"]["protocolVersion"], "2025-11-25");
        let answer = client.request("tools/call", &json!({"name": "s__echo", "arguments": {"text": "old"}}));
        assert_eq!(answer["result"]["content"][0]["text"], "old", "{era:?}");
        let mut client = Setup::new().server("s", scripted(&[era.word()])).start_stdio();
        let meta: Value = serde_json::from_str(MODERN_META).unwrap();
        let answer = client
            .request("tools/call", &json!({"name": "s__echo", "arguments": {"text": "new"}, "_meta": meta}));
        assert_eq!(answer["result"]["content"][0]["text"], "new", "{era:?}: {answer}");
        assert_eq!(answer["result"]["resultType"], "complete");
    }
}

#[test]
fn a_question_and_its_reply_share_the_pipe() {
    let upstream = Upstream::start(Era::Modern, &[]);
    let mut client = legacy(&upstream);
    let questions = json!([{"method": "elicitation/create", "params": {"message": "who?"}}]);
    let id = client.ask("tools/call", &json!({"name": "s__ask", "arguments": {"questions": questions}}));
    let question = client.until(|message| message["method"] == "elicitation/create");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}));
    let answer = client.until(|message| message["id"] == json!(id) && message.get("method").is_none());
    assert_eq!(answer["result"]["structuredContent"]["replies"], json!([{"action": "decline"}]));
}

#[test]
fn lines_in_pieces_and_broken_lines() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut client = legacy(&upstream);
    let message = format!("{}\r\n", json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    for piece in message.as_bytes().chunks(7) {
        client.raw(piece).unwrap();
    }
    assert_eq!(client.until(|message| message["id"] == "p")["result"], json!({}));
    let two = format!("{0}\n\n  \n{0}\n", json!({"jsonrpc": "2.0", "id": "two", "method": "ping"}));
    client.raw(two.as_bytes()).unwrap();
    for _ in 0..2 {
        assert_eq!(client.until(|message| message["id"] == "two")["result"], json!({}));
    }
    for (line, code) in [
        (&b"{broken\n"[..], -32700),
        (b"\xff\xfe\n", -32700),
        (b"[]\n", -32600),
        (b"{\"jsonrpc\":\"2.0\"}\n", -32600),
    ] {
        client.raw(line).unwrap();
        let answer = client.until(|message| message.get("error").is_some());
        assert_eq!(answer["error"]["code"], code, "{line:?}");
    }
    assert_eq!(client.request("ping", &json!({}))["result"], json!({}));
}

#[test]
fn nothing_is_said_before_the_client_has_introduced_itself() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut client = Setup::new().server("s", upstream.url()).start_stdio();
    client.gateway.log().until("\"state\":\"ready\"");
    let id = client.ask(
        "initialize",
        &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
    );
    assert_eq!(client.next().unwrap()["id"], json!(id));
}

#[test]
fn a_modern_client_hears_nothing_that_it_did_not_ask_for() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut client = Setup::new().server("s", upstream.url()).start_stdio();
    let meta: Value = serde_json::from_str(MODERN_META).unwrap();
    for tool in ["add-tool", "echo", "add-tool", "echo"] {
        let fetched = upstream.script().count("tools/list");
        let id =
            client.ask("tools/call", &json!({"name": format!("s__{tool}"), "arguments": {}, "_meta": meta}));
        assert_eq!(client.next().unwrap()["id"], json!(id), "{tool}");
        if tool == "add-tool" {
            eventually("the new list is fetched", || {
                (upstream.script().count("tools/list") > fetched).then_some(())
            });
        }
    }
}

#[test]
fn batches_belong_to_one_revision_here_too() {
    for (version, takes_them) in [("2025-03-26", true), ("2025-06-18", false)] {
        let mut client = Setup::new().start_stdio();
        client.initialize(version, &json!({}));
        let batch = json!([{"jsonrpc": "2.0", "id": 5, "method": "ping"}, {"jsonrpc": "2.0", "id": 6, "method": "ping"}]);
        client.send(&batch);
        let answer = client.next().unwrap();
        if takes_them {
            assert_eq!(answer.as_array().map(Vec::len), Some(2), "{answer}");
        } else {
            assert_eq!(answer["error"]["code"], -32600, "{answer}");
        }
    }
}

#[test]
fn the_end_of_input_ends_it_after_what_is_under_way() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut client = legacy(&upstream);
    let held = client.ask("tools/call", &json!({"name": "s__hold", "arguments": {}}));
    let ids: Vec<_> = (0..50)
        .map(|_| client.ask("tools/call", &json!({"name": "s__echo", "arguments": {"text": "x"}})))
        .collect();
    eventually("the call is there", || {
        upstream.script().seen().contains(&json!({"began": {}})).then_some(())
    });
    client.close();
    upstream.script().release();
    let mut answered = Vec::new();
    for message in client.by_ref() {
        answered.extend(message["id"].as_u64().filter(|_| message.get("result").is_some()));
    }
    answered.sort_unstable();
    let mut expected = vec![held];
    expected.extend(ids);
    assert_eq!(answered, expected);
    assert!(client.gateway.wait().success());
}

#[test]
fn a_call_that_does_not_end_does_not_keep_it() {
    for by_signal in [false, true] {
        let upstream = Upstream::start(Era::Legacy, &[]);
        let mut client = legacy(&upstream);
        client.ask("tools/call", &json!({"name": "s__hold", "arguments": {}}));
        eventually("the call is there", || {
            upstream.script().seen().contains(&json!({"began": {}})).then_some(())
        });
        let begun = Instant::now();
        if by_signal {
            processes::signal(client.gateway.id(), "TERM");
        } else {
            client.close();
        }
        assert!(client.gateway.wait().success());
        assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    }
}

#[test]
fn a_server_that_does_not_leave_does_not_keep_it_either() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("stubborn.sh");
    // It ends neither with its input nor when it is asked to.
    std::fs::write(&script, format!("trap '' TERM\n{}\nsleep 60\n", scripted(&["legacy"]))).unwrap();
    let mut client = Setup::new().server("s", format!("sh {}", script.display())).start_stdio();
    client.initialize("2025-11-25", &json!({}));
    client.request("tools/call", &json!({"name": "s__echo", "arguments": {"text": "x"}}));
    client.ask("tools/call", &json!({"name": "s__nothing", "arguments": {}}));
    let begun = Instant::now();
    client.close();
    assert!(client.gateway.wait().success());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_batch_does_not_hold_up_what_it_waits_for() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut client = Setup::new().server("s", upstream.url()).start_stdio();
    client.initialize("2025-03-26", &json!({"roots": {}}));
    let params =
        json!({"name": "s__ask", "arguments": {"questions": [{"method": "roots/list", "params": {}}]}});
    client.send(&json!([{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}]));
    let question = client.until(|message| message["method"] == "roots/list");
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"roots": []}}));
    let answers = client.until(Value::is_array);
    assert_eq!(answers[0]["result"]["structuredContent"]["replies"], json!([{"roots": []}]), "{answers}");

    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    for batch in [json!([]), Value::Array(vec![ping; 101])] {
        client.send(&batch);
        let answer = client.until(|message| message.get("error").is_some());
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
    }

    let params = json!({"name": "s__hold", "arguments": {}});
    client.send(&json!([{"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": params}]));
    eventually("the call is there", || {
        upstream.script().seen().contains(&json!({"began": {}})).then_some(())
    });
    let begun = Instant::now();
    client.close();
    assert!(client.gateway.wait().success());
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn many_requests_under_way_do_not_stop_the_reading() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut client = legacy_with_room(&upstream);
    for _ in 0..300 {
        client.ask("tools/call", &json!({"name": "s__nothing", "arguments": {}}));
    }
    let call = client.request("tools/call", &json!({"name": "s__echo", "arguments": {"text": "on"}}));
    assert_eq!(call["result"]["content"][0]["text"], "on");
}

#[test]
fn beyond_a_thousand_requests_under_way_further_ones_are_refused_until_one_ends() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut client = legacy_with_room(&upstream);
    let nothing = json!({"name": "s__nothing", "arguments": {}});
    let first = client.ask("tools/call", &nothing);
    for _ in 1..1024 {
        client.ask("tools/call", &nothing);
    }
    let refused = client.request("ping", &json!({}));
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert_eq!(refused["error"]["data"]["retryable"], true, "{refused}");
    let cancelled = json!({"requestId": first});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}));
    eventually("there is room again", || {
        let answer = client.request("ping", &json!({}));
        (answer["result"] == json!({})).then_some(())
    });
}

#[test]
fn a_client_that_has_stopped_reading_does_not_keep_it() {
    let (mut gateway, mut input, _unread) =
        Setup::new().server("s", scripted(&[Era::Legacy.word()])).start_on_pipes();
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&sent);
    let sending = thread::spawn(move || {
        for id in 0..20_000 {
            let ping = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
            if input.write_all(ping.as_bytes()).is_err() {
                return;
            }
            counted.store(id, Ordering::Relaxed);
        }
    });
    let mut before = 0;
    eventually("it takes no more", || {
        let now = sent.load(Ordering::Relaxed);
        // More than can be under way.
        (now > 2048 && now == std::mem::replace(&mut before, now)).then_some(())
    });
    assert!(gateway.stop().success());
    sending.join().unwrap();
}
