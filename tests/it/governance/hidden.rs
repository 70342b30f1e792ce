//! What is hidden does not exist: every way to ask for it gives, byte for byte, what something gives that never was.

use harness::{Client, Era, Exchange, Gateway, Setup, Upstream};
use serde_json::{Value, json};

use super::shop::Shop;
use super::{caller, gateway, listed};

/// Hides the vault, and all that is in it, from strangers.
const POLICY: &str = "policy: {rules: [\n\
     {effect: hide, callers: [stranger], tools: [vault, headed]},\n\
     {effect: hide, callers: [stranger], prompts: [vault]},\n\
     {effect: hide, callers: [stranger], resources: [\"shop://vault\", \"shop://safe/*\"]}]}\n";

/// An answer without what the client itself said: the id, and the name it asked for.
fn told(exchange: &Exchange, name: &str) -> String {
    let id = format!("\"id\":{}", exchange.answer["id"]);
    let body = exchange.raw.replace(&id, "\"id\":0").replace(name, "NAME");
    format!("{} {:?} {body}", exchange.status, exchange.head.header_names())
}

fn check_same(client: &Client, method: &str, params: impl Fn(&str) -> Value, hidden: &str, missing: &str) {
    assert_eq!(hidden.len(), missing.len(), "the length of the answer is compared too");
    let of_hidden = client.request(method, &params(hidden));
    let of_missing = client.request(method, &params(missing));
    assert_eq!(told(&of_hidden, hidden), told(&of_missing, missing), "{method}");
}

/// Plays a scene behind a gateway with the shop alone, and with another server that has resources too: only the first
/// passes on what nobody lists.
fn alone_and_in_company(scene: impl Fn(&Gateway)) {
    let shop = Shop::open();
    scene(&gateway(&shop, "", POLICY));
    let company = Upstream::start(Era::Legacy, &[]);
    let sections = format!("callers: {{trust_client_id_header: true}}\n{POLICY}");
    scene(&Setup::new().config(&shop.config("", &sections)).server("other", company.url()).start());
    assert_eq!(shop.orders("vault") + shop.orders("headed"), 0);
}

#[test]
fn hidden_is_unknown() {
    let named = |name: &str| json!({"name": name, "arguments": {}});
    let at = |uri: &str| json!({"uri": uri});
    let prompt = |name: &str| {
        json!({"ref": {"type": "ref/prompt", "name": name},
                                      "argument": {"name": "a", "value": "1"}})
    };
    let template = |uri: &str| {
        json!({"ref": {"type": "ref/resource", "uri": uri},
                                      "argument": {"name": "number", "value": "1"}})
    };
    alone_and_in_company(|gateway| {
        for era in Era::BOTH {
            let stranger = caller(gateway, era, "stranger");
            check_same(&stranger, "tools/call", named, "shop__vault", "shop__dream");
            // The header that this tool wants of modern clients is missing, but there is no such tool.
            check_same(&stranger, "tools/call", named, "shop__headed", "shop__dreams");
            check_same(&stranger, "prompts/get", named, "shop__vault", "shop__dream");
            check_same(&stranger, "resources/read", at, "shop://vault", "shop://dream");
            check_same(&stranger, "resources/read", at, "shop://safe/1", "shop://none/1");
            check_same(&stranger, "completion/complete", prompt, "shop__vault", "shop__dream");
            check_same(
                &stranger,
                "completion/complete",
                template,
                "shop://safe/{number}",
                "shop://none/{number}",
            );
            if era == Era::Legacy {
                check_same(&stranger, "resources/subscribe", at, "shop://vault", "shop://dream");
                check_same(&stranger, "resources/unsubscribe", at, "shop://vault", "shop://dream");
            }
            let owner = caller(gateway, era, "owner");
            owner.request("resources/read", &at("shop://vault")).result();
            owner.request("completion/complete", &prompt("shop__vault")).result();
            owner.request("completion/complete", &template("shop://safe/{number}")).result();
        }
    });
}

#[test]
fn lists_are_those_of_the_caller() {
    let shop = Shop::open();
    let gateway = gateway(&shop, "", POLICY);
    for era in Era::BOTH {
        for (name, sees) in [("stranger", false), ("owner", true)] {
            let client = caller(&gateway, era, name);
            let has = |method: &str, list: &str, key: &str, what: &str| {
                listed(&client, method, list, key).contains(&what.to_owned())
            };
            assert_eq!(has("tools/list", "tools", "name", "shop__vault"), sees, "{name}");
            assert_eq!(has("prompts/list", "prompts", "name", "shop__vault"), sees, "{name}");
            assert_eq!(has("resources/list", "resources", "uri", "shop://vault"), sees, "{name}");
            let templates = ("resources/templates/list", "resourceTemplates", "uriTemplate");
            assert_eq!(has(templates.0, templates.1, templates.2, "shop://safe/{number}"), sees, "{name}");
            assert!(has("tools/list", "tools", "name", "shop__buy"));
            assert!(has("prompts/list", "prompts", "name", "shop__welcome"));
            assert!(has("resources/list", "resources", "uri", "shop://window"));
            assert!(has(templates.0, templates.1, templates.2, "shop://shelf/{number}"));
        }
        let owner = caller(&gateway, era, "owner");
        assert_eq!(owner.call("shop__vault", &json!({})).text(), "vault");
        let read = owner.request("resources/read", &json!({"uri": "shop://vault"}));
        assert_eq!(read.result()["contents"][0]["text"], "things");
    }
}

#[test]
fn a_modern_client_hears_of_hidden_resources_what_it_hears_of_missing_ones() {
    alone_and_in_company(|gateway| {
        let accepted = |name: &str, uri: &str| {
            let params = json!({"notifications": {"resourceSubscriptions": [uri]}});
            let mut pending = caller(gateway, Era::Modern, name).begin("subscriptions/listen", &params);
            let acknowledged = pending.next().unwrap();
            pending.leave();
            acknowledged["params"]["notifications"]["resourceSubscriptions"] == json!([uri])
        };
        assert_eq!(accepted("stranger", "shop://vault"), accepted("stranger", "shop://dream"));
        assert!(accepted("stranger", "shop://window") && accepted("owner", "shop://vault"));
    });
}
