//! `keys`, `ledger`, `explain` and `quotas`, and the API behind them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use snapbox::str;

use crate::scene::{PLAIN_SERVER, Scene};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A scene with a rule, an approval and a quota.
pub(crate) fn governed(more: &str) -> Scene {
    let file = format!(
        "state_dir: state\nservers:\n  plain: {{command: {PLAIN_SERVER}}}\nquotas:\n  - {{id: slow, calls_per_day: 5}}\n{more}"
    );
    Scene::with(&[("toolgate.yaml", &file)])
}

fn json_of(scene: &Scene, line: &[&str]) -> Value {
    let output = scene.run(&[line, &["--json"]].concat()).code(0);
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

/// Asks until the answer is what is waited for.
pub(crate) fn wait_for(scene: &Scene, line: &[&str], is_there: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let answer = json_of(scene, line);
        if is_there(&answer) {
            return answer;
        }
        assert!(Instant::now() < deadline, "{line:?} never came to that: {answer}");
    }
}

#[test]
fn keys_are_made_listed_and_revoked() {
    let scene = governed("");
    let made = json_of(&scene, &["keys", "create", "anna", "--group", "sales", "--expires", "90d"]);
    let (key, id) = (made["key"].as_str().unwrap(), made["id"].as_str().unwrap());
    assert!(key.starts_with("tg_"), "{key}");
    let listed = json_of(&scene, &["keys", "list"]);
    assert_eq!(listed["keys"][0]["groups"], json!(["sales"]));
    assert!(!scene.read("state/keys.json").contains(key));
    scene.run(&["keys", "revoke", id]).code(0);
    assert_eq!(json_of(&scene, &["keys", "list"])["keys"][0]["state"], "revoked");
    scene.check(
        &["keys", "revoke", "none"],
        3,
        str![],
        str![[r#"
error: there is no key with the id `none`; list the keys to see their ids

"#]],
    );
    scene.run(&["keys", "create", "two words"]).code(2);
}

#[test]
fn a_running_gateway_notices_new_keys() {
    let scene = governed("callers: {anonymous: deny}\n");
    let running = scene.start(&[]);
    scene.run(&["keys", "create", "anna"]).code(0);
    assert!(running.line("the API keys were read again").contains("\"keys\":1"));
}

#[test]
fn the_ledger_is_looked_at_with_and_without_a_gateway() {
    let scene = governed("");
    let call = ["tools", "call", "plain__echo", "text=hello"];
    {
        let _running = scene.start(&[]);
        scene.run(&call).code(0);
        scene.run(&["tools", "call", "plain__fail"]).code(1);
        // The index follows the journal at a distance.
        wait_for(&scene, &["ledger", "query"], |page| page["calls"].as_array().unwrap().len() == 2);
    }
    let tail = scene.run(&["ledger", "tail", "-n", "1"]).code(0);
    let line = String::from_utf8(tail.get_output().stdout.clone()).unwrap();
    assert_eq!(
        line.split('\t').skip(1).take(3).collect::<Vec<_>>(),
        ["tool_error", "operator", "plain__fail"]
    );
    let page = json_of(&scene, &["ledger", "query", "--status", "ok", "--since", "1h"]);
    assert_eq!(page["calls"][0]["tool"], "plain__echo");
    let record =
        format!("{}/{}", page["calls"][0]["replica"].as_str().unwrap(), page["calls"][0]["sequence"]);
    let record = json_of(&scene, &["ledger", "query", "--record", &record]);
    assert_eq!(record["arguments"]["body"], json!({"text": "hello"}));
    let stats = json_of(&scene, &["ledger", "stats", "--by", "tool"]);
    assert_eq!((&stats["rows"][1]["group"], &stats["rows"][1]["failed"]), (&json!("plain__fail"), &json!(1)));
    let export = scene.run(&["ledger", "export", "--format", "csv", "--tool", "plain__echo"]).code(0);
    assert_eq!(String::from_utf8(export.get_output().stdout.clone()).unwrap().lines().count(), 2);
    assert_eq!(json_of(&scene, &["ledger", "verify"])["writers"][0]["records"], 2);
    change_a_byte(&scene);
    let verified = scene.run(&["ledger", "verify"]).code(1);
    assert!(String::from_utf8_lossy(&verified.get_output().stdout).contains("checksum mismatch"));
    scene.check(
        &["ledger", "tail", "--dir", "nowhere"],
        3,
        str![],
        str![[r#"
error: there is no ledger in nowhere
help: name its folder with --dir

"#]],
    );
}

fn change_a_byte(scene: &Scene) {
    let path = scene.path("state/ledger/local-0/0000000001.journal");
    let path = if path.exists() { path } else { scene.path("state/ledger/local-0/0000000000.journal") };
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 3;
    bytes[last] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn calls_are_explained_and_counted() {
    let rules = "policy:\n  rules:\n    - {id: no-fail, effect: deny, tools: [fail], groups: [guests]}\n";
    let scene = governed(&format!("{rules}callers: {{known: {{anna: {{groups: [guests]}}}}}}\n"));
    let check = |client: &str, expected: &str| {
        let explained = json_of(&scene, &["explain", "--client", client, "--tool", "plain__fail"]);
        assert_eq!(explained["outcome"], expected, "{client}");
    };
    check("anna", "refused");
    check("bert", "passes");
    let narrowed = ["explain", "--client", "bert", "--tool", "plain__fail", "--narrow", "plain__e*"];
    let explained = json_of(&scene, &narrowed);
    assert_eq!(
        (&explained["outcome"], &explained["stages"][0]["rule"]),
        (&json!("hidden"), &json!("request"))
    );
    scene.run(&["explain", "--client", "bert", "--tool", "plain__fail", "--narrow", ""]).code(2);
    let used = |client: &str| json_of(&scene, &["quotas", "--client", client])["limits"][0]["used"].clone();
    {
        let _running = scene.start(&[]);
        // A list comes when the servers have listed; before, there is nothing to explain.
        scene.run(&["tools", "list"]).code(0);
        check("anna", "refused");
        scene.run(&["tools", "call", "plain__echo", "text=hello"]).code(0);
        assert_eq!(used("operator"), json!(1));
        assert_eq!(used("bert"), json!(0));
    }
    // From the ledger, after the gateway has gone.
    assert_eq!(used("operator"), json!(1));
    scene.check(
        &["explain", "--client", "anna", "--tool", "plain__none"],
        3,
        str![],
        str![[r#"
error: no server lists the tool 'plain__none'; rules are not even asked about it

"#]],
    );
}

#[test]
fn an_approval_is_explained_by_the_name_of_its_rule() {
    let scene = governed("policy: {approval: [{id: four-eyes, tools: [fail], mode: always}]}\n");
    let explained = json_of(&scene, &["explain", "--client", "anna", "--tool", "plain__fail"]);
    assert_eq!(explained["outcome"], "needs_approval");
    let stages = explained["stages"].as_array().unwrap();
    assert!(stages.iter().any(|stage| stage["rule"] == "four-eyes"), "{explained}");
}

#[test]
fn a_new_token_is_in_effect_after_a_reload() {
    let scene = governed("admin: {listen: /admin, token_file: token}\n");
    scene.write("token", "old\n");
    let running = scene.start_and_see(&[]);
    let ready: Value = serde_json::from_str(&running.line("\"listening\"")).unwrap();
    let url = ready["listening"].as_str().unwrap().replace("/mcp", "/admin");
    let check = |token: &str, code: i32| {
        scene.run(&["approvals", "list", "--url", &url, "--token", token]).code(code);
    };
    check("old", 0);
    check("new", 4);
    scene.write("token", "new\n");
    scene.run(&["reload"]).code(0);
    check("old", 4);
    check("new", 0);
    // A token that is not there changes nothing.
    std::fs::remove_file(scene.path("token")).unwrap();
    scene.run(&["reload"]).code(2);
    check("new", 0);
}
