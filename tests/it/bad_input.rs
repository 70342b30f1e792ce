//! What clients send that they should not: each gets a clear error, and everything goes on.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Mutex;

use harness::http::{Connection, Response};
use harness::{Client, Era, Gateway, Upstream, eventually, processes};
use serde_json::{Value, json};

use crate::cells::scripted;

/// A gateway with a client whose connection is used for everything.
struct Scene {
    gateway: Gateway,
    client: Client,
    connection: Mutex<Connection>,
}

impl Scene {
    fn open(era: Era) -> Scene {
        let gateway = Gateway::before("s", scripted(&["legacy"]));
        let client = Client::new(&gateway, era);
        let connection = Mutex::new(Connection::open(gateway.address()));
        Scene { gateway, client, connection }
    }

    fn post(&self, body: &[u8]) -> Response {
        self.post_with(body, &self.client.headers(&json!({"method": "tools/list"})))
    }

    fn post_with(&self, body: &[u8], headers: &[(&str, String)]) -> Response {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.connection.lock().unwrap().exchange("POST", "/mcp", &headers, body)
    }

    /// Posts and expects a refusal, after which the same connection is still good.
    fn refused(&self, body: &[u8], status: u16, code: i64) -> Response {
        let response = self.post(body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned();
        assert_eq!(response.head.status, status, "{shown}: {}", response.text());
        assert_eq!(response.json()["error"]["code"], json!(code), "{shown}: {}", response.text());
        assert!(response.json()["error"]["message"].as_str().is_some_and(|message| message.len() > 5));
        self.is_well();
        response
    }

    fn is_well(&self) {
        let params = self.client.params(&json!({"name": "s__echo", "arguments": {"text": "well"}}));
        let message = json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": params});
        let response = self.post_with(message.to_string().as_bytes(), &self.client.headers(&message));
        assert_eq!(response.json()["result"]["content"][0]["text"], "well", "{}", response.text());
    }
}

#[test]
fn what_is_no_json_is_a_parse_error() {
    let scene = Scene::open(Era::Legacy);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{}{}}}"#,
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let bodies: [&[u8]; 11] = [
        b"",
        b"{",
        b"nonsense",
        br#"{"jsonrpc":"2.0","id":1,"method":"ping""#,
        br#"{"jsonrpc":"2.0","id":1,"method":"pi"#,
        br#"{"jsonrpc":"2.0","id":1,"method":"ping"}}"#,
        br#"{"jsonrpc":"2.0","id":01,"method":"ping"}"#,
        br#"{'jsonrpc':'2.0'}"#,
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xff\xfe\"}",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\nb\"}",
        deep.as_bytes(),
    ];
    for body in bodies {
        scene.refused(body, 400, -32700);
    }
}

#[test]
fn what_is_no_message_is_an_invalid_request() {
    let scene = Scene::open(Era::Legacy);
    let bodies = [
        "1",
        "null",
        "\"ping\"",
        "{}",
        r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
        r#"{"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":7}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":null}"#,
        r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
    ];
    for body in bodies {
        scene.refused(body.as_bytes(), 400, -32600);
    }
}

#[test]
fn duplicate_keys_cannot_say_two_things() {
    let scene = Scene::open(Era::Legacy);
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"s__echo","name":"s__vanish"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"params":{"name":"s__echo"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","meth\u006fd":"tools/list"}"#,
    ] {
        scene.refused(body.as_bytes(), 400, -32600);
    }
}

#[test]
fn params_of_a_wrong_kind_are_told() {
    for era in Era::BOTH {
        let scene = Scene::open(era);
        let check = |method: &str, params: Value| {
            let exchange = scene.client.request(method, &params);
            assert_eq!(exchange.code(), -32602, "{method} {params}: {}", exchange.answer);
            scene.is_well();
        };
        check("tools/call", json!({}));
        check("tools/call", json!({"name": 7}));
        check("tools/call", json!({"name": null, "arguments": {}}));
        check("tools/call", json!({"name": "s__echo", "arguments": [1]}));
        check("tools/call", json!({"name": "s__echo", "arguments": "text"}));
        check("tools/call", json!({"name": "s__unheard_of", "arguments": {}}));
        check("tools/list", json!({"cursor": "forged"}));
        check("tools/list", json!({"cursor": 7}));
        check("prompts/get", json!({"name": []}));
        check("prompts/get", json!({"name": "unheard of"}));
        check("resources/read", json!({"uri": {}}));
    }
}

#[test]
fn unknown_methods_are_refused_and_not_passed_on() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        for method in
            ["tools/destroy", "", "rpc.discover", "notifications/initialized", "sampling/createMessage"]
        {
            let exchange = client.request(method, &json!({}));
            assert_eq!(exchange.code(), -32601, "{method}: {}", exchange.answer);
            assert_eq!(exchange.status, if era == Era::Modern { 404 } else { 200 });
        }
        let response = client.post(&json!({"jsonrpc": "2.0", "method": "notifications/unheard_of"}));
        assert_eq!(response.head.status, 202);
    }
    assert_eq!(
        upstream.script().count("tools/destroy") + upstream.script().count("notifications/unheard_of"),
        0
    );
}

#[test]
fn odd_ids_are_kept_or_refused() {
    let scene = Scene::open(Era::Legacy);
    let check = |id: &str, good: bool| {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
        let response = scene.post(body.as_bytes());
        if good {
            assert_eq!(response.text(), format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
        } else {
            assert_eq!(response.json()["error"]["code"], -32600, "{id}: {}", response.text());
        }
    };
    check("0", true);
    check("-9223372036854775809", true);
    check("123456789012345678901234567890", true);
    check("\"\"", true);
    check("\"\\ud83d\\ude00\"", true);
    check(&format!("\"{}\"", "x".repeat(10_000)), true);
    check("1.5", false);
    check("null", false);
    check("false", false);
    check("[]", false);
}

#[test]
fn batches_belong_to_one_revision() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "s__echo", "arguments": {"text": "b"}}},
        {"jsonrpc": "2.0", "id": 3},
    ]);
    let post =
        |client: &Client, body: &Value| client.post_raw(body.to_string().as_bytes(), &client.headers(body));
    let client = Client::dated(&gateway, "2025-03-26", json!({}));
    let answers = post(&client, &batch).json();
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "id": 1, "result": {}}));
    assert_eq!(answers[1]["result"]["content"][0]["text"], "b");
    assert_eq!(answers[2]["error"]["code"], -32600);
    assert_eq!(answers.as_array().unwrap().len(), 3);
    let only_notifications = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(post(&client, &only_notifications).head.status, 202);
    assert_eq!(post(&client, &json!([])).json()["error"]["code"], -32600);
    for version in ["2025-06-18", "2025-11-25"] {
        let client = Client::dated(&gateway, version, json!({}));
        let response = post(&client, &batch);
        assert_eq!(
            (response.head.status, response.json()["error"]["code"].as_i64()),
            (400, Some(-32600)),
            "{version}"
        );
    }
    let response = post(&Client::modern(&gateway), &batch);
    assert_eq!(response.head.status, 400);
}

#[test]
fn headers_must_say_what_the_body_says() {
    let scene = Scene::open(Era::Modern);
    let params = scene.client.params(&json!({"name": "s__echo", "arguments": {"text": "x"}}));
    let message = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": params});
    let right = scene.client.headers(&message);
    let check = |name: &str, value: Option<&str>| {
        let mut headers = right.clone();
        headers.retain(|(known, _)| *known != name);
        if let Some(value) = value {
            let name = right.iter().find(|(known, _)| *known == name).unwrap().0;
            headers.push((name, value.to_owned()));
        }
        let response = scene.post_with(message.to_string().as_bytes(), &headers);
        assert_eq!(response.head.status, 400, "{name} {value:?}: {}", response.text());
        assert_eq!(response.json()["error"]["code"], -32020, "{name} {value:?}: {}", response.text());
        assert_eq!(response.json()["id"], 5);
        scene.is_well();
    };
    check("mcp-method", Some("tools/list"));
    check("mcp-method", None);
    check("mcp-name", Some("s__vanish"));
    check("mcp-name", None);
    check("mcp-protocol-version", Some("2025-11-25"));
    check("mcp-protocol-version", None);
    let mut named = right.clone();
    named.retain(|(known, _)| *known != "mcp-name");
    named.push(("mcp-name", "=?base64?c19fZWNobw==?=".to_owned()));
    let response = scene.post_with(message.to_string().as_bytes(), &named);
    assert_eq!(response.json()["result"]["content"][0]["text"], "x", "{}", response.text());
}

#[test]
fn a_body_of_100_mb_is_refused_without_being_kept() {
    let scene = Scene::open(Era::Legacy);
    let idle = processes::resident_kilobytes(scene.gateway.id());
    let whole = 100 * 1024 * 1024;
    let piece = vec![b'x'; 1024 * 1024];
    let session = scene.client.session();
    for chunked in [false, true] {
        let mut connection = Connection::open(scene.gateway.address());
        let framing = if chunked {
            "transfer-encoding: chunked".to_owned()
        } else {
            format!("content-length: {whole}")
        };
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nmcp-session-id: {session}\r\n{framing}\r\n\r\n",
            scene.gateway.address()
        );
        connection.raw(head.as_bytes()).unwrap();
        for _ in 0..100 {
            if chunked {
                connection.raw(format!("{:x}\r\n", piece.len()).as_bytes()).unwrap();
            }
            connection.raw(&piece).unwrap();
            if chunked {
                connection.raw(b"\r\n").unwrap();
            }
        }
        if chunked {
            connection.raw(b"0\r\n\r\n").unwrap();
        }
        let head = connection.head().unwrap();
        assert_eq!(head.status, 413);
        let body = String::from_utf8(connection.rest().unwrap()).unwrap();
        assert!(body.contains("larger than"), "{body}");
    }
    let most = processes::peak_kilobytes(scene.gateway.id());
    assert!(most < idle + 80 * 1024, "{idle} kB idle, {most} kB at most");
    scene.is_well();
}

#[test]
fn a_slow_body_holds_up_nobody() {
    let scene = Scene::open(Era::Legacy);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nmcp-session-id: {}\r\ncontent-length: {}\r\n\r\n",
        scene.gateway.address(),
        scene.client.session(),
        message.len()
    );
    let mut slow: Vec<_> = (0..50).map(|_| Connection::open(scene.gateway.address())).collect();
    for connection in &mut slow {
        connection.raw(head.as_bytes()).unwrap();
    }
    for byte in message.as_bytes() {
        for connection in &mut slow {
            connection.raw(&[*byte]).unwrap();
        }
        scene.is_well();
    }
    for connection in &mut slow {
        assert_eq!(connection.head().unwrap().status, 200);
    }
}

#[test]
fn bodies_that_break_off_are_forgotten() {
    let scene = Scene::open(Era::Legacy);
    let before = processes::open_files(scene.gateway.id());
    for _ in 0..50 {
        let mut stream = TcpStream::connect(scene.gateway.address()).unwrap();
        let host = scene.gateway.address();
        stream
            .write_all(
                format!("POST /mcp HTTP/1.1\r\nhost: {host}\r\ncontent-length: 1000\r\n\r\n{{\"json")
                    .as_bytes(),
            )
            .unwrap();
    }
    eventually("their connections are closed", || {
        (processes::open_files(scene.gateway.id()) <= before + 2).then_some(())
    });
    scene.is_well();
}

#[test]
fn clients_that_leave_during_calls_leave_nothing() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    let pending: Vec<_> = (0..20)
        .map(|number| client.begin("tools/call", &json!({"name": "s__hold", "arguments": {"n": number}})))
        .collect();
    let noted =
        |what: &str| upstream.script().seen().iter().filter(|message| message.get(what).is_some()).count();
    eventually("all calls are there", || (noted("began") == 20).then_some(()));
    for one in pending {
        one.leave();
    }
    eventually("all calls are cancelled", || (noted("cancelled") == 20).then_some(()));
    assert_eq!(client.call("s__echo", &json!({"text": "on"})).text(), "on");
}

#[test]
fn what_is_no_http_is_cut_off() {
    let scene = Scene::open(Era::Legacy);
    for garbage in
        [&b"\x16\x03\x01\x02\x00\x01\x00"[..], b"GET\r\n\r\n", b"POST /mcp HTTP/9.9\r\n\r\n", &[0; 4096]]
    {
        let mut connection = Connection::open(scene.gateway.address());
        // It may be cut off while it is still talking.
        let _ = connection.raw(garbage);
        let _ = connection.raw(b"\r\n\r\n");
        assert!(connection.head().map_or(true, |head| head.status == 400), "{garbage:?}");
        scene.is_well();
    }
}
