//! Tools that need no code: frontmatter and OpenAPI documents before a web service.

mod limits;
mod live;

use std::fs;
use std::path::Path;

use harness::{Client, Era, Gateway, Setup, Website, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;
use toolgate_ledger::{Kind, Status};

use crate::governance::{DENIED, caller};
use crate::ledger::records;

/// A skill with a tool that asks the service at this port.
fn skill(port: u16, description: &str) -> String {
    format!(
        "---\nname: rates\ndescription: Exchange rates\ntools:\n  - name: rate\n    description: {description}\n    \
         read_only: true\n    input:\n      type: object\n      properties: {{day: {{type: string, default: latest}}, base: {{type: string}}}}\n      \
         required: [base]\n    http:\n      url: http://127.0.0.1:{port}/v1/{{day}}\n      query: {{base: \"{{base}}\"}}\n      \
         headers: {{X-Key: \"${{ENV:RATES_KEY}}\"}}\n      result: /rates\n---\n# Rates\n"
    )
}

fn write_skill(folder: &Path, text: &str) {
    let place = folder.join("finance/rates");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("fresh"), text).unwrap();
    fs::rename(place.join("fresh"), place.join("SKILL.md")).unwrap();
}

fn rates() -> Website {
    Website::open(|heard| match heard.line.as_str() {
        line if line.contains("/nothing") => (404, json!({"error": "no such day"})),
        _ => (200, json!({"base": "EUR", "rates": {"USD": 1.5}})),
    })
}

/// A gateway with the skill, and these sections.
fn gateway(website: &Website, sections: &str) -> (Gateway, TempDir) {
    let folder = TempDir::new().unwrap();
    write_skill(folder.path(), &skill(website.port(), "Tell a rate"));
    let head = format!(
        "skills: {{dir: {}}}\nbindings: {{secrets: [RATES_KEY]}}\ncallers: {{trust_client_id_header: true}}\n",
        folder.path().display()
    );
    let gateway = Setup::new().config(&format!("{head}{sections}")).variable("RATES_KEY", "s3cret").start();
    (gateway, folder)
}

fn here(website: &Website) -> String {
    format!("egress: {{private: [\"127.0.0.1:{}\"]}}\n", website.port())
}

fn tool_names(client: &Client) -> Vec<String> {
    let listed = client.request("tools/list", &json!({}));
    let tools = listed.result()["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_tool_of_a_skill_asks_a_web_service() {
    let website = rates();
    let (mut gateway, _folder) = gateway(&website, &here(&website));
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        let listed = client.request("tools/list", &json!({}));
        let tools = listed.result()["tools"].as_array().unwrap();
        let tool = tools.iter().find(|tool| tool["name"] == "bindings__rate").unwrap();
        assert_eq!(tool["annotations"]["readOnlyHint"], true);
        let answer = client.call("bindings__rate", &json!({"base": "E&R"}));
        assert_eq!(answer.result()["structuredContent"], json!({"USD": 1.5}), "{}", answer.answer);
        let heard = website.heard().pop().unwrap();
        assert_eq!(heard.line, "GET /v1/latest?base=E%26R HTTP/1.1");
        assert!(heard.head.contains("x-key: s3cret"), "{}", heard.head);
        let missing = client.call("bindings__rate", &json!({"base": "EUR", "day": "nothing"}));
        assert_eq!(missing.result()["isError"], true);
        assert!(
            missing.text().contains("404") && missing.text().contains("no such day"),
            "{}",
            missing.text()
        );
        let before = website.heard().len();
        let upwards = client.call("bindings__rate", &json!({"base": "EUR", "day": "../admin"}));
        assert_eq!(upwards.result()["isError"], true);
        assert_eq!(client.call("bindings__rate", &json!({})).code(), -32602, "the gate checks arguments");
        assert_eq!(website.heard().len(), before, "neither was sent");
    }
    assert!(gateway.stop().success());
    let records = records(&gateway);
    let first = &records[0];
    assert_eq!((first.kind, &*first.server, &*first.exposed), (Kind::ToolCall, "bindings", "bindings__rate"));
    assert_eq!((first.status, records[1].status), (Status::Ok, Status::ToolError));
    assert!(!gateway.log().text().contains("s3cret"));
}

#[test]
fn rules_hold_for_bound_tools() {
    let website = rates();
    let rules = "policy: {rules: [{effect: deny, callers: [stranger], tools: [rate]}]}\n";
    let (gateway, _folder) = gateway(&website, &format!("{}{rules}", here(&website)));
    let arguments = json!({"base": "EUR"});
    assert_eq!(caller(&gateway, Era::Modern, "stranger").call("bindings__rate", &arguments).code(), DENIED);
    assert!(website.heard().is_empty());
    caller(&gateway, Era::Modern, "anna").call("bindings__rate", &arguments).result();
}

#[test]
fn nothing_is_asked_that_the_operator_did_not_name() {
    let website = rates();
    let port = website.port();
    for (egress, words) in [
        (String::new(), "egress.allow"),
        (format!("egress: {{allow: [\"127.0.0.1:{port}\"]}}\n"), "not public"),
        ("egress: {private: [\"127.0.0.1\"]}\n".to_owned(), "egress.allow"),
        (format!("egress: {{private: [\"localhost:{port}\"]}}\n"), "egress.allow"),
    ] {
        let (gateway, _folder) = gateway(&website, &egress);
        let answer = Client::modern(&gateway).call("bindings__rate", &json!({"base": "EUR"}));
        assert_eq!(answer.result()["isError"], true, "{egress}");
        assert!(answer.text().contains(words), "{egress}: {}", answer.text());
    }
    assert!(website.heard().is_empty());
}

/// A document of a small shop.
fn shop(server: &str) -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Shop", "version": "1"},
        "servers": [{"url": server}],
        "security": [{"key": []}],
        "paths": {
            "/orders/{id}": {"get": {"operationId": "getOrder", "summary": "Read an order", "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
                {"name": "fields", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
            ]}},
            "/orders": {"post": {"operationId": "createOrder", "requestBody": {"required": true, "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Order"}}}}}},
            "/admin": {"delete": {"operationId": "deleteAll"}},
        },
        "components": {
            "schemas": {"Order": {"type": "object", "required": ["sku"], "properties": {"sku": {"type": "string"}}}},
            "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        },
    })
}

fn play_shop(gateway: &Gateway, website: &Website) {
    for era in Era::BOTH {
        let client = Client::new(gateway, era);
        eventually("the tools are there", || {
            (tool_names(&client) == ["shop__createOrder", "shop__getOrder"]).then_some(())
        });
        let read = client.call("shop__getOrder", &json!({"id": 7, "fields": ["a", "b"]}));
        let line = &read.result()["structuredContent"]["line"];
        assert_eq!(line, "GET /v1/orders/7?fields=a&fields=b HTTP/1.1", "{}", read.answer);
        let created = client.call("shop__createOrder", &json!({"body": {"sku": "tea"}}));
        assert_eq!(created.result()["structuredContent"]["body"], r#"{"sku":"tea"}"#);
        assert!(website.heard().pop().unwrap().head.contains("x-key: k3y"));
        assert_eq!(client.call("shop__createOrder", &json!({"body": {}})).code(), -32602);
    }
}

#[test]
fn an_openapi_file_becomes_tools() {
    let website = Website::echo();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("shop.json");
    fs::write(&file, shop("https://unused.example").to_string()).unwrap();
    let config = format!(
        "bindings: {{openapi: {{shop: {{file: {}, base_url: \"http://127.0.0.1:{}/v1\", exclude: [delete*], \
         auth: {{key: \"${{ENV:SHOP_KEY}}\"}}}}}}}}\n{}",
        file.display(),
        website.port(),
        here(&website)
    );
    let gateway = Setup::new().config(&config).variable("SHOP_KEY", "k3y").start();
    play_shop(&gateway, &website);
}

#[test]
fn an_openapi_document_is_fetched() {
    let website = Website::open(|heard| match heard.line.contains("/openapi.json") {
        true => (200, shop("/v1")),
        false => (200, json!({"line": heard.line, "body": heard.body})),
    });
    let config = format!(
        "bindings: {{openapi: {{shop: {{url: \"http://127.0.0.1:{}/openapi.json\", exclude: [delete*], \
         auth: {{key: k3y}}}}}}}}\n{}",
        website.port(),
        here(&website)
    );
    let gateway = Setup::new().config(&config).start();
    play_shop(&gateway, &website);
}
