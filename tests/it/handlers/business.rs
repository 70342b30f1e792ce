//! The example project through the gateway, as its own configuration starts it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use harness::{Client, Era, Setup};
use serde_json::{Value, json};

use super::{EXECUTION_ERROR, python, root};

const DENIED: i64 = -32003;

fn shop() -> (Setup, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new()
        .arguments(["--config".into(), root().join("examples/business/toolgate.yaml")])
        .set(&format!("handlers.shop.python={}", python().display()))
        .variable("SHOP_DATABASE", folder.path().join("shop.db").to_str().unwrap());
    (setup, folder)
}

/// The web service of the example, on a free port. It ends with this.
struct Rates(Child, u16);

impl Rates {
    fn open() -> Rates {
        let program = root().join("examples/business/rates.py");
        let mut child = Command::new(python()).arg(program).arg("0").stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        Rates(child, port)
    }

    /// The example with its skills before this service, and further sections.
    fn shop(&self, sections: &str) -> (Setup, tempfile::TempDir) {
        let (setup, folder) = shop();
        let skill = "finance/exchange-rates/SKILL.md";
        let text = fs::read_to_string(root().join("examples/business/skills").join(skill)).unwrap();
        let copy = folder.path().join("skills").join(skill);
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::write(&copy, text.replace("127.0.0.1:8790", &format!("127.0.0.1:{}", self.1))).unwrap();
        let config = format!(
            "skills: {{dir: {}}}\negress: {{private: [\"127.0.0.1:{}\"]}}\n{sections}",
            folder.path().join("skills").display(),
            self.1
        );
        (setup.config(&config), folder)
    }
}

impl Drop for Rates {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn order() -> Value {
    json!({"customer": "Ada", "lines": [{"sku": "MUG-01", "quantity": 2}]})
}

fn accept(method: &str, params: &Value) -> Value {
    assert_eq!(method, "elicitation/create");
    assert!(params["message"].as_str().unwrap().contains("of Ada for 19"), "{params}");
    json!({"action": "accept", "content": {"sure": true}})
}

#[test]
fn functions_of_many_signatures_are_tools_over_http() {
    let (setup, _folder) = shop();
    let gateway = setup.set("handlers.shop.processes=2").start();
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        let tools = client.request("tools/list", &json!({})).result()["tools"].clone();
        let of_shop = |tool: &&Value| tool["name"].as_str().unwrap().starts_with("shop__");
        assert_eq!(tools.as_array().unwrap().iter().filter(of_shop).count(), 12, "{tools}");
        let placed = client.call("shop__place_order", &order());
        let number = placed.result()["structuredContent"]["id"].clone();
        let found = client.call("shop__find_orders", &json!({"customer": "Ada", "sort": "oldest"}));
        assert!(found.text().contains("MUG-01"), "{}", found.answer);
        let shipping =
            json!({"to": {"street": "Rue 1", "city": "Paris", "postcode": "75001"}, "weight_kg": "1.5"});
        let quotes = client.call("shop__quote_shipping", &shipping);
        assert!(quotes.text().contains("swift"), "{}", quotes.answer);
        let chart = client.call("shop__stock_chart", &json!({}));
        assert_eq!(chart.result()["content"][0]["mimeType"], "image/png");
        let counts = json!([["MUG-01", 30], ["PEN-10", 70]]);
        let params = json!({"name": "shop__take_stock", "arguments": {"counts": counts}, "_meta": {"progressToken": 7}});
        let taken = client.request("tools/call", &params);
        let steps: Vec<_> = taken.before.iter().map(|news| news["params"]["progress"].clone()).collect();
        assert_eq!(json!(steps), json!([1, 2]), "{}", taken.answer);
        let cancelled = client.call_answering("shop__cancel_order", &json!({"order_id": number}), accept);
        assert_eq!(cancelled.text(), format!("order {number} is cancelled"), "{}", cancelled.answer);
    }
}

#[test]
fn what_goes_wrong_is_said_to_the_client() {
    let (setup, _folder) = shop();
    let gateway = setup.start();
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        let refused = client.call("shop__get_order", &json!({"order_id": 99}));
        assert_eq!(refused.result()["isError"], true);
        assert_eq!(refused.result()["_meta"]["io.toolgate/error"]["code"], EXECUTION_ERROR);
        let unfit = client.call("shop__get_order", &json!({"order_id": "first"}));
        assert!(unfit.answer.to_string().contains("order_id"), "{}", unfit.answer);
    }
}

#[test]
fn functions_are_tools_over_stdio() {
    let (setup, _folder) = shop();
    let mut client = setup.start_stdio();
    client.initialize("2025-11-25", &json!({"elicitation": {}}));
    let placed = client.request("tools/call", &json!({"name": "shop__place_order", "arguments": order()}));
    let number = &placed["result"]["structuredContent"]["id"];
    let arguments = json!({"order_id": number});
    let id = client.ask("tools/call", &json!({"name": "shop__cancel_order", "arguments": arguments}));
    let question = client.until(|message| message["method"] == "elicitation/create");
    let reply = accept("elicitation/create", &question["params"]);
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": reply}));
    let answer = client.until(|message| message["id"] == json!(id) && message.get("method").is_none());
    assert_eq!(answer["result"]["content"][0]["text"], format!("order {number} is cancelled"));
}

#[test]
fn what_a_handler_costs_counts_unless_the_operator_says_otherwise() {
    // place_order names 0.01.
    for (prices, affordable) in [("[]", 2), ("[{tools: [place_order], price: 0.005}]", 4)] {
        let (setup, _folder) = shop();
        let rules =
            format!("quotas: [{{id: pocket, budget_per_month: 0.02}}]\nprices: {{tools: {prices}}}\n");
        let gateway = setup.config(&rules).start();
        let client = Client::modern(&gateway);
        for number in 1..=affordable {
            let placed = client.call("shop__place_order", &order());
            assert_ne!(placed.result()["isError"], true, "{number}: {}", placed.answer);
        }
        let refused = client.call("shop__place_order", &order());
        assert_eq!(refused.code(), DENIED, "{}", refused.answer);
        assert_eq!(refused.answer["error"]["data"]["details"]["rule"], "pocket");
        assert!(client.call("shop__list_articles", &json!({})).text().contains("MUG-01"), "it costs nothing");
    }
}

#[test]
fn the_tool_of_a_skill_asks_the_web_service() {
    let rates = Rates::open();
    // The skill names 0.001 as the price of a call.
    let (setup, _folder) = rates.shop("quotas: [{id: pocket, budget_per_month: 0.002}]\n");
    let gateway = setup.start();
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        let rate = client.call("bindings__exchange_rate", &json!({"base": "EUR", "target": "USD"}));
        assert_eq!(rate.result()["structuredContent"], json!({"USD": 1.0842}), "{}", rate.answer);
    }
    let refused =
        Client::modern(&gateway).call("bindings__exchange_rate", &json!({"base": "EUR", "target": "USD"}));
    assert_eq!(refused.code(), DENIED, "{}", refused.answer);
}
