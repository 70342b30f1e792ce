//! Servers that belong to one client: `isolation: client`.

use std::fs;

use harness::http::Connection;
use harness::{Client, Era, Gateway, Setup, eventually, processes};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::cells::scripted;
use crate::governance::{DENIED, caller};

const THING: &str = "scene://thing/0000";
const MODERN_META: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// A configuration with one server that each client has for itself. Callers are who they say they are.
fn config(era: Era, record: &str, sections: &str) -> String {
    let command = scripted(&[era.word()]);
    let (program, word) = command.split_once(' ').unwrap();
    format!(
        "callers: {{trust_client_id_header: true}}\n\
         servers:\n  s: {{command: \"{program}\", args: [{word}], isolation: client, {record}}}\n{sections}"
    )
}

fn gateway(era: Era, record: &str) -> Gateway {
    Setup::new().config(&config(era, record, "")).start()
}

/// How many servers run. One is there for all: it lists what there is.
fn servers(gateway: &Gateway) -> usize {
    gateway.descendants().iter().filter(|process| process.command.contains("scripted_server")).count()
}

fn until_servers(gateway: &Gateway, expected: usize) {
    eventually(&format!("{expected} servers run"), || (servers(gateway) == expected).then_some(()));
}

/// What the server of this client has been told to say.
fn said(client: &Client) -> Vec<String> {
    let seen = client.call("s__seen", &json!({})).result()["structuredContent"]["seen"].clone();
    let texts = seen.as_array().unwrap().iter().map(|message| &message["params"]["arguments"]["text"]);
    texts.filter_map(Value::as_str).map(str::to_owned).collect()
}

fn say(client: &Client, text: &str) {
    assert_eq!(client.call("s__echo", &json!({"text": text})).text(), text);
}

#[test]
fn each_client_has_a_server_of_its_own_in_every_cell() {
    for server in Era::BOTH {
        for era in Era::BOTH {
            let gateway = gateway(server, "");
            let (anna, ben) = (caller(&gateway, era, "anna"), caller(&gateway, era, "ben"));
            say(&anna, "from anna");
            say(&ben, "from ben");
            assert_eq!(said(&anna), ["from anna"], "{server:?} {era:?}");
            assert_eq!(said(&ben), ["from ben"], "{server:?} {era:?}");
            assert_eq!(servers(&gateway), 3, "{server:?} {era:?}");
        }
    }
}

#[test]
fn a_session_is_one_client_and_so_is_a_caller_without_one() {
    let gateway = gateway(Era::Legacy, "");
    for (era, expected) in [(Era::Legacy, &["second"][..]), (Era::Modern, &["first", "second"])] {
        let (first, second) = (caller(&gateway, era, "anna"), caller(&gateway, era, "anna"));
        say(&first, "first");
        say(&second, "second");
        assert_eq!(said(&second), expected, "{era:?}");
    }
}

#[test]
fn the_end_of_a_session_ends_its_server_alone() {
    let gateway = gateway(Era::Legacy, "");
    let (leaving, staying) = (Client::legacy(&gateway), Client::legacy(&gateway));
    // Open streams and calls under way do not keep it.
    let _stream = leaving.listen(None);
    let _held = leaving.begin("tools/call", &json!({"name": "s__hold", "arguments": {}}));
    say(&staying, "here");
    until_servers(&gateway, 3);
    assert_eq!(leaving.end(), 204);
    until_servers(&gateway, 2);
    assert_eq!(said(&staying), ["here"]);
    assert_eq!(gateway.zombies(), []);
}

#[test]
fn the_end_of_an_event_stream_ends_its_server() {
    let gateway = gateway(Era::Legacy, "");
    let mut stream = Connection::open(gateway.address());
    stream.send("GET", "/mcp/sse", &[("accept", "text/event-stream")], b"").unwrap();
    stream.head().unwrap();
    let endpoint = stream.event().unwrap().unwrap().data;
    let client = json!({"name": "old", "version": "1"});
    for (id, method, params) in [
        (1, "initialize", json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": client})),
        (2, "tools/call", json!({"name": "s__echo", "arguments": {"text": "x"}})),
    ] {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        let headers = [("content-type", "application/json")];
        Connection::open(gateway.address()).exchange("POST", &endpoint, &headers, message.as_bytes());
        let answer: Value = serde_json::from_str(&stream.event().unwrap().unwrap().data).unwrap();
        assert!(answer.get("result").is_some(), "{answer}");
    }
    assert_eq!(servers(&gateway), 2);
    stream.close();
    until_servers(&gateway, 1);
}

#[test]
fn a_server_without_calls_is_stopped_and_starts_anew_with_the_next() {
    for era in Era::BOTH {
        let gateway = gateway(Era::Legacy, "idle_stop: 300ms");
        let client = caller(&gateway, era, "anna");
        say(&client, "before");
        until_servers(&gateway, 0);
        say(&client, "after");
        assert_eq!(said(&client), ["after"], "{era:?}");
    }
}

#[test]
fn a_crash_harms_its_own_client_alone() {
    for era in Era::BOTH {
        let gateway = gateway(Era::Legacy, "");
        let (anna, ben) = (caller(&gateway, era, "anna"), caller(&gateway, era, "ben"));
        say(&anna, "from anna");
        say(&ben, "from ben");
        let held = ben.begin("tools/call", &json!({"name": "s__hold", "arguments": {}}));
        assert!(anna.call("s__vanish", &json!({})).error().contains("status 7"));
        eventually("the client has a server again", || {
            anna.call("s__echo", &json!({"text": "again"})).answer.get("result").map(drop)
        });
        assert!(!said(&anna).contains(&"from anna".to_owned()), "it is a new one");
        ben.call("s__release", &json!({}));
        assert_eq!(held.finish().text(), "released", "{era:?}");
        assert_eq!(said(&ben), ["from ben"], "{era:?}");
    }
}

#[test]
fn a_call_that_is_refused_starts_no_server() {
    let policy = "policy: {default: allow, rules: [{effect: deny, callers: [anna], tools: [upset]}]}\n";
    let gateway = Setup::new().config(&config(Era::Legacy, "", policy)).start();
    let (anna, ben) = (caller(&gateway, Era::Legacy, "anna"), caller(&gateway, Era::Legacy, "ben"));
    assert_eq!(anna.call("s__upset", &json!({})).code(), DENIED);
    say(&ben, "x");
    assert_eq!(servers(&gateway), 2, "one that lists, and the one of ben");
}

#[test]
fn a_changed_record_gives_each_client_a_new_server() {
    let gateway = gateway(Era::Legacy, "env: {GENERATION: \"1\"}");
    let client = Client::legacy(&gateway);
    say(&client, "to the old one");
    let file = gateway.home().join("toolgate.yaml");
    fs::write(file, config(Era::Legacy, "env: {GENERATION: \"2\"}", "")).unwrap();
    processes::signal(gateway.id(), "HUP");
    eventually("the client has a new server", || said(&client).is_empty().then_some(()));
    until_servers(&gateway, 2);
}

#[test]
fn what_a_client_says_of_itself_reaches_its_own_server_alone() {
    let gateway = gateway(Era::Legacy, "");
    let (anna, ben) = (Client::legacy(&gateway), Client::legacy(&gateway));
    say(&ben, "x");
    anna.request("logging/setLevel", &json!({"level": "error"})).result();
    say(&anna, "x");
    ben.request("logging/setLevel", &json!({"level": "debug"})).result();
    anna.notify("notifications/roots/list_changed", &json!({}));
    let seen = |client: &Client, method: &str| {
        let seen = client.call("s__seen", &json!({})).result()["structuredContent"]["seen"].clone();
        let of_method = |message: &&Value| message["method"] == method;
        seen.as_array().unwrap().iter().filter(of_method).cloned().collect::<Vec<_>>()
    };
    for (client, level) in [(&anna, "error"), (&ben, "debug")] {
        let levels = eventually("the server hears of the level", || {
            Some(seen(client, "logging/setLevel")).filter(|levels| !levels.is_empty())
        });
        assert_eq!(levels.last().unwrap()["params"]["level"], level);
    }
    assert_eq!(seen(&anna, "notifications/roots/list_changed").len(), 1);
    assert_eq!(seen(&ben, "notifications/roots/list_changed").len(), 0);
}

#[test]
fn only_the_client_whose_server_it_was_hears_of_a_change() {
    let gateway = gateway(Era::Legacy, "");
    let (anna, ben) = (Client::legacy(&gateway), Client::legacy(&gateway));
    let mut streams = [anna.listen(None), ben.listen(None)];
    for client in [&anna, &ben] {
        client.request("resources/subscribe", &json!({"uri": THING})).result();
    }
    anna.call("s__touch", &json!({"uri": THING}));
    ben.call("s__touch", &json!({"uri": THING}));
    for stream in &mut streams {
        let event = stream.event().unwrap().expect("the stream goes on");
        let message: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!(message["method"], "notifications/resources/updated");
        assert_eq!(message["params"]["uri"], THING);
        assert_eq!(event.id.as_deref(), Some("1"), "it is the first thing that was said");
    }
    assert_eq!(ben.end(), 204);
    anna.call("s__touch", &json!({"uri": THING}));
    let event = streams[0].event().unwrap().expect("the stream goes on");
    assert_eq!(event.id.as_deref(), Some("2"), "the change at the other client's server was not heard");
}

#[test]
fn the_client_on_standard_input_has_its_own_too() {
    for meta in [None, Some(serde_json::from_str::<Value>(MODERN_META).unwrap())] {
        let mut client = Setup::new().config(&config(Era::Legacy, "", "")).start_stdio();
        let mut params = json!({"name": "s__echo", "arguments": {"text": "x"}});
        match meta {
            None => drop(client.initialize("2025-11-25", &json!({}))),
            Some(meta) => params["_meta"] = meta,
        }
        for _ in 0..2 {
            let answer = client.request("tools/call", &params);
            assert_eq!(answer["result"]["content"][0]["text"], "x", "{answer}");
        }
        assert_eq!(servers(&client.gateway), 2);
        client.close();
        assert!(client.gateway.wait().success());
        assert_eq!(client.gateway.descendants(), []);
    }
}

#[test]
fn it_can_put_things_in_order_when_the_gateway_ends() {
    let place = TempDir::new().unwrap();
    let order = place.path().join("order");
    let left = format!("{}; echo left >> {}", scripted(&[Era::Legacy.word()]), order.display());
    let record = json!({"command": "sh", "args": ["-c", left], "isolation": "client"});
    let setup = || Setup::new().config(&json!({"servers": {"s": record}}).to_string());
    // The client's own, and the one for all.
    let check_left = |times: usize| {
        let left = fs::read_to_string(&order).unwrap_or_default();
        assert_eq!(left.lines().count(), times);
    };

    let mut gateway = setup().start();
    say(&Client::legacy(&gateway), "over HTTP");
    assert!(gateway.stop().success());
    check_left(2);

    let mut client = setup().start_stdio();
    client.initialize("2025-11-25", &json!({}));
    client.request("tools/call", &json!({"name": "s__echo", "arguments": {"text": "on pipes"}}));
    client.close();
    assert!(client.gateway.wait().success());
    check_left(4);
}
