//! What is on record: everything that was asked for, who asked, how it ended, and none of the secrets.

use std::os::unix::fs::PermissionsExt as _;

use harness::http::Connection;
use harness::{Client, Era, Setup};
use serde_json::{Value, json};
use toolgate_ledger::{Kind, Record, Status};

use super::{json, records};
use crate::governance::shop::Shop;
use crate::governance::{caller, gateway};

/// What a test says of a record: kind, exposed name, status and code of the error.
fn told(record: &Record) -> (Kind, &str, Status, Option<i32>) {
    (record.kind, &record.exposed, record.status, record.error_code)
}

#[test]
fn everything_that_is_asked_for_is_on_record() {
    for era in Era::BOTH {
        let shop = Shop::open();
        let sections = "prices: {tools: [{tools: [buy, break], price: 0.5, refund_on_failure: true}]}\n\
            quotas: [{id: once, tools: [count], calls_per_day: 1}]\n\
            policy: {rules: [{id: shut, effect: deny, tools: [long]}, {id: gone, effect: hide, tools: [vault]}]}\n";
        let mut gateway = gateway(&shop, "", sections);
        let client = caller(&gateway, era, "anna");
        client.call("shop__buy", &json!({"item": "tea"})).result();
        client.call("shop__break", &json!({})).result();
        client.call("shop__upset", &json!({})).code();
        client.request("resources/read", &json!({"uri": "shop://window"})).result();
        client.request("prompts/get", &json!({"name": "shop__welcome"})).result();
        client.call("shop__long", &json!({"bytes": 1})).code();
        client.call("shop__vault", &json!({})).code();
        client.call("shop__count", &json!({"n": "one"})).code();
        client.call("shop__count", &json!({"n": 1})).result();
        client.call("shop__count", &json!({"n": 2})).code();
        assert!(gateway.stop().success());

        let records = records(&gateway);
        let expected = [
            (Kind::ToolCall, "shop__buy", Status::Ok, None),
            (Kind::ToolCall, "shop__break", Status::ToolError, None),
            (Kind::ToolCall, "shop__upset", Status::Error, Some(-32055)),
            (Kind::ResourceRead, "shop://window", Status::Ok, None),
            (Kind::PromptGet, "shop__welcome", Status::Ok, None),
            (Kind::ToolCall, "shop__long", Status::Denied, Some(-32003)),
            (Kind::ToolCall, "shop__vault", Status::Denied, Some(-32602)),
            (Kind::ToolCall, "shop__count", Status::Denied, Some(-32602)),
            (Kind::ToolCall, "shop__count", Status::Ok, None),
            (Kind::ToolCall, "shop__count", Status::Denied, Some(-32003)),
        ];
        assert_eq!(records.iter().map(told).collect::<Vec<_>>(), expected);
        for record in &records {
            assert_eq!((&*record.caller, &*record.server, record.era.as_str()), ("anna", "shop", era.word()));
        }
        let [bought, broken, ..] = &records[..] else { unreachable!() };
        assert_eq!(bought.native, "buy");
        assert_eq!(json(bought.arguments.as_ref()), json!({"item": "tea"}));
        assert_eq!(json(bought.result.as_ref())["content"][0]["text"], "sold \"tea\"");
        assert_eq!((bought.price_reserved, bought.price_settled), (500_000, 500_000));
        assert_eq!((broken.price_reserved, broken.price_settled), (500_000, 0));
        // Only the record says which rule it was that hid the tool.
        assert!(json(records[6].result.as_ref()).as_str().unwrap().contains("gone"));
    }
}

#[test]
fn secrets_are_not_written() {
    let shop = Shop::open();
    let sections =
        "ledger: {max_body_bytes: 300, redact: [{paths: [/item/pin], keys: [\"x-*\"], replace: GONE}]}\n";
    let mut gateway = gateway(&shop, "", sections);
    let client = caller(&gateway, Era::Modern, "anna");
    let item = json!({"pin": "hidden-1", "password": "hidden-2", "X-Code": ["hidden-3"], "name": "shown-1",
                      "api_key": {"deep": "hidden-4"}});
    client.call("shop__vault", &json!({"item": item})).result();
    client.call("shop__long", &json!({"bytes": 5000})).result();
    assert!(gateway.stop().success());

    let records = records(&gateway);
    let arguments = json(records[0].arguments.as_ref());
    let expected =
        json!({"pin": "GONE", "password": "GONE", "X-Code": "GONE", "name": "shown-1", "api_key": "GONE"});
    assert_eq!(arguments["item"], expected);
    let long = records[1].result.as_ref().unwrap();
    assert!(long.kept.len() <= 300 && long.size() > 5000 && !long.is_whole());
    assert_without_secrets(&super::folder(&gateway));
}

#[test]
fn arguments_that_do_not_fit_are_not_written_into_the_reason() {
    let shop = Shop::open();
    let mut gateway = gateway(&shop, "", "ledger: {redact: [{keys: [n]}]}\n");
    for era in Era::BOTH {
        let refused = caller(&gateway, era, "anna").call("shop__count", &json!({"n": "hidden-5"}));
        assert_eq!(refused.code(), -32602);
        assert!(refused.error().contains("hidden-5"), "the client sees what it sent: {}", refused.error());
    }
    assert!(gateway.stop().success());
    let records = records(&gateway);
    assert_eq!(records.len(), 2);
    let reason = json(records[0].result.as_ref());
    assert!(reason.as_str().unwrap().contains("`/n`"), "{reason}");
    assert_without_secrets(&super::folder(&gateway));
}

#[test]
fn nobody_else_can_look_into_the_state_of_a_gateway() {
    let shop = Shop::open();
    let mut gateway = gateway(&shop, "max_output_bytes: 1000, long_output: spill", "");
    let state = gateway.home().join("state");
    caller(&gateway, Era::Modern, "anna").call("shop__long", &json!({"bytes": 5000})).result();
    let check = |path: &std::path::Path| {
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
    };
    check(&state);
    check(&state.join("results/0"));
    assert!(gateway.stop().success());
    let files = walk(&state);
    assert!(files.len() > 4, "{files:?}");
    for file in files {
        check(&file);
        check(file.parent().unwrap());
    }
}

#[test]
fn batches_and_the_clients_of_the_first_revision_are_on_record() {
    let shop = Shop::open();
    let mut gateway = Setup::new().config(&shop.config("", "")).start();
    let call = |id: u64, item: &str| {
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
               "params": {"name": "shop__buy", "arguments": {"item": item}}})
    };
    let client = Client::dated(&gateway, "2025-03-26", json!({}));
    let batch = json!([call(10, "one"), call(11, "two"), {"jsonrpc": "2.0", "id": 12, "method": "ping"}]);
    let answers = client.post(&batch).json();
    assert_eq!(answers.as_array().unwrap().len(), 3, "{answers}");

    let mut stream = Connection::open(gateway.address());
    stream.send("GET", "/mcp/sse", &[("accept", "text/event-stream")], b"").unwrap();
    assert_eq!(stream.head().unwrap().status, 200);
    let path = stream.event().unwrap().unwrap().data;
    let post = |message: &Value| {
        let headers = [("content-type", "application/json")];
        Connection::open(gateway.address()).exchange("POST", &path, &headers, message.to_string().as_bytes())
    };
    post(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}}));
    post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    post(&call(2, "three"));
    let mut answered = false;
    while !answered {
        let event = stream.event().unwrap().expect("the stream ended");
        answered = event.data.contains("sold");
    }
    stream.close();
    assert!(gateway.stop().success());
    let mut items: Vec<_> =
        records(&gateway).iter().map(|record| json(record.arguments.as_ref())["item"].clone()).collect();
    items.sort_by_key(ToString::to_string);
    assert_eq!(items, ["one", "three", "two"]);
}

#[test]
fn the_trace_of_a_request_is_on_record_wherever_it_stands() {
    let shop = Shop::open();
    let mut gateway = gateway(&shop, "", "");
    let parent = |trace: &str| format!("00-{trace}-0123456789abcdef-01");
    let (in_head, in_meta) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    for era in Era::BOTH {
        let client = Client::presenting(&gateway, era, &[("traceparent", &parent(in_head))]);
        client.call("shop__buy", &json!({"item": 1})).result();
        let params = json!({"name": "shop__buy", "arguments": {}, "_meta": {"traceparent": parent(in_meta)}});
        client.request("tools/call", &params).result();
    }
    assert!(gateway.stop().success());
    let traces: Vec<String> = records(&gateway)
        .iter()
        .map(|record| record.trace_id.unwrap().iter().map(|byte| format!("{byte:02x}")).collect())
        .collect();
    assert_eq!(traces, [in_head, in_meta, in_head, in_meta]);
}

#[test]
fn waiting_in_vain_is_on_record() {
    let shop = Shop::open();
    let sections = "policy: {approval: [{tools: [buy], mode: always, by: user}]}\n";
    let mut gateway = gateway(&shop, "tool_timeouts: {hold: 200ms}", sections);
    Client::able(&gateway, Era::Modern, json!({})).call("shop__buy", &json!({"item": 1})).code();
    caller(&gateway, Era::Legacy, "anna").call("shop__hold", &json!({})).code();
    assert!(gateway.stop().success());
    let expected = [
        (Kind::ToolCall, "shop__buy", Status::Denied, Some(-32003)),
        (Kind::ToolCall, "shop__hold", Status::Timeout, Some(-32004)),
    ];
    assert_eq!(records(&gateway).iter().map(told).collect::<Vec<_>>(), expected);
}

#[test]
fn the_client_on_standard_input_is_on_record_by_its_name() {
    let known = "callers: {known: {desk-7: {groups: [desks]}}}";
    for (variable, name, groups) in [
        (None, "stdio-client", &[][..]),
        (Some("desk-7"), "desk-7", &["desks"]),
        (Some("no name\u{7}"), "stdio-client", &[]),
    ] {
        let shop = Shop::open();
        let mut setup = Setup::new().config(&shop.config("", known));
        if let Some(variable) = variable {
            setup = setup.variable("MCP_CLIENT_ID", variable);
        }
        let mut client = setup.start_stdio();
        client.initialize("2025-11-25", &json!({}));
        let call = json!({"name": "shop__buy", "arguments": {"item": 1}});
        assert_eq!(client.request("tools/call", &call)["result"]["content"][0]["text"], "sold 1");
        client.close();
        assert!(client.gateway.wait().success());
        let record = &records(&client.gateway)[0];
        assert_eq!(record.caller, name);
        assert!(record.groups.iter().map(|group| &**group).eq(groups.iter().copied()), "{:?}", record.groups);
    }
}

#[test]
fn a_client_that_leaves_is_on_record() {
    let shop = Shop::open();
    let mut gateway = gateway(&shop, "", "");
    let client = caller(&gateway, Era::Modern, "anna");
    let held = client.begin("tools/call", &json!({"name": "shop__hold", "arguments": {}}));
    harness::eventually("the call is at the server", || (shop.orders("hold") == 1).then_some(()));
    held.leave();
    harness::eventually("the call is on record", || (!records(&gateway).is_empty()).then_some(()));
    assert!(gateway.stop().success());
    assert_eq!(told(&records(&gateway)[0]), (Kind::ToolCall, "shop__hold", Status::Cancelled, None));
}

/// Nothing that the scenes call hidden may stand in any file below a folder.
fn assert_without_secrets(folder: &std::path::Path) {
    for file in walk(folder) {
        let bytes = std::fs::read(&file).unwrap();
        let has_secret = bytes.windows(7).any(|window| window == b"hidden-");
        assert!(!has_secret, "{}", file.display());
    }
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(walk(&path)) } else { files.push(path) }
    }
    files
}
