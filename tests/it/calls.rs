//! Calls in every cell: what comes back, what comes before it, and what happens when the client leaves.

use harness::scripted::VERBATIM;
use harness::{Client, Era, eventually};
use serde_json::{Value, json};

use crate::cells::{Cell, Wire, in_every_cell};

#[test]
fn results_pass_byte_for_byte() {
    in_every_cell(|cell| {
        let raw = cell.client.call("s__verbatim", &json!({})).raw;
        let members = VERBATIM.strip_prefix('{').unwrap().strip_suffix('}').unwrap();
        assert!(raw.contains(members), "{}: {raw}", cell.name);
    });
}

#[test]
fn arguments_pass_as_they_are() {
    in_every_cell(|cell| {
        let arguments = json!({"text": "é\u{1f600}\\\"\n", "z": 0.7, "a": {"tools": [null, -0.0]}});
        assert_eq!(cell.client.call("s__echo", &arguments).text(), "é\u{1f600}\\\"\n", "{}", cell.name);
        let call = cell.seen().into_iter().find(|message| message["params"]["name"] == "echo").unwrap();
        assert_eq!(call["params"]["arguments"].to_string(), arguments.to_string(), "{}", cell.name);
    });
}

#[test]
fn errors_of_a_tool_keep_their_code_and_words() {
    in_every_cell(|cell| {
        let exchange = cell.client.call("s__upset", &json!({}));
        assert_eq!((exchange.code(), exchange.error()), (-32055, "this tool is upset"), "{}", cell.name);
    });
}

#[test]
fn everything_else_that_servers_have_passes() {
    in_every_cell(|cell| {
        let ask = |method: &str, params: &Value| cell.client.request(method, params).result().clone();
        let read = ask("resources/read", &json!({"uri": "scene://thing/0000"}));
        assert_eq!(read["contents"][0]["text"], "read by scripted", "{}", cell.name);
        let read = ask("resources/read", &json!({"uri": "scene://template/x"}));
        assert_eq!(read["contents"][0]["uri"], "scene://template/x", "{}", cell.name);
        let prompt = ask("prompts/get", &json!({"name": "s__greet", "arguments": {"whom": "you"}}));
        assert_eq!(prompt["messages"][0]["content"]["text"], "hello you", "{}", cell.name);
        let reference = json!({"type": "ref/prompt", "name": "s__greet"});
        let complete = ask(
            "completion/complete",
            &json!({"ref": reference, "argument": {"name": "whom", "value": "yo"}}),
        );
        assert_eq!(complete["completion"]["values"], json!(["yo"]), "{}", cell.name);
    });
}

#[test]
fn progress_comes_in_order_and_before_the_answer() {
    in_every_cell(|cell| {
        for token in [json!("a token"), json!(7)] {
            let params =
                json!({"name": "s__progress", "arguments": {"steps": 20}, "_meta": {"progressToken": token}});
            let exchange = cell.client.request("tools/call", &params);
            let steps: Vec<_> =
                exchange.before.iter().map(|message| message["params"]["progress"].clone()).collect();
            assert_eq!(json!(steps), json!((1..=20).collect::<Vec<_>>()), "{}", cell.name);
            for message in &exchange.before {
                assert_eq!(message["params"]["progressToken"], token, "{}", cell.name);
            }
            assert_eq!(exchange.text(), "done", "{}", cell.name);
        }
    });
}

#[test]
fn logs_come_to_those_who_want_them() {
    in_every_cell(|cell| {
        let levels = |params: &Value| {
            let exchange = cell.client.request("tools/call", params);
            let levels = exchange.before.iter().map(|message| message["params"]["level"].clone());
            json!(levels.collect::<Vec<_>>())
        };
        let mut params = json!({"name": "s__log", "arguments": {}});
        match cell.client.era() {
            Era::Modern => {
                assert_eq!(levels(&params), json!([]), "{}", cell.name);
                params["_meta"] = json!({"io.modelcontextprotocol/logLevel": "info"});
            }
            Era::Legacy => {
                cell.client.request("logging/setLevel", &json!({"level": "info"})).result();
            }
        }
        assert_eq!(levels(&params), json!(["info", "error"]), "{}", cell.name);
    });
}

#[test]
fn a_call_is_cancelled_at_the_server_when_its_client_cancels() {
    in_every_cell(|cell| {
        let pending = cell.client.begin("tools/call", &json!({"name": "s__hold", "arguments": {"which": 1}}));
        until_seen(cell, &json!({"began": {"which": 1}}));
        match cell.client.era() {
            Era::Legacy => {
                cell.client.notify("notifications/cancelled", &json!({"requestId": pending.id}));
            }
            Era::Modern => pending.leave(),
        }
        until_seen(cell, &json!({"cancelled": {"which": 1}}));
        assert_eq!(cell.client.call("s__echo", &json!({"text": "still here"})).text(), "still here");
    });
}

#[test]
fn calls_run_side_by_side() {
    in_every_cell(|cell| {
        let held = cell.client.begin("tools/call", &json!({"name": "s__hold", "arguments": {}}));
        until_seen(cell, &json!({"began": {}}));
        assert_eq!(cell.client.call("s__echo", &json!({"text": "faster"})).text(), "faster", "{}", cell.name);
        cell.client.call("s__release", &json!({}));
        assert_eq!(held.finish().text(), "released", "{}", cell.name);
    });
}

#[test]
fn ids_come_back_as_they_were() {
    let cell = Cell::open(Era::Legacy, Era::Modern, Wire::Http);
    for id in ["0", "-1", "9007199254740993", "\"\"", "\"7\"", "\"\\u00e9\\n\"", "18446744073709551616"] {
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"s__echo","arguments":{{}}}}}}"#
        );
        let response = cell.client.post_raw(message.as_bytes(), &cell.client.headers(&Value::Null));
        assert!(response.text().contains(&format!("\"id\":{id},")), "{id}: {}", response.text());
    }
}

#[test]
fn two_clients_with_equal_ids_do_not_hear_each_other() {
    let cell = Cell::open(Era::Legacy, Era::Legacy, Wire::Stdio);
    let clients: Vec<Client> = (0..8).map(|_| Client::legacy(&cell.gateway)).collect();
    std::thread::scope(|scope| {
        for (number, client) in clients.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..25 {
                    let text = format!("{number}/{round}");
                    assert_eq!(client.call("s__echo", &json!({"text": text})).text(), text);
                }
            });
        }
    });
}

/// Waits until the server has noted this.
pub(crate) fn until_seen(cell: &Cell, what: &Value) {
    eventually(&format!("{}: the server notes {what}", cell.name), || {
        cell.seen().contains(what).then_some(())
    });
}
