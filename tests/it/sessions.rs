//! What a client keeps between its requests: its session, its streams, what it wants to hear.

use harness::http::Connection;
use harness::{Client, Era, Gateway, Setup, Upstream};
use serde_json::{Value, json};

use crate::cells::scripted;

const THING: &str = "scene://thing/0000";

/// The next message on a stream that has this method, and the id of its event.
fn heard(stream: &mut Connection, method: &str) -> (Value, String) {
    loop {
        let event = stream.event().unwrap().unwrap_or_else(|| panic!("the stream ended before '{method}'"));
        let message: Value = serde_json::from_str(&event.data).unwrap();
        if message["method"] == method {
            return (message, event.id.unwrap_or_default());
        }
    }
}

#[test]
fn a_session_outlives_the_gateway() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let client = Client::able(&gateway, Era::Legacy, json!({"elicitation": {}}));
    let gateway = gateway.succeed().server("s", scripted(&["legacy"])).start();
    let client = Client::continuing(&gateway, &client);
    assert_eq!(client.call("s__echo", &json!({"text": "again"})).text(), "again");
    let question = json!({"method": "elicitation/create", "params": {"message": "still able?"}});
    let reply = |_: &str, _: &Value| json!({"action": "decline"});
    let exchange = client.call_answering("s__ask", &json!({"questions": [question]}), reply);
    assert_eq!(exchange.result()["structuredContent"]["replies"], json!([{"action": "decline"}]));
}

#[test]
fn a_killed_gateway_forgets_no_session_either() {
    let mut gateway = Gateway::before("s", scripted(&["legacy"]));
    let client = Client::legacy(&gateway);
    gateway.kill();
    let gateway = gateway.succeed().server("s", scripted(&["legacy"])).start();
    assert_eq!(
        Client::continuing(&gateway, &client).call("s__echo", &json!({"text": "again"})).text(),
        "again"
    );
}

#[test]
fn a_session_that_was_ended_is_over() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let (client, other) = (Client::legacy(&gateway), Client::legacy(&gateway));
    assert_eq!(client.end(), 204);
    assert_eq!(client.end(), 404);
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(client.post(&message).head.status, 404);
    assert_eq!(other.post(&message).head.status, 200);
}

#[test]
fn calls_of_a_session_end_with_it() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    let noted = |what: &str| {
        harness::eventually(what, || {
            upstream.script().seen().iter().any(|message| message.get(what).is_some()).then_some(())
        });
    };
    let _pending = client.begin("tools/call", &json!({"name": "s__hold", "arguments": {}}));
    noted("began");
    client.end();
    noted("cancelled");
}

#[test]
fn the_stream_of_a_session_tells_what_changes() {
    for era in Era::BOTH {
        let gateway = Gateway::before("s", scripted(&[era.word()]));
        let client = Client::legacy(&gateway);
        let mut stream = client.listen(None);
        client.request("resources/subscribe", &json!({"uri": THING})).result();
        client.call("s__add-tool", &json!({"name": "fresh"}));
        heard(&mut stream, "notifications/tools/list_changed");
        until_watched(&client);
        client.call("s__touch", &json!({"uri": THING}));
        let (updated, _) = heard(&mut stream, "notifications/resources/updated");
        assert_eq!(updated["params"]["uri"], THING, "{era:?}");
    }
}

/// Waits until the server knows that the thing is watched: it is told beside the request that asks for it.
fn until_watched(client: &Client) {
    harness::eventually("the server hears of the subscription", || {
        let seen = client.call("s__seen", &json!({})).result()["structuredContent"]["seen"].clone();
        let asks = |message: &&Value| {
            matches!(message["method"].as_str(), Some("resources/subscribe" | "subscriptions/listen"))
        };
        seen.as_array()?.iter().filter(asks).any(|message| message.to_string().contains(THING)).then_some(())
    });
}

#[test]
fn a_stream_goes_on_where_it_broke() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let client = Client::legacy(&gateway);
    let mut stream = client.listen(None);
    client.call("s__add-tool", &json!({"name": "one"}));
    let (_, last) = heard(&mut stream, "notifications/tools/list_changed");
    stream.close();
    client.call("s__add-tool", &json!({"name": "two"}));
    let mut stream = client.listen(Some(&last));
    let (_, next) = heard(&mut stream, "notifications/tools/list_changed");
    let number = |id: &str| id.parse::<u64>().unwrap();
    assert!(number(&next) > number(&last), "{next} after {last}");
}

#[test]
fn only_who_subscribed_hears_of_a_resource() {
    let upstream = Upstream::start(Era::Legacy, &["resources=2"]);
    let gateway = Gateway::before("s", upstream.url());
    let (one, two) = (Client::legacy(&gateway), Client::legacy(&gateway));
    let (mut first, mut second) = (one.listen(None), two.listen(None));
    for (client, uri) in [(&one, THING), (&two, "scene://thing/0001")] {
        client.request("resources/subscribe", &json!({"uri": uri})).result();
    }
    harness::eventually("both subscriptions", || {
        (upstream.script().count("resources/subscribe") == 2 && upstream.script().is_heard()).then_some(())
    });
    for uri in [THING, "scene://thing/0001"] {
        upstream.script().announce("notifications/resources/updated", &json!({"uri": uri}));
    }
    assert_eq!(heard(&mut first, "notifications/resources/updated").0["params"]["uri"], THING);
    assert_eq!(
        heard(&mut second, "notifications/resources/updated").0["params"]["uri"],
        "scene://thing/0001"
    );
    one.request("resources/unsubscribe", &json!({"uri": THING})).result();
    harness::eventually("the end of one", || {
        (upstream.script().count("resources/unsubscribe") == 1).then_some(())
    });
}

#[test]
fn a_modern_client_listens_to_what_it_asks_for() {
    for era in Era::BOTH {
        let upstream = Upstream::start(era, &[]);
        let gateway = Gateway::before("s", upstream.url());
        let client = Client::modern(&gateway);
        let wanted = json!({"toolsListChanged": true, "resourceSubscriptions": [THING]});
        let mut listening = client.begin("subscriptions/listen", &json!({"notifications": wanted}));
        let acknowledged = listening.next().unwrap();
        assert_eq!(acknowledged["method"], "notifications/subscriptions/acknowledged", "{era:?}");
        assert_eq!(acknowledged["params"]["notifications"], wanted, "{era:?}");
        let id = json!(listening.id);
        assert_eq!(acknowledged["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
        client.call("s__add-tool", &json!({}));
        let changed = listening.next().unwrap();
        assert_eq!(changed["method"], "notifications/tools/list_changed", "{era:?}");
        assert_eq!(changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
        until_watched(&client);
        client.call("s__touch", &json!({"uri": THING}));
        let updated =
            listening.find(|message| message["method"] == "notifications/resources/updated").unwrap();
        assert_eq!(updated["params"]["uri"], THING, "{era:?}: {updated}");
    }
}

#[test]
fn what_a_client_says_of_itself_does_not_make_its_session_long() {
    let gateway = Gateway::before("s", scripted(&["legacy"]));
    let begin = |capabilities: Value, icon: usize| {
        let info = json!({"name": "scene", "title": "Scene", "version": "1",
                          "icons": [{"src": format!("data:image/png;base64,{}", "A".repeat(icon))}]});
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": info});
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let headers =
            [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        Connection::open(gateway.address()).exchange("POST", "/mcp", &headers, message.to_string().as_bytes())
    };
    let greeted = begin(json!({"elicitation": {}}), 200_000);
    assert_eq!(greeted.head.status, 200, "{}", greeted.text());
    let session = greeted.head.header("mcp-session-id").unwrap();
    assert!(session.len() < 1000, "{} bytes", session.len());

    let refused = begin(json!({"experimental": {"x": "y".repeat(100_000)}}), 10);
    assert_eq!(refused.json()["error"]["code"], -32602, "{}", refused.text());
    assert!(refused.text().contains("capabilities"), "{}", refused.text());
}

#[test]
fn gateways_with_the_same_key_serve_each_others_sessions() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let mut one = Gateway::before("s", upstream.url());
    // The key is in the state folder.
    let other = Setup::new().after(&one).server("s", upstream.url()).start();
    let client = Client::legacy(&one);
    for gateway in [&one, &other, &one] {
        let client = Client::continuing(gateway, &client);
        assert_eq!(client.call("s__echo", &json!({"text": "here"})).text(), "here");
    }
    // Each would be taken for what the other one left behind.
    one.kill();
}

#[test]
fn gateways_with_the_same_key_in_their_files_do_so_too() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = |key: &str| {
        let setup = Setup::new().config("listen:\n  session_key: ${ENV:KEY}\n").variable("KEY", key);
        setup.server("s", upstream.url()).start()
    };
    let (one, other) = (gateway(&"k".repeat(32)), gateway(&"k".repeat(32)));
    let stranger = gateway(&"s".repeat(32));
    let client = Client::legacy(&one);
    let there = Client::continuing(&other, &client);
    assert_eq!(there.call("s__echo", &json!({"text": "here"})).text(), "here");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    assert_eq!(Client::continuing(&stranger, &client).post(&message).head.status, 404);
}
