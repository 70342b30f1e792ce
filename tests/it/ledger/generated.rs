//! Generated calls: each is on record once, whole, and in the order in which they ended.

use harness::Era;
use serde_json::{Value, json};
use toolgate_ledger::{Kind, Status};

use super::{json, records};
use crate::chance::Chance;
use crate::governance::shop::Shop;
use crate::governance::{caller, gateway};

const CALLS: usize = 200;
const CALLERS: [&str; 3] = ["anna", "ben", "carla"];

/// What is asked for: method, name, arguments; and what must stand on record: status, code, price.
type Asked = (&'static str, &'static str, Value, Status, Option<i32>, u64);

fn asked(chance: &mut Chance) -> Asked {
    let item = json!({"item": chance.below(1000), "deep": {"list": vec!["x"; chance.below(5)]}});
    let missing = json!({});
    match chance.below(9) {
        0 => ("tools/call", "shop__buy", item, Status::Ok, None, 250_000),
        1 => ("tools/call", "shop__break", item, Status::ToolError, None, 0),
        2 => ("tools/call", "shop__upset", item, Status::Error, Some(-32055), 1_000_000),
        3 => ("tools/call", "shop__count", json!({"n": chance.below(9)}), Status::Ok, None, 0),
        4 => ("tools/call", "shop__count", json!({"n": "x"}), Status::Denied, Some(-32602), 0),
        5 => ("tools/call", "shop__long", json!({"bytes": 9}), Status::Denied, Some(-32003), 0),
        6 => ("tools/call", "shop__vault", item, Status::Denied, Some(-32602), 0),
        7 => ("resources/read", "shop://window", missing, Status::Ok, None, 0),
        _ => ("prompts/get", "shop__welcome", missing, Status::Ok, None, 0),
    }
}

#[test]
fn every_call_is_on_record_once_and_whole() {
    let shop = Shop::open();
    let sections = "prices: {tools: [{tools: [buy], price: 0.25}, {tools: [break], price: 2, refund_on_failure: true},\n \
         {tools: [upset], price: 1, refund_on_failure: false}]}\n\
         policy: {rules: [{effect: deny, tools: [long]}, {effect: hide, tools: [vault]}]}\n";
    let mut gateway = gateway(&shop, "", sections);
    let clients: Vec<_> =
        CALLERS.iter().flat_map(|name| Era::BOTH.map(|era| (*name, caller(&gateway, era, name)))).collect();
    let mut chance = Chance::new(10);
    let mut expected = Vec::new();
    for _ in 0..CALLS {
        let (name, client) = &clients[chance.below(clients.len())];
        let (method, thing, arguments, status, code, price) = asked(&mut chance);
        let (kind, params) = match method {
            "tools/call" => (Kind::ToolCall, json!({"name": thing, "arguments": arguments})),
            "resources/read" => (Kind::ResourceRead, json!({"uri": thing})),
            _ => (Kind::PromptGet, json!({"name": thing})),
        };
        let arguments = if kind == Kind::ToolCall { arguments } else { Value::Null };
        let answer = client.request(method, &params).answer;
        let answered = answer.get("result").is_some();
        assert_eq!(answered, matches!(status, Status::Ok | Status::ToolError), "{answer}");
        expected.push((
            (*name).to_owned(),
            client.era().word(),
            kind,
            thing.to_owned(),
            arguments,
            status,
            code,
            price,
        ));
    }
    assert!(gateway.stop().success());
    let records = records(&gateway);
    assert!(records.iter().map(|record| record.sequence).eq(1..=CALLS as u64));
    for (record, expected) in records.iter().zip(&expected) {
        let found = (
            record.caller.clone(),
            record.era.as_str(),
            record.kind,
            record.exposed.clone(),
            json(record.arguments.as_ref()),
            record.status,
            record.error_code,
            record.price_settled,
        );
        assert_eq!(found, *expected);
        assert!(record.result.is_some() && record.time_us > 0 && record.policy_revision > 0, "{record:?}");
        assert!(record.server == "shop" && !record.native.is_empty(), "{record:?}");
    }
}
