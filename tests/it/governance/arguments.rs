//! Arguments are checked against the tool's schema before anything runs.

use harness::Era;
use serde_json::{Value, json};

use super::shop::Shop;
use super::{caller, gateway};

#[test]
fn arguments_that_do_not_fit_say_where() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "quotas: [{id: few, calls_per_day: 2}]\n");
    for era in Era::BOTH {
        let client = caller(&gateway, era, era.word());
        for (arguments, path) in [
            (json!({"n": "one"}), "/n"),
            (json!({"n": 1.5}), "/n"),
            (json!({"n": null}), "/n"),
            (json!({"n": 1, "note": 5}), "/note"),
            (json!({"n": 1, "deep": {"flag": "yes"}}), "/deep/flag"),
            (json!({}), ""),
        ] {
            let refused = client.call("shop__count", &arguments);
            assert_eq!(refused.code(), -32602, "{arguments}: {}", refused.answer);
            let data = &refused.answer["error"]["data"];
            assert_eq!(
                (&data["details"]["path"], &data["retryable"]),
                (&json!(path), &json!(false)),
                "{arguments}"
            );
        }
        let missing = client.request("tools/call", &json!({"name": "shop__count"}));
        assert_eq!(missing.code(), -32602, "{}", missing.answer);
        // Many clients write null for what they leave out; and none of the calls above was counted.
        for arguments in [json!({"n": 1}), json!({"n": 2, "note": null, "deep": null})] {
            assert_eq!(client.call("shop__count", &arguments).text(), "count", "{arguments}");
        }
    }
    assert_eq!(shop.orders("count"), 4);
}

#[test]
fn a_name_that_stands_twice_is_refused_where_somebody_looks() {
    let shop = Shop::open();
    let rule = "{effect: deny, tools: [buy], when: \"arguments.amount > 100\"}";
    let gateway = gateway(&shop, "", &format!("policy: {{rules: [{rule}]}}\n"));
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        let call = |tool: &str, arguments: &str| {
            let message = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
                "params": client.params(&json!({"name": tool, "arguments": {"PLACE": 0}}))});
            let body = message.to_string().replace(r#"{"PLACE":0}"#, arguments);
            client.post_raw(body.as_bytes(), &client.headers(&message)).json()
        };
        for (tool, arguments) in
            [("shop__buy", r#"{"amount":5000,"amount":1}"#), ("shop__count", r#"{"n":"1","n":1}"#)]
        {
            let refused = call(tool, arguments);
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
        }
        assert!(call("shop__buy", r#"{"amount":1}"#).get("result").is_some());
    }
    assert_eq!((shop.orders("buy"), shop.orders("count")), (2, 0));
}

#[test]
fn arguments_arrive_as_they_were_sent() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "quotas: [{calls_per_day: 5}]\n");
    let arguments = json!({"item": {"z": 1, "a": [null, 1.50, "é"]}, "null": null});
    let client = caller(&gateway, Era::Legacy, "anna");
    let sold = client.call("shop__buy", &arguments);
    let text: Value = serde_json::from_str(sold.text().strip_prefix("sold ").unwrap()).unwrap();
    assert_eq!(text, arguments["item"]);
}
