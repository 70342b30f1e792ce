//! Who may do what, at what price: the gate, as callers meet it.

mod approval;
mod arguments;
mod callers;
mod generated;
mod hidden;
mod kept;
mod limits;
mod live;
mod narrowing;
mod output;
mod parallel;
mod rules;
mod scopes;
pub(crate) mod shop;
mod strangers;
mod survival;
mod tasks;
mod tokens;

use harness::{Client, Era, Exchange, Gateway, Setup};
use serde_json::Value;
use shop::Shop;

/// The code for what is refused by a rule, a limit or a person.
pub(crate) const DENIED: i64 = -32003;

/// A gateway before a shop: more keys for the shop's record, and more sections of the configuration. Callers are who
/// they say they are.
pub(crate) fn gateway(shop: &Shop, record: &str, sections: &str) -> Gateway {
    let sections = format!("callers: {{trust_client_id_header: true}}\n{sections}");
    Setup::new().config(&shop.config(record, &sections)).start()
}

/// Another gateway where one has ended.
pub(crate) fn restarted(ended: Gateway, config: &str) -> Gateway {
    let setup = Setup::new().after(&ended).config(config);
    drop(ended);
    setup.start()
}

/// A client that says who it is.
pub(crate) fn caller(gateway: &Gateway, era: Era, name: &str) -> Client {
    Client::presenting(gateway, era, &[("x-mcp-client-id", name)])
}

/// The names in one of a client's lists.
fn listed(client: &Client, method: &str, list: &str, key: &str) -> Vec<String> {
    let exchange = client.request(method, &serde_json::json!({}));
    let items = exchange.result()[list].as_array().unwrap().clone();
    items.iter().map(|item| item[key].as_str().unwrap().to_owned()).collect()
}

/// What a refusal says beside its words.
pub(crate) fn details(exchange: &Exchange) -> &Value {
    assert_eq!(exchange.code(), DENIED, "{}", exchange.answer);
    &exchange.answer["error"]["data"]["details"]
}
