//! Rules over callers, servers, tools and arguments, and what a server offers at all.

use harness::http::Connection;
use harness::{Era, Setup};
use serde_json::json;

use super::shop::Shop;
use super::{caller, details, gateway, listed};

#[test]
fn a_refusal_names_its_rule() {
    let shop = Shop::open();
    let sections = "policy: {rules: [{id: no-sales, effect: deny, callers: [\"guest-*\"], tools: [buy]}]}\n";
    let gateway = gateway(&shop, "", sections);
    for era in Era::BOTH {
        let guest = caller(&gateway, era, "guest-7");
        assert!(listed(&guest, "tools/list", "tools", "name").contains(&"shop__buy".to_owned()));
        let refused = guest.call("shop__buy", &json!({"item": "tea"}));
        assert_eq!(refused.status, 200, "clients drop the body of anything else");
        assert_eq!(details(&refused)["rule"], "no-sales");
        assert_eq!(details(&refused)["stage"], "permission");
        assert_eq!(refused.answer["error"]["data"]["retryable"], false);
        assert!(refused.error().contains("no-sales"), "{}", refused.error());
        assert_eq!(caller(&gateway, era, "anna").call("shop__buy", &json!({"item": 1})).text(), "sold 1");
    }
    assert_eq!(shop.orders("buy"), 2, "what is refused never reaches the server");
}

#[test]
fn conditions_look_at_arguments_and_groups() {
    let shop = Shop::open();
    let sections = "policy: {rules: [\n\
        {id: large, effect: deny, tools: [count], when: \"arguments.n > 100\"},\n\
        {id: named, effect: deny, tools: [buy], when: \"caller.id == 'ben' && arguments.item == 'gold'\"}]}\n";
    let gateway = gateway(&shop, "", sections);
    for era in Era::BOTH {
        let (anna, ben) = (caller(&gateway, era, "anna"), caller(&gateway, era, "ben"));
        assert_eq!(anna.call("shop__count", &json!({"n": 100})).text(), "count");
        assert_eq!(details(&anna.call("shop__count", &json!({"n": 101})))["rule"], "large");
        // A condition that gives no answer counts against the call.
        assert_eq!(details(&anna.call("shop__count", &json!({"n": "many"})))["rule"], "large");
        assert_eq!(details(&anna.call("shop__count", &json!({})))["rule"], "large");
        assert_eq!(anna.call("shop__buy", &json!({"item": "gold"})).text(), "sold \"gold\"");
        assert_eq!(details(&ben.call("shop__buy", &json!({"item": "gold"})))["rule"], "named");
        assert_eq!(ben.call("shop__buy", &json!({"item": "tea"})).text(), "sold \"tea\"");
    }
}

#[test]
fn a_rule_that_cannot_be_read_leaves_those_in_effect() {
    let shop = Shop::open();
    let rules = |when: &str| {
        format!("policy: {{rules: [{{id: kept, effect: deny, tools: [buy], when: \"{when}\"}}]}}\n")
    };
    let gateway = gateway(&shop, "", &rules("arguments.item == 1"));
    let client = caller(&gateway, Era::Modern, "anna");
    assert_eq!(details(&client.call("shop__buy", &json!({"item": 1})))["rule"], "kept");
    gateway.rewrite(&shop.config("", &rules("arguments.item ==")));
    gateway.log().until("the configuration was not reloaded");
    assert_eq!(details(&client.call("shop__buy", &json!({"item": 1})))["rule"], "kept");
    let health = Connection::open(gateway.address()).exchange("GET", "/health", &[], b"").json();
    assert_eq!(health["status"], "degraded");
    let problem = health["reload_problem"].as_str().unwrap();
    assert!(problem.contains("policy.rules[0].when: the condition is not valid CEL"), "{problem}");
}

#[test]
fn a_server_offers_what_its_record_says() {
    let shop = Shop::open();
    for (record, sections, expected) in [
        ("allowed_tools: [\"b*\", hold]", "", &["shop__buy", "shop__hold", "shop__break"][..]),
        ("allowed_tools: [\"b*\"], denied_tools: [break]", "", &["shop__buy"]),
        ("allowed_tools: []", "", &[]),
        // Without a policy the record still counts, and without this line the policy would say no more.
        ("allowed_tools: [buy, hold], denied_tools: [hold]", "policy: {enabled: false}\n", &["shop__buy"]),
    ] {
        let gateway = Setup::new().config(&shop.config(record, sections)).start();
        for era in Era::BOTH {
            let client = caller(&gateway, era, "anyone");
            assert_eq!(listed(&client, "tools/list", "tools", "name"), expected, "{record}");
            let hidden = client.call("shop__long", &json!({"bytes": 1}));
            assert_eq!((hidden.code(), hidden.error()), (-32602, "Unknown tool: shop__long"), "{record}");
        }
    }
}

#[test]
fn the_terms_are_shown_with_each_tool() {
    let shop = Shop::open();
    let sections = "prices: {tools: [{tools: [buy], price: 0.25}]}\n\
        quotas: [{id: daily, callers: [guest], tools: [buy, count], calls_per_day: 9, budget_per_month: 3}]\n\
        policy: {approval: [{tools: [hold], mode: always}]}\n";
    let gateway = gateway(&shop, "", sections);
    for era in Era::BOTH {
        let terms = |name: &str, tool: &str| {
            let listed = caller(&gateway, era, name).request("tools/list", &json!({}));
            let tools = listed.result()["tools"].as_array().unwrap().clone();
            let tool = tools.into_iter().find(|found| found["name"] == tool).unwrap();
            tool["_meta"]["io.toolgate/terms"].clone()
        };
        let limits = json!([{"rule": "daily", "measure": "budget_per_month", "limit": 3_000_000},
                            {"rule": "daily", "measure": "calls_per_day", "limit": 9}]);
        assert_eq!(
            terms("guest", "shop__buy"),
            json!({"price": 250_000, "limits": limits, "approval": "never"})
        );
        assert_eq!(
            terms("guest", "shop__count"),
            json!({"price": null, "limits": limits, "approval": "never"})
        );
        assert_eq!(terms("anna", "shop__buy"), json!({"price": 250_000, "limits": [], "approval": "never"}));
        assert_eq!(terms("anna", "shop__count"), json!(null));
        assert_eq!(terms("anna", "shop__hold"), json!({"price": null, "limits": [], "approval": "always"}));
    }
}
