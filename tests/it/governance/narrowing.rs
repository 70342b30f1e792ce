//! What a request leaves out of what its caller may see.

use harness::{Client, Era, Gateway};
use serde_json::{Value, json};

use super::shop::Shop;
use super::{caller, gateway};

/// The tools in the list of a request with this wish.
fn tools(client: &Client, wish: &Value) -> Vec<String> {
    let listed = client.request("tools/list", &params(wish));
    let tools = listed.result()["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn params(wish: &Value) -> Value {
    json!({"_meta": {"io.toolgate/narrow": wish}})
}

fn with_header(gateway: &Gateway, era: Era, header: &str) -> Client {
    Client::presenting(gateway, era, &[("x-mcp-client-id", "anna"), ("x-toolgate-tools", header)])
}

#[test]
fn a_request_lists_and_calls_what_it_leaves() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "policy: {rules: [{effect: hide, tools: [vault]}]}\n");
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        let all = tools(&client, &json!({}));
        assert!(all.len() > 5);
        assert_eq!(tools(&client, &json!({"allowed_tools": ["shop__b*"]})), ["shop__buy", "shop__break"]);
        assert_eq!(
            tools(&client, &json!({"allowed_tools": ["shop__b*"], "denied_tools": ["break"]})),
            ["shop__buy"]
        );
        assert!(tools(&client, &json!({"servers": ["other"]})).is_empty());
        // A wish opens nothing.
        assert!(tools(&client, &json!({"allowed_tools": ["shop__vault"]})).is_empty());
        // The next request is not bound by it.
        assert_eq!(tools(&client, &json!({})), all);

        let call = |wish: &Value| {
            let mut params = params(wish);
            params["name"] = json!("shop__buy");
            params["arguments"] = json!({"item": 1});
            client.request("tools/call", &params)
        };
        assert_eq!(call(&json!({"allowed_tools": ["shop__b*"]})).text(), "sold 1");
        let left_out = call(&json!({"denied_tools": ["shop__b*"]}));
        assert_eq!((left_out.code(), left_out.error()), (-32602, "Unknown tool: shop__buy"));
    }
    // The server hears nothing of it.
    assert_eq!(shop.orders("buy"), 2);
    assert!(shop.last_order()["_meta"].get("io.toolgate/narrow").is_none());
}

#[test]
fn a_header_does_the_same_for_clients_that_cannot_set_meta() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "");
    for era in Era::BOTH {
        let client = with_header(&gateway, era, "shop__b*, !shop__break");
        assert_eq!(tools(&client, &json!({})), ["shop__buy"]);
        assert_eq!(client.call("shop__buy", &json!({"item": 2})).text(), "sold 2");
        assert_eq!(client.call("shop__break", &json!({})).error(), "Unknown tool: shop__break");
        // Both wishes hold.
        assert!(tools(&client, &json!({"allowed_tools": ["shop__count"]})).is_empty());
    }
}

#[test]
fn a_wish_that_cannot_be_read_ends_the_request() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", "");
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        for wish in [json!(["shop__buy"]), json!({"allowed": []}), json!({"allowed_tools": [""]})] {
            for method in ["tools/list", "resources/list"] {
                let refused = client.request(method, &params(&wish));
                assert_eq!(refused.code(), -32602, "{wish}");
                assert!(refused.error().contains("io.toolgate/narrow"), "{}", refused.error());
            }
        }
        let refused = with_header(&gateway, era, "shop__buy,,").call("shop__buy", &json!({"item": 1}));
        assert_eq!(refused.code(), -32602);
        assert!(refused.error().contains("X-Toolgate-Tools"), "{}", refused.error());
    }
    assert_eq!(shop.orders("buy"), 0);
}
