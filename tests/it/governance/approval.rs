//! Calls that wait for somebody to agree.

use harness::{Client, Era, Exchange};
use serde_json::{Value, json};

use super::shop::Shop;
use super::{caller, details, gateway};

const BY_USER: &str = "prices: {tools: [{tools: [buy], price: 1}]}\nquotas: [{budget_per_month: 2}]\n\
     policy: {approval: [{tools: [buy], when: \"arguments.item == 'gold'\", mode: always, by: user, timeout: 20s}]}\n";

fn buy_answering(client: &Client, item: &str, reply: &Value) -> (Exchange, Vec<Value>) {
    let mut questions = Vec::new();
    let exchange = client.call_answering("shop__buy", &json!({"item": item}), |method, params| {
        assert_eq!(method, "elicitation/create");
        questions.push(params.clone());
        reply.clone()
    });
    (exchange, questions)
}

#[test]
fn the_user_is_asked_and_decides() {
    for era in Era::BOTH {
        let shop = Shop::open();
        let gateway = gateway(&shop, "", BY_USER);
        let client = caller(&gateway, era, "anna");
        for refusal in [
            json!({"action": "decline"}),
            json!({"action": "cancel"}),
            json!({"action": "accept", "content": {"approve": false}}),
            json!({"action": "accept"}),
        ] {
            let (refused, questions) = buy_answering(&client, "gold", &refusal);
            assert_eq!(questions.len(), 1);
            let message = questions[0]["message"].as_str().unwrap();
            assert!(message.contains("shop__buy") && message.contains("gold"), "{message}");
            assert_eq!(details(&refused)["stage"], "approval", "{refusal}");
            assert!(refused.error().contains("did not agree"), "{}", refused.error());
        }
        assert_eq!(shop.orders("buy"), 0);
        // Nothing of the budget went to what was refused.
        let agreed = json!({"action": "accept", "content": {"approve": true}});
        let (bought, questions) = buy_answering(&client, "gold", &agreed);
        assert_eq!((bought.text(), questions.len()), ("sold \"gold\"", 1));
        let (bought, questions) = buy_answering(&client, "tea", &agreed);
        assert_eq!((bought.text(), questions.len()), ("sold \"tea\"", 0), "no rule asks for this");
        let (refused, questions) = buy_answering(&client, "gold", &agreed);
        assert_eq!(
            (&details(&refused)["stage"], questions.len()),
            (&json!("budget"), 0),
            "nobody is bothered in vain"
        );
    }
}

#[test]
fn a_client_whose_user_cannot_be_asked_is_refused() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", BY_USER);
    for era in Era::BOTH {
        let refused = Client::able(&gateway, era, json!({})).call("shop__buy", &json!({"item": "gold"}));
        assert_eq!(details(&refused)["stage"], "approval");
        assert!(refused.error().contains("no elicitation"), "{}", refused.error());
    }
    assert_eq!(shop.orders("buy"), 0);
}

#[test]
fn a_call_that_no_operator_decides_is_refused_in_time_and_says_that_it_waits() {
    let shop = Shop::open();
    let sections = "policy: {approval: [{tools: [buy], mode: always, by: operator, timeout: 1s}]}\n";
    let gateway = gateway(&shop, "", sections);
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        let params =
            json!({"name": "shop__buy", "arguments": {"item": 1}, "_meta": {"progressToken": "mine"}});
        let refused = client.request("tools/call", &params);
        assert_eq!(details(&refused)["stage"], "approval");
        assert!(refused.error().contains("nobody agreed in time"), "{}", refused.error());
        assert_eq!(refused.before[0]["params"]["progressToken"], "mine");
        assert_eq!(refused.before[0]["params"]["message"], "waiting for approval");
    }
    assert_eq!(shop.orders("buy"), 0);
}

#[test]
fn the_longest_pattern_of_a_server_decides_about_approval() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "tool_approvals: {\"b*\": always, buy: never}", "");
    let listed = caller(&gateway, Era::Modern, "anna").request("tools/list", &json!({}));
    let tools = listed.result()["tools"].as_array().unwrap();
    let shown = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
        tool["_meta"]["io.toolgate/terms"]["approval"].clone()
    };
    assert_eq!((shown("shop__break"), shown("shop__buy")), (json!("always"), json!(null)));
    assert_eq!(caller(&gateway, Era::Modern, "anna").call("shop__buy", &json!({"item": 1})).text(), "sold 1");
}
