//! Tasks of 2025-11-25: made by a call, asked for by their ids alone.

use harness::{Client, Era, Setup, Upstream};
use serde_json::json;

#[test]
fn a_task_is_asked_for_where_it_was_made() {
    let [one, other] =
        ["one", "other"].map(|name| Upstream::start(Era::Legacy, &["tasks", &format!("name={name}")]));
    let gateway = Setup::new().server("one", one.url()).server("other", other.url()).start();
    let client = Client::legacy(&gateway);
    let wanted = json!({"ttl": 60000});
    for (name, upstream) in [("one", &one), ("other", &other)] {
        let params = json!({"name": format!("{name}__echo"), "arguments": {}, "task": wanted});
        let made = client.request("tools/call", &params);
        let task = &made.result()["task"];
        assert_eq!(task["status"], "working", "{}", made.answer);
        let seen = upstream.script().seen();
        let call = seen.iter().find(|message| message["method"] == "tools/call").unwrap();
        assert_eq!(call["params"]["task"], wanted, "{call}");
    }
    for name in ["one", "other", "one"] {
        let task = json!({"taskId": format!("task of {name}")});
        let got = client.request("tasks/get", &task);
        assert_eq!(got.result()["taskId"], task["taskId"], "{}", got.answer);
        assert_eq!(client.request("tasks/result", &task).text(), format!("done by \"{name}\""));
    }
    assert_eq!((one.script().count("tasks/get"), other.script().count("tasks/get")), (2, 1));
    assert_eq!(client.request("tasks/get", &json!({"taskId": "nobody's"})).code(), -32602);
}
