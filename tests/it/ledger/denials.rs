//! Whoever is denied something is on record, also where the gate was never reached.

use std::fs;

use harness::{Era, Setup};
use serde_json::json;
use tempfile::TempDir;
use toolgate_ledger::Status;

use super::{json, records};
use crate::governance::shop::Shop;
use crate::governance::{DENIED, caller, gateway};

#[test]
fn who_looks_for_what_is_not_there_leaves_a_trace() {
    for era in Era::BOTH {
        let (shop, company) = (Shop::open(), Shop::open());
        // With two servers nobody is asked for what nobody lists.
        let second = company.config("", "").replace("servers:\n  shop:", "  other:");
        let config = shop.config("", &format!("{second}callers: {{trust_client_id_header: true}}\n"));
        let mut gateway = Setup::new().config(&config).start();
        let client = caller(&gateway, era, "anna");
        client.call("shop__dream", &json!({"wish": 1})).code();
        client.request("prompts/get", &json!({"name": "shop__dream"})).code();
        client.request("resources/read", &json!({"uri": "dream://1"})).code();
        let narrow = json!({"name": "shop__buy", "arguments": {}, "_meta": {"io.toolgate/narrow": ["shop"]}});
        client.request("tools/call", &narrow).code();
        assert!(gateway.stop().success());

        let records = records(&gateway);
        let told: Vec<_> = records.iter().map(|record| (record.kind.as_str(), &*record.exposed)).collect();
        let (tool, prompt, resource) = ("tool_call", "prompt_get", "resource_read");
        let expected =
            [(tool, "shop__dream"), (prompt, "shop__dream"), (resource, "dream://1"), (tool, "shop__buy")];
        assert_eq!(told, expected);
        for record in &records {
            assert_eq!((&*record.caller, &*record.server, record.status), ("anna", "", Status::Denied));
        }
        assert_eq!(json(records[0].arguments.as_ref()), json!({"wish": 1}));
        let reason = json(records[3].result.as_ref());
        assert!(reason.as_str().unwrap().contains("io.toolgate/narrow"), "{reason}");
    }
}

#[test]
fn who_looks_for_what_is_hidden_otherwise_than_by_using_it_leaves_a_trace() {
    let (shop, company) = (Shop::open(), Shop::open());
    // With two servers nobody is asked for what nobody lists.
    let second = company.config("", "").replace("servers:\n  shop:", "  other:");
    let policy = "policy: {rules: [{id: shut, effect: hide, resources: [\"shop://vault\"]},\n\
         {id: dark, effect: hide, prompts: [vault]}]}\n";
    let config = shop.config("", &format!("{second}callers: {{trust_client_id_header: true}}\n{policy}"));
    let mut gateway = Setup::new().config(&config).start();
    let client = caller(&gateway, Era::Legacy, "anna");
    for name in ["shop__vault", "shop__dream"] {
        let prompt =
            json!({"ref": {"type": "ref/prompt", "name": name}, "argument": {"name": "a", "value": ""}});
        client.request("completion/complete", &prompt).code();
    }
    for uri in ["shop://vault", "shop://dream"] {
        client.request("resources/subscribe", &json!({"uri": uri})).code();
    }
    let wish = json!({"notifications": {"resourceSubscriptions": ["shop://vault", "shop://dream", "shop://window"]}});
    let mut listening = caller(&gateway, Era::Modern, "anna").begin("subscriptions/listen", &wish);
    let accepted = listening.next().unwrap()["params"]["notifications"]["resourceSubscriptions"].clone();
    assert_eq!(accepted, json!(["shop://window"]));
    listening.leave();
    assert!(gateway.stop().success());

    let records = records(&gateway);
    let told: Vec<_> = records.iter().map(|record| (record.kind.as_str(), record.status)).collect();
    let (prompt, resource) = (("prompt_get", Status::Denied), ("resource_read", Status::Denied));
    assert_eq!(told, [prompt, prompt, resource, resource, resource, resource]);
    for (record, name) in records.iter().zip(["vault", "dream"].iter().cycle()) {
        assert!(record.exposed.contains(name), "{}", record.exposed);
    }
}

#[test]
fn who_may_not_read_a_skill_is_on_record_whichever_way_it_asks() {
    let folder = TempDir::new().unwrap();
    let skill = folder.path().join("hr/payroll");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\nname: payroll\ndescription: Pay\n---\n").unwrap();
    fs::write(skill.join("secret.md"), "salaries").unwrap();
    let config = format!(
        "skills: {{dir: {}}}\ncallers: {{trust_client_id_header: true}}\npolicy: {{rules: [\n\
         {{id: shut, effect: deny, callers: [shut], tools: [read_skill]}},\n\
         {{id: gone, effect: hide, callers: [blind], tools: [read_skill]}},\n\
         {{id: hr, effect: hide, callers: [stranger], resources: [\"skill://hr/payroll/SKILL.md\"]}}]}}\n",
        folder.path().display()
    );
    let mut gateway = Setup::new().config(&config).start();
    let document = json!({"uri": "skill://hr/payroll/SKILL.md"});
    let by_tool =
        |name: &str, arguments| caller(&gateway, Era::Modern, name).call("skills__read_skill", &arguments);
    let refused = by_tool("shut", document.clone());
    assert_eq!(refused.code(), DENIED);
    let data = &refused.answer["error"]["data"];
    assert_eq!((&data["details"]["rule"], &data["retryable"]), (&json!("shut"), &json!(false)));
    assert_eq!(by_tool("blind", document.clone()).code(), -32602);
    assert_eq!(by_tool("stranger", document).code(), -32602);
    assert_eq!(by_tool("anna", json!({"uri": 5})).code(), -32602);
    let file = json!({"uri": "skill://hr/payroll/secret.md"});
    caller(&gateway, Era::Modern, "stranger").request("resources/read", &file).code();
    assert!(gateway.stop().success());

    let records = records(&gateway);
    let told: Vec<_> = records.iter().map(|record| (&*record.caller, record.status)).collect();
    let callers = ["shut", "blind", "stranger", "anna", "stranger"];
    assert_eq!(told, callers.map(|caller| (caller, Status::Denied)));
    for (record, rule) in [(0, "shut"), (1, "gone"), (2, "hr"), (4, "hr")] {
        let reason = json(records[record].result.as_ref());
        assert!(reason.as_str().unwrap().contains(rule), "{reason}");
    }
}

#[test]
fn one_record_that_is_too_large_refuses_nobody_else() {
    let shop = Shop::open();
    let mut gateway = gateway(&shop, "", "ledger: {max_body_bytes: 8000000}\n");
    for era in Era::BOTH {
        let client = caller(&gateway, era, "anna");
        let endless = format!("shop://{}", "x".repeat(5 << 20));
        if era == Era::Legacy {
            let refused = client.request("resources/read", &json!({"uri": endless}));
            assert_eq!(refused.code(), -32602, "{}", refused.error());
            assert_eq!(client.call(&endless, &json!({})).code(), -32602);
        }
        let large = client.call("shop__long", &json!({"bytes": 5 << 20, "more": "y".repeat(3 << 20)}));
        assert_eq!(large.text().len(), 5 << 20);
        assert_eq!(client.call("shop__buy", &json!({"item": 1})).text(), "sold 1");
    }
    assert!(gateway.stop().success());
    let records = records(&gateway);
    assert_eq!(records.len(), 6, "the two that named too much are there too");
    assert!(records.iter().all(|record| record.exposed.len() < 10_000));
}
