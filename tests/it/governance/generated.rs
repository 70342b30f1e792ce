//! Generated rules: what is served in lists is what can be called, for every caller.

use std::collections::BTreeSet;

use harness::{Era, Setup};
use serde_json::json;

use super::shop::Shop;
use super::{caller, listed};
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
