//! Who is let in: sessions, origins, hosts, media, paths.

use harness::http::Connection;
use harness::{Client, Era, Gateway, Setup, Upstream};
use serde_json::json;

use crate::cells::scripted;

/// The status of a request with these headers besides the usual ones.
fn status(gateway: &Gateway, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> u16 {
    Connection::open(gateway.address()).exchange(method, path, headers, body.as_bytes()).head.status
}

#[test]
fn unknown_and_forged_sessions_are_not_found() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let client = Client::legacy(&gateway);
    let other = Gateway::before("s", scripted(&["legacy"]));
    let foreign = Client::legacy(&other);
    let mut forged = client.session().to_owned().into_bytes();
    let last = forged.len() - 2;
    forged[last] = if forged[last] == b'A' { b'B' } else { b'A' };
    let forged = String::from_utf8(forged).unwrap();
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    for (session, expected) in [
        ("no-such-session", 404),
        (foreign.session(), 404),
        (&forged, 404),
        ("", 404),
        (client.session(), 200),
    ] {
        assert_eq!(
            status(&gateway, "POST", "/mcp", &[("mcp-session-id", session)], &ping),
            expected,
            "{session}"
        );
        let listen = [("mcp-session-id", session), ("accept", "text/event-stream")];
        let mut connection = Connection::open(gateway.address());
        connection.send("GET", "/mcp", &listen, b"").unwrap();
        assert_eq!(connection.head().unwrap().status, expected, "{session}");
    }
    assert_eq!(status(&gateway, "POST", "/mcp", &[], &ping), 400);
    assert_eq!(status(&gateway, "GET", "/mcp", &[], ""), 405);
}

#[test]
fn web_pages_of_others_are_kept_out() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let client = Client::legacy(&gateway);
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let check = |name: &str, value: &str, expected: u16| {
        let headers = [("mcp-session-id", client.session()), (name, value)];
        assert_eq!(status(&gateway, "POST", "/mcp", &headers, &ping), expected, "{name}: {value}");
    };
    check("origin", "http://localhost:3000", 200);
    check("origin", "http://127.0.0.1:1", 200);
    check("origin", "https://evil.example", 403);
    check("origin", "http://localhost.evil.example", 403);
    check("origin", "null", 403);
    check("host", "localhost:1234", 200);
    check("host", "evil.example", 403);
    check("host", "127.0.0.1.evil.example:80", 403);
    for why in ["'Origin: https://evil.example'", "'Host: evil.example'"] {
        gateway.log().until(why);
    }
}

#[test]
fn other_paths_methods_and_media_are_refused() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let check = |method: &str, path: &str, headers: &[(&str, &str)], expected: u16| {
        assert_eq!(status(&gateway, method, path, headers, "{}"), expected, "{method} {path} {headers:?}");
    };
    check("POST", "/elsewhere", &[], 404);
    check("PUT", "/mcp", &[], 405);
    check("POST", "/mcp", &[("content-type", "text/plain")], 415);
    check("POST", "/mcp", &[("accept", "text/html")], 406);
    check("POST", "/mcp/messages?sessionId=0", &[], 404);
    let health = Connection::open(gateway.address()).exchange("GET", "/health", &[], b"");
    assert_eq!(health.head.status, 200, "{}", health.text());
}

#[test]
fn the_old_way_over_two_endpoints_works() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let mut stream = Connection::open(gateway.address());
    stream.send("GET", "/mcp/sse", &[("accept", "text/event-stream")], b"").unwrap();
    assert_eq!(stream.head().unwrap().status, 200);
    let endpoint = stream.event().unwrap().unwrap();
    assert_eq!(endpoint.name.as_deref(), Some("endpoint"));
    let post =
        |body: &str| status(&gateway, "POST", &endpoint.data, &[("content-type", "application/json")], body);
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}});
    assert_eq!(
        post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).to_string()),
        202
    );
    let answer: serde_json::Value = serde_json::from_str(&stream.event().unwrap().unwrap().data).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], "2024-11-05");
    assert_eq!(post("{broken"), 400);
    let params = json!({"name": "s__progress", "arguments": {"steps": 3}, "_meta": {"progressToken": 1}});
    assert_eq!(
        post(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}).to_string()),
        202
    );
    for expected in 1..=3 {
        let progress: serde_json::Value =
            serde_json::from_str(&stream.event().unwrap().unwrap().data).unwrap();
        assert_eq!(progress["params"]["progress"], expected);
    }
    let answer: serde_json::Value = serde_json::from_str(&stream.event().unwrap().unwrap().data).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "done");
    stream.close();
    harness::eventually("the stream is forgotten", || (post("{}") == 404).then_some(()));
}

#[test]
fn pages_are_told_what_the_operator_says() {
    let rules = "listen:\n  cors:\n    allowed_origins: [https://app.example]\n    allowed_headers: [X-Page]\n    \
                 allowed_methods: [POST]\n    max_age: 10m\n";
    let setup = Setup::new().server("s", scripted(&["legacy"])).config(rules);
    let gateway = setup.start();
    let asked = |origin: &str| {
        Connection::open(gateway.address()).exchange("OPTIONS", "/mcp", &[("origin", origin)], b"").head
    };
    let told = asked("https://app.example");
    assert_eq!(told.status, 204);
    assert_eq!(told.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(told.header("access-control-allow-methods"), Some("POST"));
    assert_eq!(told.header("access-control-max-age"), Some("600"));
    let headers = told.header("access-control-allow-headers").unwrap();
    assert!(headers.contains("Mcp-Session-Id") && headers.ends_with(", X-Page"), "{headers}");
    assert_eq!(asked("https://other.example").status, 403);

    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "page", "version": "1"},
    }});
    let headers = [("origin", "https://app.example"), ("content-type", "application/json")];
    let begun =
        Connection::open(gateway.address()).exchange("POST", "/mcp", &headers, begin.to_string().as_bytes());
    assert_eq!(begun.head.header("access-control-allow-origin"), Some("https://app.example"));
    assert!(begun.head.header("access-control-expose-headers").unwrap().contains("Mcp-Session-Id"));

    let silent = Setup::new().server("s", scripted(&["legacy"])).set("listen.cors.enabled=false").start();
    let told = Connection::open(silent.address()).exchange(
        "OPTIONS",
        "/mcp",
        &[("origin", "http://localhost")],
        b"",
    );
    assert_eq!(told.head.header("access-control-allow-origin"), None);
}

#[test]
fn a_client_that_posts_and_does_not_read_is_stopped() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let yaml = format!("servers:\n  s:\n    url: {}\n    max_concurrency: 1000\n", upstream.url());
    let gateway = Setup::new().config(&yaml).start();
    let mut stream = Connection::open(gateway.address());
    stream.send("GET", "/mcp/sse", &[("accept", "text/event-stream")], b"").unwrap();
    assert_eq!(stream.head().unwrap().status, 200);
    let endpoint = stream.event().unwrap().unwrap();
    let post =
        |body: &str| status(&gateway, "POST", &endpoint.data, &[("content-type", "application/json")], body);
    let params = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}});
    post(&json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": params}).to_string());
    let held = |id: usize| {
        let params = json!({"name": "s__hold", "arguments": {}});
        post(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string())
    };
    let refused = (0..400).find(|id| held(*id) != 202);
    assert_eq!(refused, Some(256));
    // What may set calls free still gets through.
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 0}});
    assert_eq!(post(&cancelled.to_string()), 202);
    upstream.script().release();
    harness::eventually("there is room again", || (held(1000) == 202).then_some(()));
}

#[test]
fn a_call_under_way_is_answered_before_the_gateway_stops() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    let pending = client.begin("tools/call", &json!({"name": "s__hold", "arguments": {}}));
    harness::eventually("the call is there", || {
        upstream.script().seen().contains(&json!({"began": {}})).then_some(())
    });
    harness::processes::signal(gateway.id(), "TERM");
    gateway.log().until("stopping");
    upstream.script().release();
    assert_eq!(pending.finish().text(), "released");
    assert!(gateway.wait().success());
}
