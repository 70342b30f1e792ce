//! Generated rules: what is served in lists is what can be called, for every caller. Generated arguments: what does not fit
//! does not run.

use std::collections::BTreeSet;

use harness::{Era, Setup};
use serde_json::{Map, Value, json};

use super::shop::Shop;
use super::{caller, gateway, listed};
use crate::chance::Chance;

const TOOLS: [&str; 6] = ["buy", "break", "upset", "long", "vault", "count"];
const CALLERS: [&str; 3] = ["anna", "ben", "carla"];
const ROUNDS: usize = 25;

/// Some of these, as YAML; nothing, which means all, now and then.
fn some(chance: &mut Chance, names: &[&str]) -> String {
    let chosen: Vec<_> = names.iter().filter(|_| chance.below(3) == 0).copied().collect();
    chosen.join(", ")
}

fn policy(chance: &mut Chance) -> String {
    let rule = |chance: &mut Chance| {
        let effect = ["hide", "deny", "allow", "allow"][chance.below(4)];
        let actions = ["", "actions: [list], ", "actions: [call], "][chance.below(3)];
        let actions = if effect == "hide" { "" } else { actions };
        let (callers, tools) = (some(chance, &CALLERS), some(chance, &TOOLS));
        format!("{{effect: {effect}, {actions}callers: [{callers}], tools: [{tools}]}}")
    };
    let rules: Vec<String> = (0..chance.below(6)).map(|_| rule(chance)).collect();
    let default = ["allow", "deny"][chance.below(2)];
    format!("policy: {{default: {default}, rules: [{}]}}\n", rules.join(", "))
}

/// A value for an argument of `strict`, and whether it fits.
fn value(chance: &mut Chance, argument: &str) -> (Value, bool) {
    let values = match argument {
        "kind" => [(json!("tea"), true), (json!("cup"), true), (json!("pot"), false), (json!(1), false)],
        "amount" => [(json!(9), true), (json!(1), true), (json!(0), false), (json!("1"), false)],
        "name" => [(json!("ann"), true), (json!("x"), false), (json!("Ann"), false), (json!(["ann"]), false)],
        "tags" => [
            (json!(["a", "b"]), true),
            (json!([]), true),
            (json!(["a", 1]), false),
            (json!(["a", "b", "c"]), false),
        ],
        _ => [0, 1, 2, 3].map(|number| (json!(number), false)),
    };
    values[chance.below(4)].clone()
}

/// Arguments, and whether they fit.
fn arguments(chance: &mut Chance) -> (Value, bool) {
    let mut members = Map::new();
    let mut fit = true;
    for (argument, share) in [("kind", 8), ("amount", 2), ("name", 2), ("tags", 2), ("colour", 1)] {
        if chance.below(10) < share {
            let (value, fits) = value(chance, argument);
            members.insert(argument.to_owned(), value);
            fit &= fits;
        } else {
            fit &= argument != "kind";
        }
    }
    (Value::Object(members), fit)
}

#[test]
fn what_does_not_fit_the_schema_never_runs() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "");
    let clients = Era::BOTH.map(|era| caller(&gateway, era, "anna"));
    let mut chance = Chance::new(11);
    let mut ran = 0;
    for round in 0..400 {
        let (arguments, fit) = arguments(&mut chance);
        let answer = clients[round % 2].call("shop__strict", &arguments);
        let code = answer.answer["error"]["code"].as_i64();
        assert_eq!(code, (!fit).then_some(-32602), "{arguments}: {}", answer.answer);
        ran += usize::from(fit);
        assert_eq!(shop.orders("strict"), ran, "{arguments}");
    }
    assert!((50..350).contains(&ran), "{ran}");
}

#[test]
fn what_is_listed_is_known_and_what_is_not_listed_and_refused_is_unknown() {
    let head = "runtime: {auto_reload: false}\ncallers: {trust_client_id_header: true}\n";
    let shop = Shop::open();
    let gateway = Setup::new().config(&shop.config("", head)).start();
    let clients = CALLERS.map(|name| caller(&gateway, Era::Legacy, name));
    let mut chance = Chance::new(7);
    let mut shown = 0;
    for _ in 0..ROUNDS {
        let policy = policy(&mut chance);
        gateway.rewrite(&shop.config("", &format!("{head}{policy}")));
        gateway.reload();
        for client in &clients {
            let names: BTreeSet<String> = listed(client, "tools/list", "tools", "name").into_iter().collect();
            shown += names.len();
            for tool in TOOLS.map(|tool| format!("shop__{tool}")) {
                let answer = client.call(&tool, &json!({"item": 1, "n": 1, "bytes": 1})).answer;
                let words = answer["error"]["message"].as_str().unwrap_or_default();
                let is_unknown = words.starts_with("Unknown tool");
                let is_refused = words.starts_with("Denied");
                assert!(!(names.contains(&tool) && is_unknown), "{tool} is listed: {policy}");
                assert!(names.contains(&tool) || !is_refused, "{tool} is not listed: {policy}");
            }
        }
    }
    assert!(shown > 50, "the rules showed next to nothing: {shown}");
}
