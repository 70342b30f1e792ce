//! A caller from whom a whole server is hidden finds its name nowhere, and hears nothing of it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use harness::http::Connection;
use harness::{Era, Gateway, Setup, Upstream, eventually};
use serde_json::{Value, json};

use super::caller;

const POLICY: &str = "policy: {rules: [{effect: hide, callers: [stranger], servers: [treasury]}]}\n";

fn start(treasury: &Upstream, counter: &Upstream, callers: &str) -> Gateway {
    let config = format!(
        "servers:\n  treasury: {{url: \"{}\"}}\n  counter: {{url: \"{}\"}}\n{callers}\n{POLICY}",
        treasury.url(),
        counter.url()
    );
    Setup::new().config(&config).start()
}

fn health(gateway: &Gateway, headers: &[(&str, &str)]) -> Value {
    let response = Connection::open(gateway.address()).exchange("GET", "/health", headers, b"");
    assert_eq!(response.head.status, 200);
    response.json()
}

#[test]
fn the_name_of_a_hidden_server_is_nowhere() {
    let treasury = Upstream::start(Era::Legacy, &["instructions=count the gold of the treasury"]);
    let counter = Upstream::start(Era::Legacy, &["instructions=be kind at the counter"]);
    let gateway = start(&treasury, &counter, "callers: {trust_client_id_header: true}");
    for (name, sees) in [("stranger", false), ("owner", true)] {
        let legacy = caller(&gateway, Era::Legacy, name);
        let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}});
        let mut headers = legacy.headers(&initialize);
        headers.retain(|(header, _)| !header.starts_with("mcp-"));
        let mut told = vec![legacy.post_raw(initialize.to_string().as_bytes(), &headers).text()];
        let modern = caller(&gateway, Era::Modern, name);
        told.push(modern.request("server/discover", &json!({})).raw);
        for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
            told.extend([&legacy, &modern].map(|client| client.request(method, &json!({})).raw));
        }
        let report = health(&gateway, &[("x-mcp-client-id", name)]);
        assert_eq!(report["status"], "ok", "{report}");
        told.push(report.to_string());
        assert!(told[0].contains("be kind at the counter") && told[1].contains("be kind at the counter"));
        let naming = told.iter().filter(|said| said.contains("treasury")).collect::<Vec<_>>();
        match sees {
            // Both greetings, both lists of tools, and the report at least.
            true => assert!(naming.len() >= 5, "{name}: {naming:?}"),
            false => assert!(naming.is_empty(), "{name}: {naming:?}"),
        }
    }
}

#[test]
fn those_whom_nobody_knows_get_a_word_on_health() {
    let (treasury, counter) = (Upstream::start(Era::Legacy, &[]), Upstream::start(Era::Legacy, &[]));
    let gateway = start(&treasury, &counter, "callers: {anonymous: deny}");
    let report = eventually("both servers are there", || {
        Some(health(&gateway, &[])).filter(|report| report["status"] == "ok")
    });
    assert_eq!(report, json!({"status": "ok", "servers_total": 2, "servers_well": 2}));
}

/// Has a server say something until it is heard on a stream. What was heard there before.
fn until_heard(stream: &mut Connection, mark: &str, say: impl Fn() + Sync) -> Vec<String> {
    let heard = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            eventually("it is heard", || {
                say();
                heard.load(Ordering::Relaxed).then_some(())
            });
        });
        let mut before = Vec::new();
        loop {
            let event = stream.event().unwrap().unwrap().data;
            if event.contains(mark) {
                heard.store(true, Ordering::Relaxed);
                return before;
            }
            before.push(event);
        }
    })
}

#[test]
fn nothing_is_heard_of_a_hidden_server() {
    let (treasury, counter) = (Upstream::start(Era::Legacy, &[]), Upstream::start(Era::Legacy, &[]));
    let gateway = start(&treasury, &counter, "callers: {trust_client_id_header: true}");
    let [owner, stranger] = ["owner", "stranger"].map(|name| caller(&gateway, Era::Legacy, name));
    let mut streams = [&owner, &stranger].map(|client| {
        client.request("logging/setLevel", &json!({"level": "debug"})).result();
        client.listen(None)
    });
    let log = |server: &Upstream, words: &str| {
        server.script().announce("notifications/message", &json!({"level": "error", "data": words}));
    };
    until_heard(&mut streams[0], "gold-is-short", || log(&treasury, "gold-is-short"));
    until_heard(&mut streams[0], "notifications/tools/list_changed", || {
        treasury.script().announce("notifications/tools/list_changed", &json!({}));
    });
    let done = json!({"elicitationId": "of-the-treasury"});
    until_heard(&mut streams[0], "of-the-treasury", || {
        treasury.script().announce("notifications/elicitation/complete", &done);
    });
    let heard = until_heard(&mut streams[1], "counter-is-open", || log(&counter, "counter-is-open"));
    assert_eq!(heard, Vec::<String>::new());
    streams.into_iter().for_each(Connection::close);
}
