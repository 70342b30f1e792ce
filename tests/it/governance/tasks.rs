//! A task is for the caller whose call began it, and for nobody else.

use harness::{Client, Era};
use serde_json::{Value, json};
use toolgate_ledger::{Kind, Status};

use super::shop::Shop;
use super::{caller, gateway};
use crate::ledger::records;

fn begin(client: &Client) -> String {
    let begun = client.request("tools/call", &json!({"name": "shop__later", "arguments": {}, "task": {}}));
    begun.result()["task"]["taskId"].as_str().unwrap().to_owned()
}

fn own(client: &Client) -> Vec<Value> {
    let listed = client.request("tasks/list", &json!({}));
    listed.result()["tasks"].as_array().unwrap().iter().map(|task| task["taskId"].clone()).collect()
}

#[test]
fn a_task_is_nobodys_but_its_callers() {
    let shop = Shop::open();
    let mut gateway = gateway(&shop, "", "");
    let anna = caller(&gateway, Era::Legacy, "anna");
    let ben = caller(&gateway, Era::Legacy, "ben");
    let (of_anna, of_ben) = (begin(&anna), begin(&ben));
    assert_ne!(of_anna, of_ben);
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        anna.request(method, &json!({"taskId": of_anna})).result();
        let told = |id: &str| {
            let refused = ben.request(method, &json!({"taskId": id}));
            (refused.code(), refused.error().to_owned())
        };
        assert_eq!(told(&of_anna), told("task-77"), "{method}: one that is not there");
    }
    assert_eq!((own(&anna), own(&ben)), (vec![json!(of_anna)], vec![json!(of_ben)]));
    assert!(own(&caller(&gateway, Era::Legacy, "eve")).is_empty());
    let asked: Vec<_> = ["tasks/get", "tasks/cancel"].map(|method| shop.orders(method)).into();
    assert_eq!(asked, [1, 1], "no other question reached the server");
    assert!(gateway.stop().success());
    let results: Vec<_> =
        records(&gateway).into_iter().filter(|record| record.kind == Kind::TaskResult).collect();
    assert_eq!(results.len(), 1, "what came of the task is on record");
    assert_eq!((&*results[0].exposed, results[0].status), ("shop__later", Status::Ok));
}

#[test]
fn tasks_that_nobody_remembers_are_nobodys() {
    let shop = Shop::open();
    let config = shop.config("", "callers: {trust_client_id_header: true}\n");
    let gateway = harness::Setup::new().config(&config).start();
    let task = begin(&caller(&gateway, Era::Legacy, "anna"));
    let gateway = super::restarted(gateway, &config);
    let anna = caller(&gateway, Era::Legacy, "anna");
    assert_eq!(anna.request("tasks/get", &json!({"taskId": task})).code(), -32602);
    assert!(own(&anna).is_empty());
}

#[test]
fn a_tool_that_is_hidden_by_now_takes_its_tasks_along() {
    let shop = Shop::open();
    let sections = "runtime: {auto_reload: false}\ncallers: {trust_client_id_header: true}\n";
    let mut gateway = harness::Setup::new().config(&shop.config("", sections)).start();
    let anna = caller(&gateway, Era::Legacy, "anna");
    let task = begin(&anna);
    let hide = "policy: {rules: [{id: gone, effect: hide, tools: [later]}]}\n";
    gateway.rewrite(&shop.config("", &format!("{sections}{hide}")));
    gateway.reload();
    let asked = anna.request("tasks/result", &json!({"taskId": task}));
    assert_eq!(asked.error(), anna.request("tasks/result", &json!({"taskId": "task-77"})).error());
    assert!(gateway.stop().success());
    let denied: Vec<_> =
        records(&gateway).into_iter().filter(|record| record.status == Status::Denied).collect();
    assert_eq!(denied.len(), 1);
    assert_eq!((&*denied[0].caller, &*denied[0].exposed), ("anna", "shop__later"));
    let reason = crate::ledger::json(denied[0].result.as_ref());
    assert!(reason.as_str().unwrap().contains("gone"), "{reason}");
}
