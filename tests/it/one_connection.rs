//! Many requests over one connection: usual ones, which are served by hand, and all others, which hyper serves.

use harness::http::{Connection, Response};
use harness::{Client, Era, Gateway, Upstream};
use serde_json::{Value, json};

use crate::cells::scripted;

/// A gateway before a legacy server `s`, with a session.
struct Scene {
    gateway: Gateway,
    client: Client,
}

impl Scene {
    fn open() -> Scene {
        let gateway = Gateway::before("s", scripted(&["legacy"]));
        Scene { client: Client::legacy(&gateway), gateway }
    }

    fn connection(&self) -> Connection {
        Connection::open(self.gateway.address())
    }

    /// A request as it is written, with further lines in its head.
    fn request(&self, body: &str, lines: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nmcp-session-id: {}\r\n\
             content-length: {}\r\n{lines}\r\n{body}",
            self.gateway.address(),
            self.client.session(),
            body.len(),
        )
    }

    /// The same in chunks, which makes it an unusual one.
    fn request_in_chunks(&self, body: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\nmcp-session-id: {}\r\n\
             transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
            self.gateway.address(),
            self.client.session(),
            body.len(),
        )
    }
}

fn ping(id: u64) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string()
}

fn call(id: u64, tool: &str, params: Value) -> String {
    let mut params = params;
    params["name"] = json!(tool);
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

fn response(connection: &mut Connection) -> Response {
    let head = connection.head().expect("no response");
    Response { head, body: connection.rest().expect("the response broke off") }
}

#[test]
fn requests_that_come_together_are_answered_in_order() {
    let scene = Scene::open();
    let mut connection = scene.connection();
    let all: String = (1..=20).map(|id| scene.request(&ping(id), "")).collect();
    // The last one is cut where its head is not even complete.
    let (now, later) = all.split_at(all.len() - 60);
    connection.raw(now.as_bytes()).unwrap();
    for id in 1..=19 {
        assert_eq!(response(&mut connection).json()["id"], id);
    }
    connection.raw(later.as_bytes()).unwrap();
    assert_eq!(response(&mut connection).json()["id"], 20);
}

#[test]
fn a_request_may_come_byte_by_byte() {
    let scene = Scene::open();
    let mut connection = scene.connection();
    for byte in scene.request(&call(7, "s__echo", json!({"arguments": {"text": "é"}})), "").bytes() {
        connection.raw(&[byte]).unwrap();
    }
    let answer = response(&mut connection).json();
    assert_eq!(answer["result"]["content"][0]["text"], "é");
}

#[test]
fn usual_and_unusual_requests_share_a_connection() {
    let scene = Scene::open();
    let mut connection = scene.connection();
    connection.raw(scene.request(&ping(1), "connection: keep-alive\r\n").as_bytes()).unwrap();
    let by_hand = response(&mut connection);
    // Together with the next one, so that some of it has been read when it is handed over.
    let both = scene.request_in_chunks(&ping(1)) + &scene.request(&ping(3), "");
    connection.raw(both.as_bytes()).unwrap();
    let by_hyper = response(&mut connection);
    assert_eq!(response(&mut connection).json()["id"], 3);
    // Nobody can tell who answered.
    assert_eq!(by_hand.body, by_hyper.body);
    let told = |response: &Response| {
        let mut names: Vec<String> =
            response.head.header_names().iter().map(|name| name.to_ascii_lowercase()).collect();
        names.sort();
        (response.head.status, response.head.header("content-type").map(str::to_owned), names)
    };
    assert_eq!(told(&by_hand), told(&by_hyper));
    let health = connection.exchange("GET", "/health", &[], b"");
    assert_eq!(health.head.status, 200);
    connection.raw(scene.request(&ping(4), "").as_bytes()).unwrap();
    assert_eq!(response(&mut connection).json()["id"], 4);
}

#[test]
fn a_connection_is_usable_after_a_stream() {
    let scene = Scene::open();
    let mut connection = scene.connection();
    let progress = call(1, "s__progress", json!({"arguments": {}, "_meta": {"progressToken": "p"}}));
    for id in 2..4 {
        connection.raw(scene.request(&progress, "").as_bytes()).unwrap();
        let head = connection.head().unwrap();
        assert!(head.is_event_stream(), "{head:?}");
        let mut events = Vec::new();
        while let Some(event) = connection.event().unwrap() {
            events.push(serde_json::from_str::<Value>(&event.data).unwrap());
        }
        assert_eq!(events.first().unwrap()["params"]["progressToken"], "p");
        assert_eq!(events.last().unwrap()["id"], 1);
        connection.raw(scene.request(&ping(id), "").as_bytes()).unwrap();
        assert_eq!(response(&mut connection).json()["id"], id);
    }
}

#[test]
fn a_long_answer_and_a_long_request_pass_whole() {
    let scene = Scene::open();
    let mut connection = scene.connection();
    // Up to what is read by hand, and beyond.
    for length in [1, 1_000, 20_000, 60_000, 70_000, 1_000_000] {
        let text = "x".repeat(length);
        connection
            .raw(scene.request(&call(1, "s__echo", json!({"arguments": {"text": text}})), "").as_bytes())
            .unwrap();
        assert_eq!(response(&mut connection).json()["result"]["content"][0]["text"], text);
    }
}

#[test]
fn a_client_that_asks_ahead_and_leaves_ends_its_call() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let scene = Scene { client: Client::legacy(&gateway), gateway };
    let noted =
        |what: &str| upstream.script().seen().iter().filter(|message| message.get(what).is_some()).count();
    let mut connection = scene.connection();
    let both =
        scene.request(&call(1, "s__hold", json!({"arguments": {"n": 1}})), "") + &scene.request(&ping(2), "");
    connection.raw(both.as_bytes()).unwrap();
    harness::eventually("the call is there", || (noted("began") == 1).then_some(()));
    connection.close();
    harness::eventually("the call is cancelled", || (noted("cancelled") == 1).then_some(()));
}
