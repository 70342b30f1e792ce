//! Calls that wait for somebody to agree.

use harness::http::Connection;
use harness::{Client, Era, Exchange, Gateway, Setup, eventually};
use serde_json::{Value, json};
use toolgate_ledger::Status;

use super::shop::Shop;
use super::{caller, details, gateway};
use crate::ledger::records;

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

/// Asks the interface of operators, which opens with "sesame".
pub(super) fn operators(gateway: &Gateway, method: &str, path: &str, body: &Value) -> Value {
    let headers = [("authorization", "Bearer sesame"), ("content-type", "application/json")];
    let path = format!("/admin/api/v1{path}");
    Connection::open(gateway.address()).exchange(method, &path, &headers, body.to_string().as_bytes()).json()
}

#[test]
fn what_a_record_leaves_to_the_rules_they_decide_alone() {
    let shop = Shop::open();
    let record = "approval: always, tool_approvals: {\"b*\": policy}";
    let rules = "policy: {approval: [{tools: [break], mode: always, by: user, timeout: 20s}]}\n";
    let gateway = gateway(&shop, record, rules);
    let client = caller(&gateway, Era::Modern, "anna");
    assert_eq!(client.call("shop__buy", &json!({"item": 1})).text(), "sold 1", "no rule asks for this");
    let mut asked = 0;
    let refused = client.call_answering("shop__break", &json!({}), |_, _| {
        asked += 1;
        json!({"action": "decline"})
    });
    assert_eq!((&details(&refused)["stage"], asked), (&json!("approval"), 1));
}

#[test]
fn an_operator_decides_and_the_wait_is_seen_as_progress() {
    let shop = Shop::open();
    let sections = "callers: {trust_client_id_header: true}\nruntime: {progress_after: 200ms}\n\
        admin: {listen: /admin, token_env: OPERATORS}\n\
        policy: {approval: [{tools: [buy], mode: always, by: operator, timeout: 60s}]}\n";
    let gateway = Setup::new().config(&shop.config("", sections)).variable("OPERATORS", "sesame").start();
    for era in Era::BOTH {
        for (approve, reason) in [(true, Value::Null), (false, json!("not on a Friday"))] {
            let client = caller(&gateway, era, "anna");
            let sold = shop.orders("buy");
            let params = json!({"name": "shop__buy", "arguments": {"item": 1, "password": "hidden"},
                                "_meta": {"progressToken": "mine"}});
            let mut pending = client.begin("tools/call", &params);
            let waiting = eventually("the call waits", || {
                let answer = operators(&gateway, "GET", "/approvals", &Value::Null);
                answer["approvals"].get(0).cloned()
            });
            assert_eq!(
                (&waiting["caller"], &waiting["tool"], &waiting["rule"]),
                (&json!("anna"), &json!("shop__buy"), &json!("policy.approval[0]"))
            );
            assert_eq!(waiting["arguments"]["item"], 1);
            assert_ne!(waiting["arguments"]["password"], "hidden");
            // At once, and again for as long as it lasts.
            for _ in 0..2 {
                let news = pending.next().unwrap();
                assert_eq!(
                    (&news["params"]["progressToken"], &news["params"]["message"]),
                    (&json!("mine"), &json!("waiting for approval"))
                );
            }
            assert_eq!(shop.orders("buy"), sold, "nothing runs before somebody agrees");
            let path = format!("/approvals/{}", waiting["id"]);
            let decided = operators(&gateway, "POST", &path, &json!({"approve": approve, "reason": reason}));
            assert_eq!(decided["approved"], approve, "{decided}");
            let answer = pending.finish();
            match approve {
                true => assert_eq!(answer.text(), "sold 1"),
                false => assert!(answer.error().contains("not on a Friday"), "{}", answer.error()),
            }
            assert_eq!(shop.orders("buy"), sold + usize::from(approve));
        }
    }
}

#[test]
fn an_operator_sees_no_secrets_where_there_is_no_ledger() {
    let shop = Shop::open();
    let sections = "callers: {trust_client_id_header: true}\nledger: {enabled: false, redact: [{keys: [pin]}]}\n\
        admin: {listen: /admin, token_env: OPERATORS}\n\
        policy: {approval: [{tools: [buy], mode: always, by: operator, timeout: 60s}]}\n";
    let gateway = Setup::new().config(&shop.config("", sections)).variable("OPERATORS", "sesame").start();
    let client = caller(&gateway, Era::Modern, "anna");
    let arguments = json!({"item": "shown", "password": "hidden", "pin": "hidden"});
    let pending = client.begin("tools/call", &json!({"name": "shop__buy", "arguments": arguments}));
    let waiting = eventually("the call waits", || {
        operators(&gateway, "GET", "/approvals", &Value::Null)["approvals"].get(0).cloned()
    });
    assert!(waiting.to_string().contains("shown"), "{waiting}");
    assert!(!waiting.to_string().contains("hidden"), "{waiting}");
    pending.leave();
}

#[test]
fn a_user_who_does_not_answer_in_time_is_not_waited_for() {
    let shop = Shop::open();
    let sections = "quotas: [{id: one, concurrency: 1}]\n\
        policy: {approval: [{tools: [buy], mode: always, by: user, timeout: 1s}]}\n";
    let mut gateway = gateway(&shop, "", sections);
    let params = json!({"name": "shop__buy", "arguments": {"item": 1}});

    let legacy = caller(&gateway, Era::Legacy, "anna");
    let refused = legacy.request("tools/call", &params);
    assert_eq!(refused.before[0]["method"], "elicitation/create");
    assert!(refused.error().contains("did not answer in time"), "{}", refused.error());

    let modern = caller(&gateway, Era::Modern, "ben");
    let asked = modern.request("tools/call", &params);
    let state = &asked.result()["requestState"];
    let free = || modern.call("shop__count", &json!({"n": 1}));
    assert_eq!(details(&free())["measure"], "concurrency", "the call holds its place while it waits");
    eventually("its place becomes free", || free().answer.get("result").map(drop));
    let agreed = json!({"question-1": {"action": "accept", "content": {"approve": true}}});
    let late = json!({"name": "shop__buy", "arguments": {"item": 1}, "requestState": state, "inputResponses": agreed});
    let refused = modern.request("tools/call", &late);
    assert_eq!(details(&refused)["stage"], "approval");
    assert!(refused.error().contains("did not answer in time"), "{}", refused.error());
    assert_eq!(shop.orders("buy"), 0);
    assert!(gateway.stop().success());
    let denied = records(&gateway).into_iter().filter(|one| one.native == "buy");
    assert!(denied.map(|one| one.status).eq([Status::Denied, Status::Denied]));
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
