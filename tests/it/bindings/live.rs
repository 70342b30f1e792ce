//! Bound tools that change while clients work: with their skills, their documents and the configuration.

use std::fs;
use std::path::Path;

use harness::{Client, Gateway, Pending, Setup, Website, eventually};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::{gateway, here, rates, shop, skill, tool_names, write_skill};
use crate::governance::DENIED;

/// Begins to listen for changed tools.
fn listener(client: &Client) -> Pending {
    let wish = json!({"notifications": {"toolsListChanged": true}});
    let mut listening = client.begin("subscriptions/listen", &wish);
    assert!(listening.next_raw().unwrap().contains("acknowledged"));
    listening
}

/// Waits until the tools are said to have changed.
fn until_told(listening: &mut Pending) {
    while !listening.next_raw().expect("the stream ended").contains("tools/list_changed") {}
}

fn has(client: &Client, name: &str) -> bool {
    tool_names(client).iter().any(|tool| tool == name)
}

#[test]
fn a_changed_skill_changes_its_tools() {
    let website = rates();
    let (gateway, folder) = gateway(&website, &here(&website));
    let (client, legacy) = (Client::modern(&gateway), Client::legacy(&gateway));
    assert!(has(&client, "bindings__rate"));
    let (mut listening, mut stream) = (listener(&client), legacy.listen(None));
    write_skill(folder.path(), &skill(website.port(), "x").replace("name: rate\n", "name: fresh_rate\n"));
    until_told(&mut listening);
    while !stream.event().unwrap().expect("the stream ended").data.contains("tools/list_changed") {}
    assert!(has(&client, "bindings__fresh_rate") && !has(&client, "bindings__rate"));
    client.call("bindings__fresh_rate", &json!({"base": "EUR"})).result();
    assert_eq!(client.call("bindings__rate", &json!({"base": "EUR"})).code(), -32602);

    let second = skill(website.port(), "x").replace("name: rates", "name: second").replace("/v1/", "/v2/");
    fs::create_dir_all(folder.path().join("finance/second")).unwrap();
    fs::write(folder.path().join("finance/second/SKILL.md"), second).unwrap();
    until_told(&mut listening);
    client.call("bindings__rate", &json!({"base": "EUR"})).result();
    assert!(website.heard().pop().unwrap().line.contains("/v2/latest"));

    fs::remove_dir_all(folder.path().join("finance/second")).unwrap();
    until_told(&mut listening);
    assert!(!has(&client, "bindings__rate"));
}

/// Replaces a document as an editor does it.
fn put(file: &Path, text: &str) {
    let fresh = file.with_extension("fresh");
    fs::write(&fresh, text).unwrap();
    fs::rename(fresh, file).unwrap();
}

#[test]
fn a_changed_document_changes_its_tools() {
    let website = Website::echo();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("shop.json");
    let server = format!("http://127.0.0.1:{}/v1", website.port());
    put(&file, &shop(&server).to_string());
    let config = format!(
        "bindings: {{openapi: {{shop: {{file: {}, auth: {{key: k3y}}}}}}}}\n{}",
        file.display(),
        here(&website)
    );
    let gateway = Setup::new().config(&config).start();
    let client = Client::modern(&gateway);
    assert!(has(&client, "shop__deleteAll"));
    let mut listening = listener(&client);

    let mut document = shop(&server);
    document["paths"]["/admin"] = json!({"get": {"operationId": "status"}});
    put(&file, &document.to_string());
    until_told(&mut listening);
    assert!(has(&client, "shop__status") && !has(&client, "shop__deleteAll"));
    let line = client.call("shop__status", &json!({})).result()["structuredContent"]["line"].clone();
    assert_eq!(line, "GET /v1/admin HTTP/1.1");

    // A document that cannot be used changes nothing, until it is put right.
    put(&file, "{\"openapi\": ");
    gateway.log().until("the configuration was not reloaded");
    client.call("shop__status", &json!({})).result();
    put(&file, &shop(&server).to_string());
    until_told(&mut listening);
    assert!(has(&client, "shop__deleteAll"));
}

/// What a reload with these sections changes; it needs no restart.
fn reloaded(gateway: &Gateway, sections: &str) -> Value {
    gateway.rewrite(&format!("runtime: {{auto_reload: false}}\n{sections}"));
    let difference = gateway.reload();
    assert_eq!(difference["needs_restart"], json!([]), "{difference}");
    difference
}

#[test]
fn a_reload_changes_where_requests_go_and_which_documents_there_are() {
    let (website, folder, documents) = (Website::echo(), TempDir::new().unwrap(), TempDir::new().unwrap());
    write_skill(folder.path(), &skill(website.port(), "x").replace("      result: /rates\n", ""));
    let file = documents.path().join("shop.json");
    put(&file, &shop(&format!("http://127.0.0.1:{}", website.port())).to_string());
    let head = format!("skills: {{dir: {}}}\n", folder.path().display());
    let start = format!("runtime: {{auto_reload: false}}\n{head}");
    let gateway = Setup::new().config(&start).variable("RATES_KEY", "s3cret").start();
    let client = Client::modern(&gateway);
    // The secret is not allowed, so there is no such tool.
    assert!(!has(&client, "bindings__rate"));

    reloaded(&gateway, &format!("{head}bindings: {{secrets: [RATES_KEY]}}\n"));
    let rate = || client.call("bindings__rate", &json!({"base": "EUR"}));
    eventually("the tool is there", || has(&client, "bindings__rate").then_some(()));
    assert!(rate().text().contains("egress.allow"), "{}", rate().answer);

    let difference =
        reloaded(&gateway, &format!("{head}bindings: {{secrets: [RATES_KEY]}}\n{}", here(&website)));
    assert_eq!(difference["settings"], json!(["egress.private"]), "{difference}");
    assert_ne!(rate().result()["isError"], true, "{}", rate().answer);

    let document = |more: &str| {
        let bindings = format!("{{file: {}, auth: {{key: k3y}}{more}}}", file.display());
        format!("{head}bindings: {{secrets: [RATES_KEY], openapi: {{shop: {bindings}}}}}\n{}", here(&website))
    };
    reloaded(&gateway, &document(""));
    eventually("the document is served", || has(&client, "shop__getOrder").then_some(()));
    client.call("shop__getOrder", &json!({"id": 1})).result();
    reloaded(&gateway, &document(", naming: method_path, exclude: [create*]"));
    eventually("its tools have other names", || has(&client, "shop__get_orders_id").then_some(()));
    assert!(!tool_names(&client).iter().any(|name| name.contains("post")), "{:?}", tool_names(&client));

    reloaded(&gateway, &head);
    eventually("all are gone", || {
        (!has(&client, "bindings__rate") && !has(&client, "shop__get_orders_id")).then_some(())
    });
}

#[test]
fn the_price_of_a_tool_counts() {
    let website = rates();
    let limits = format!("quotas: [{{id: pocket, budget_per_month: 0.02}}]\n{}", here(&website));
    for (prices, affordable) in [("", 2), ("prices: {tools: [{tools: [rate], price: 0.005}]}\n", 4)] {
        let (gateway, folder) = gateway(&website, &format!("{limits}{prices}"));
        let client = Client::modern(&gateway);
        let mut listening = listener(&client);
        let priced = skill(website.port(), "x").replace("    read_only", "    price: 0.01\n    read_only");
        write_skill(folder.path(), &priced);
        until_told(&mut listening);
        for number in 1..=affordable {
            let answer = client.call("bindings__rate", &json!({"base": "EUR"}));
            assert_ne!(answer.result()["isError"], true, "{number}: {}", answer.answer);
        }
        let refused = client.call("bindings__rate", &json!({"base": "EUR"}));
        assert_eq!(refused.code(), DENIED, "{}", refused.answer);
        assert_eq!(refused.answer["error"]["data"]["details"]["rule"], "pocket");
    }
}
