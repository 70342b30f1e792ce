//! Quotas: whose use of what they count together.

use harness::{Client, Era, Gateway, Setup, eventually};
use serde_json::json;
use tempfile::TempDir;
use toolgate_identity::{KeyFile, NewKey};

use super::details;
use super::shop::Shop;

/// A gateway with one quota, and those who have keys for it: Anna and Ben are red, Cleo is blue.
struct Scene {
    gateway: Gateway,
    keys: Vec<(&'static str, String)>,
    _place: TempDir,
}

impl Scene {
    fn with(shop: &Shop, quota: &str) -> Scene {
        let place = TempDir::new().unwrap();
        let file = KeyFile::at(place.path().join("keys.json"));
        let keys = [("anna", "red"), ("ben", "red"), ("cleo", "blue")].map(|(name, group)| {
            let wanted = NewKey { caller: name.to_owned(), groups: vec![group.to_owned()], expires: None };
            (name, format!("Bearer {}", file.create(wanted, 1).unwrap().0.reveal()))
        });
        let sections = format!(
            "callers: {{anonymous: deny, keys_file: \"{}\"}}\nquotas: [{{id: one, {quota}}}]\n",
            file.path().display()
        );
        let gateway = Setup::new().config(&shop.config("", &sections)).start();
        Scene { gateway, keys: keys.to_vec(), _place: place }
    }

    fn client(&self, name: &str) -> Client {
        let (_, key) = self.keys.iter().find(|(known, _)| *known == name).unwrap();
        Client::presenting(&self.gateway, Era::Modern, &[("authorization", key)])
    }
}

/// Whether a call ran; if it did not, the quota was the reason.
fn runs(client: &Client, tool: &str) -> bool {
    let answer = client.call(&format!("shop__{tool}"), &json!({"item": 1}));
    answer.answer.get("result").is_some() || {
        assert_eq!(details(&answer)["rule"], "one");
        false
    }
}

#[test]
fn a_limit_counts_together_what_its_scope_says() {
    let shop = Shop::open();
    let calls = [("anna", "buy"), ("anna", "vault"), ("ben", "buy"), ("ben", "vault"), ("cleo", "buy")];
    for (scope, expected) in [
        ("caller", [true, false, true, false, true]),
        ("group", [true, false, false, false, true]),
        ("tool", [true, true, false, false, false]),
        ("caller_and_tool", [true, true, true, true, true]),
        ("all", [true, false, false, false, false]),
    ] {
        let scene = Scene::with(&shop, &format!("per: {scope}, calls_per_day: 1"));
        let ran = calls.map(|(name, tool)| runs(&scene.client(name), tool));
        assert_eq!(ran, expected, "per {scope}");
    }
}

#[test]
fn calls_at_the_same_time_are_counted_together_as_the_scope_says() {
    let others = [("anna", "vault"), ("ben", "buy"), ("ben", "hold"), ("cleo", "buy")];
    for (scope, expected) in [
        ("caller", [false, true, true, true]),
        ("group", [false, false, false, true]),
        ("tool", [true, true, false, true]),
        ("caller_and_tool", [true, true, true, true]),
        ("all", [false, false, false, false]),
    ] {
        let shop = Shop::open();
        let scene = Scene::with(&shop, &format!("per: {scope}, concurrency: 1"));
        let begin = |name, tool| {
            let params = json!({"name": format!("shop__{tool}"), "arguments": {"item": 1}});
            scene.client(name).begin("tools/call", &params)
        };
        let first = begin("anna", "hold");
        eventually("the first call is at the server", || (shop.orders("hold") == 1).then_some(()));
        for ((name, tool), may_run) in others.into_iter().zip(expected) {
            match (tool, may_run) {
                // It runs as long as the first one.
                ("hold", true) => {
                    let second = begin(name, tool);
                    eventually("another call is at the server", || (shop.orders("hold") == 2).then_some(()));
                    second.leave();
                }
                _ => assert_eq!(runs(&scene.client(name), tool), may_run, "{tool} per {scope}"),
            }
        }
        shop.release();
        assert_eq!(first.finish().text(), "released");
    }
}
