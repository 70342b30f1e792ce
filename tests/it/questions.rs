//! What a server asks its client in the middle of a call, in every cell.

use harness::{Client, Era, Exchange, Gateway, Setup, Upstream};
use serde_json::{Value, json};

use crate::cells::{Cell, Wire, in_every_cell, scripted};

fn elicitation(message: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
    json!({"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}})
}

fn sampling() -> Value {
    let message = json!({"role": "user", "content": {"type": "text", "text": "say something"}});
    json!({"method": "sampling/createMessage", "params": {"messages": [message], "maxTokens": 10}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// A reply that names the question, so that none can be confused.
fn reply(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" => json!({"action": "accept", "content": {"name": params["message"]}}),
        "sampling/createMessage" => {
            json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "something"}})
        }
        "roots/list" => json!({"roots": [{"uri": "file:///home", "name": "home"}]}),
        other => panic!("asked '{other}'"),
    }
}

#[test]
fn every_question_is_asked_and_its_reply_returns() {
    in_every_cell(|cell| {
        for question in [elicitation("who?"), sampling(), roots()] {
            let method = question["method"].as_str().unwrap();
            let expected = reply(method, &question["params"]);
            let exchange = cell.client.call_answering("s__ask", &json!({"questions": [question]}), reply);
            assert_eq!(exchange.result()["structuredContent"]["replies"], json!([expected]), "{}", cell.name);
        }
    });
}

#[test]
fn several_questions_at_once_get_each_its_own_reply() {
    in_every_cell(|cell| {
        let questions = [elicitation("one?"), roots(), elicitation("two?"), sampling()];
        let expected: Vec<_> = questions
            .iter()
            .map(|question| reply(question["method"].as_str().unwrap(), &question["params"]))
            .collect();
        let exchange = cell.client.call_answering("s__ask", &json!({"questions": questions}), reply);
        assert_eq!(exchange.result()["structuredContent"]["replies"], json!(expected), "{}", cell.name);
    });
}

#[test]
fn a_reply_that_declines_passes_too() {
    in_every_cell(|cell| {
        let decline = |_: &str, _: &Value| json!({"action": "decline"});
        let exchange =
            cell.client.call_answering("s__ask", &json!({"questions": [elicitation("who?")]}), decline);
        assert_eq!(
            exchange.result()["structuredContent"]["replies"],
            json!([{"action": "decline"}]),
            "{}",
            cell.name
        );
    });
}

#[test]
fn a_client_that_cannot_be_asked_is_told_what_it_lacks() {
    in_every_cell(|cell| {
        let client = Client::able(&cell.gateway, cell.client.era(), json!({}));
        let nobody = |method: &str, _: &Value| panic!("asked '{method}'");
        let exchange = client.call_answering("s__ask", &json!({"questions": [elicitation("who?")]}), nobody);
        let text = exchange.answer.to_string();
        assert!(text.contains("elicitation"), "{}: {text}", cell.name);
        let failed = exchange.answer.get("error").is_some() || exchange.result()["isError"] == true;
        assert!(failed, "{}: {text}", cell.name);
        assert_eq!(cell.client.call("s__echo", &json!({"text": "on"})).text(), "on", "{}", cell.name);
    });
}

#[test]
fn a_legacy_client_is_not_asked_what_it_cannot_answer_by_a_server_that_does_not_care() {
    let gateway = Gateway::before("s", scripted(&["modern", "rude"]));
    let client = Client::able(&gateway, Era::Legacy, json!({"roots": {}}));
    let nobody = |method: &str, _: &Value| panic!("asked '{method}'");
    let exchange = client.call_answering("s__ask", &json!({"questions": [elicitation("who?")]}), nobody);
    assert_eq!(exchange.code(), -32021, "{}", exchange.answer);
    let exchange = client.call_answering("s__ask", &json!({"questions": [roots()]}), reply);
    assert_eq!(exchange.result()["structuredContent"]["replies"][0]["roots"][0]["name"], "home");
}

#[test]
fn a_modern_client_that_lacks_something_gets_the_code_for_it() {
    let cell = Cell::open(Era::Modern, Era::Legacy, Wire::Stdio);
    let client = Client::able(&cell.gateway, Era::Modern, json!({"sampling": {}}));
    let exchange = client.call("s__ask", &json!({"questions": [elicitation("who?")]}));
    assert_eq!((exchange.status, exchange.code()), (400, -32021), "{}", exchange.answer);
    assert_eq!(exchange.answer["error"]["data"], json!({"requiredCapabilities": {"elicitation": {}}}));
}

#[test]
fn a_state_is_good_once_and_only_for_its_request() {
    let cell = Cell::open(Era::Modern, Era::Legacy, Wire::Stdio);
    let arguments = json!({"questions": [elicitation("who?")]});
    let asked = cell.client.call("s__ask", &arguments);
    assert_eq!(asked.result()["resultType"], "input_required");
    let state = asked.result()["requestState"].as_str().unwrap();
    let key = asked.result()["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let repeat = |tool: &str, state: &str| {
        let replies = json!({key: {"action": "accept", "content": {"name": "me"}}});
        let params =
            json!({"name": tool, "arguments": arguments, "inputResponses": replies, "requestState": state});
        cell.client.request("tools/call", &params)
    };
    let foreign = repeat("s__echo", state);
    assert_eq!(foreign.code(), -32602, "{}", foreign.answer);
    assert_eq!(repeat("s__ask", state).result()["structuredContent"]["replies"][0]["action"], "accept");
    let used = repeat("s__ask", state);
    assert_eq!(used.code(), -32602, "{}", used.answer);
    assert!(used.error().contains("expired or was used"), "{}", used.error());
}

#[test]
fn a_forged_state_is_not_taken_for_ours() {
    let cell = Cell::open(Era::Modern, Era::Legacy, Wire::Stdio);
    let arguments = json!({"questions": [elicitation("who?")]});
    let state = cell.client.call("s__ask", &arguments).result()["requestState"].as_str().unwrap().to_owned();
    let mut forged = state.clone().into_bytes();
    let middle = forged.len() / 2;
    forged[middle] = if forged[middle] == b'A' { b'B' } else { b'A' };
    for forged in
        [String::from_utf8(forged).unwrap(), state[..state.len() - 4].to_owned(), "{}".into(), String::new()]
    {
        let replies = json!({"question-1": {"action": "accept"}});
        let params = json!({"name": "s__ask", "arguments": arguments, "inputResponses": replies, "requestState": forged});
        let exchange = cell.client.request("tools/call", &params);
        let accepted = exchange.answer["result"]["structuredContent"].is_object();
        assert!(!accepted, "{forged}: {}", exchange.answer);
    }
}

#[test]
fn a_state_of_another_caller_is_refused() {
    let gateway =
        Setup::new().server("s", scripted(&["legacy"])).set("callers.trust_client_id_header=true").start();
    let [mine, other] =
        ["mine", "other"].map(|name| Client::presenting(&gateway, Era::Modern, &[("x-mcp-client-id", name)]));
    let mut params = json!({"name": "s__ask", "arguments": {"questions": [elicitation("who?")]}});
    let asked = mine.request("tools/call", &params);
    params["inputResponses"] = json!({"question-1": {"action": "accept"}});
    params["requestState"] = asked.result()["requestState"].clone();
    let stolen = other.request("tools/call", &params);
    assert_eq!(stolen.code(), -32602, "{}", stolen.answer);
    let resumed = mine.request("tools/call", &params);
    assert_eq!(resumed.result()["structuredContent"]["replies"], json!([{"action": "accept"}]));
}

#[test]
fn replies_to_nothing_are_taken_without_harm() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    for id in [json!(1), json!("question 1"), json!(-5)] {
        client.answer(&json!({"id": id}), &json!({"action": "accept"}));
    }
    let text = client.call("s__echo", &json!({"text": "on"}));
    assert_eq!(text.text(), "on");
}

#[test]
fn a_client_that_leaves_during_a_question_frees_the_call() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    let questions = json!({"name": "s__ask", "arguments": {"questions": [elicitation("who?")]}});
    let mut pending = client.begin("tools/call", &questions);
    assert_eq!(pending.next().unwrap()["method"], "elicitation/create");
    pending.leave();
    harness::eventually("the server hears of it", || {
        (upstream.script().count("notifications/cancelled") > 0).then_some(())
    });
    assert_eq!(client.call("s__echo", &json!({"text": "on"})).text(), "on");
}

#[test]
fn a_question_that_is_taken_back_or_left_open_is_taken_back_at_the_client() {
    for how in ["withdraw", "leave"] {
        let upstream = Upstream::start(Era::Legacy, &[]);
        let gateway = Gateway::before("s", upstream.url());
        let client = Client::legacy(&gateway);
        let params = json!({"name": "s__ask", "arguments": {"questions": [elicitation("who?")], how: true}});
        let mut pending = client.begin("tools/call", &params);
        let question = pending.next().unwrap();
        assert_eq!(question["method"], "elicitation/create", "{how}");
        let cancelled = pending.next().unwrap();
        assert_eq!(cancelled["method"], "notifications/cancelled", "{how}: {cancelled}");
        assert_eq!(cancelled["params"]["requestId"], question["id"], "{how}");
        upstream.script().release();
        assert_eq!(pending.finish().text(), "never mind", "{how}");
    }
}

#[test]
fn a_server_hears_how_far_its_question_is() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    let mut question = elicitation("who?");
    question["params"]["_meta"] = json!({"progressToken": "the server's"});
    let mut pending =
        client.begin("tools/call", &json!({"name": "s__ask", "arguments": {"questions": [question]}}));
    let asked = pending.next().unwrap();
    let token = &asked["params"]["_meta"]["progressToken"];
    client.notify("notifications/progress", &json!({"progressToken": token, "progress": 0.5}));
    let told = json!({"progressToken": "the server's", "progress": 0.5});
    harness::eventually("the server hears of it", || {
        let seen = upstream.script().seen();
        seen.iter()
            .any(|message| message["method"] == "notifications/progress" && message["params"] == told)
            .then_some(())
    });
    client.answer(&asked, &json!({"action": "decline"}));
    assert_eq!(pending.finish().result()["structuredContent"]["replies"], json!([{"action": "decline"}]));
}

#[test]
fn questions_that_come_after_some_were_answered_have_keys_of_their_own() {
    let cell = Cell::open(Era::Modern, Era::Legacy, Wire::Stdio);
    let arguments =
        json!({"questions": [elicitation("one?"), elicitation("two?")], "then": elicitation("three?")});
    let mut params = json!({"name": "s__ask", "arguments": arguments});
    let asked = cell.client.request("tools/call", &params);
    let first = asked.result()["inputRequests"].clone();
    assert_eq!(first.as_object().unwrap().len(), 2, "{first}");
    let key = first.as_object().unwrap().iter().find(|(_, asked)| asked["params"]["message"] == "one?");
    let reply = |said: &str| json!({"action": "accept", "content": {"name": said}});
    params["inputResponses"] = json!({key.unwrap().0: reply("one")});
    params["requestState"] = asked.result()["requestState"].clone();
    let asked = cell.client.request("tools/call", &params);
    let second = asked.result()["inputRequests"].as_object().unwrap().clone();
    assert_eq!(second.len(), 2, "{second:?}");
    let replies: serde_json::Map<_, _> = second
        .iter()
        .map(|(key, asked)| (key.clone(), reply(asked["params"]["message"].as_str().unwrap())))
        .collect();
    params["inputResponses"] = Value::Object(replies);
    params["requestState"] = asked.result()["requestState"].clone();
    let answer = cell.client.request("tools/call", &params);
    let expected = json!([reply("one"), reply("two?"), reply("three?")]);
    assert_eq!(answer.result()["structuredContent"]["replies"], expected);
}

#[test]
fn calls_whose_clients_do_not_come_back_leave_room_for_others() {
    let gateway = Setup::new()
        .config(&format!(
            "servers:\n  s:\n    command: {}\n    args: [legacy]\n    max_concurrency: 4\n",
            scripted(&[]).trim()
        ))
        .start();
    let client = Client::modern(&gateway);
    let ask = |name: &str| client.call("s__ask", &json!({"questions": [elicitation(name)]}));
    let asked: Vec<_> = (0..8).map(|number| ask(&format!("{number}?"))).collect();
    assert_eq!(client.call("s__echo", &json!({"text": "on"})).text(), "on");
    let resume = |asked: &Exchange| {
        let replies: serde_json::Map<_, _> = asked.result()["inputRequests"]
            .as_object()
            .unwrap()
            .keys()
            .map(|key| (key.clone(), json!({"action": "decline"})))
            .collect();
        let message = asked.result()["inputRequests"]["question-1"]["params"]["message"].clone();
        let arguments = json!({"questions": [elicitation(message.as_str().unwrap())]});
        let params = json!({"name": "s__ask", "arguments": arguments, "inputResponses": replies,
                            "requestState": asked.result()["requestState"]});
        client.request("tools/call", &params)
    };
    assert_eq!(resume(&asked[0]).code(), -32602);
    assert_eq!(resume(&asked[7]).result()["structuredContent"]["replies"], json!([{"action": "decline"}]));
}

#[test]
fn the_time_of_a_call_runs_on_while_its_client_is_away() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Setup::new().server("s", upstream.url()).set("runtime.call_timeout=500ms").start();
    let client = Client::modern(&gateway);
    let mut params = json!({"name": "s__ask", "arguments": {"questions": [elicitation("who?")]}});
    let asked = client.request("tools/call", &params);
    params["inputResponses"] = json!({"question-1": {"action": "accept"}});
    params["requestState"] = asked.result()["requestState"].clone();
    harness::eventually("the server is told that nobody waits", || {
        (upstream.script().count("notifications/cancelled") > 0).then_some(())
    });
    assert_eq!(client.request("tools/call", &params).code(), -32004);
}

#[test]
fn a_question_with_an_address_is_asked_in_every_cell() {
    in_every_cell(|cell| {
        let params =
            json!({"mode": "url", "elicitationId": "e-1", "url": "https://example.com/e", "message": "look"});
        let question = json!({"method": "elicitation/create", "params": params});
        let accept = |_: &str, asked: &Value| {
            assert_eq!((&asked["mode"], &asked["url"]), (&params["mode"], &params["url"]), "{}", cell.name);
            json!({"action": "accept"})
        };
        let exchange = cell.client.call_answering("s__ask", &json!({"questions": [question]}), accept);
        assert_eq!(
            exchange.result()["structuredContent"]["replies"],
            json!([{"action": "accept"}]),
            "{}",
            cell.name
        );
        let data = json!({"elicitations": [params]});
        let needed = cell.client.call("s__upset", &json!({"code": -32042, "data": data}));
        assert_eq!(needed.code(), -32042, "{}: {}", cell.name, needed.answer);
        assert_eq!(needed.answer["error"]["data"], data, "{}", cell.name);
    });
}

#[test]
fn that_an_address_was_visited_is_told() {
    let upstream = Upstream::start(Era::Legacy, &[]);
    let gateway = Gateway::before("s", upstream.url());
    let client = Client::legacy(&gateway);
    let mut stream = client.listen(None);
    let told = "notifications/elicitation/complete";
    client.call("s__touch", &json!({"announce": told, "params": {"elicitationId": "e-1"}}));
    loop {
        let event = stream.event().unwrap().unwrap();
        let message: Value = serde_json::from_str(&event.data).unwrap();
        if message["method"] == told {
            assert_eq!(message["params"], json!({"elicitationId": "e-1"}));
            return;
        }
    }
}
