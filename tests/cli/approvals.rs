//! `toolgate approvals …`: calls that wait until an operator decides.

use serde_json::Value;
use snapbox::str;

use crate::operators::{governed, wait_for};
use crate::scene::{Running, Scene};

/// Every call of `echo` waits for somebody.
const ECHO_WAITS: &str = "policy:\n  approval:\n    - {id: four-eyes, tools: [echo], mode: always}\n";

/// The id of the one call that waits, once it does.
fn waiting(scene: &Scene, list: &[&str]) -> String {
    let waits = |answer: &Value| answer["approvals"].as_array().is_some_and(|calls| calls.len() == 1);
    wait_for(scene, list, waits)["approvals"][0]["id"].to_string()
}

#[test]
fn calls_that_wait_are_listed_and_decided_about() {
    let scene = governed(ECHO_WAITS);
    let _running = scene.start(&[]);
    scene.check(&["approvals", "list"], 0, str![], str![]);
    std::thread::scope(|scope| {
        let call = |text: &'static str| {
            let scene = &scene;
            scope.spawn(move || scene.run(&["tools", "call", "plain__echo", text]))
        };
        let first = call("text=one");
        let id = waiting(&scene, &["approvals", "list"]);
        scene.check(
            &["approvals", "list"],
            0,
            str![[r#"
1	operator	plain__echo	{"text":"one"}	four-eyes	[..] s

"#]],
            str![],
        );
        scene.check(
            &["approvals", "list", "--json"],
            0,
            str![[r#"
{
  "approvals": [
    {
      "id": 1,
      "caller": "operator",
      "server": "plain",
      "tool": "plain__echo",
      "arguments": {
        "text": "one"
      },
      "rule": "four-eyes",
      "since": [..],
      "expires": [..]
    }
  ]
}

"#]],
            str![],
        );
        scene.check(
            &["approvals", "approve", &id],
            0,
            str![[r#"
call 1 may run

"#]],
            str![],
        );
        first
            .join()
            .unwrap()
            .code(0)
            .stdout_eq(str![[r#"
one

"#]])
            .stderr_eq(str![]);
        let second = call("text=two");
        let id = waiting(&scene, &["approvals", "list"]);
        scene.check(
            &["approvals", "deny", &id, "--reason", "not today"],
            0,
            str![[r#"
call 2 is refused

"#]],
            str![],
        );
        second.join().unwrap().code(4).stdout_eq(str![]).stderr_eq(str![[r#"
error: Denied: approval is needed by rule `four-eyes`: it was refused: not today

"#]]);
        let third = call("text=three");
        let id = waiting(&scene, &["approvals", "list"]);
        scene.check(
            &["approvals", "deny", &id, "--json"],
            0,
            str![[r#"
{
  "id": 3,
  "approved": false
}

"#]],
            str![],
        );
        third.join().unwrap().code(4).stdout_eq(str![]).stderr_eq(str![[r#"
error: Denied: approval is needed by rule `four-eyes`: it was refused

"#]]);
    });
    scene.check(
        &["approvals", "approve", "77"],
        3,
        str![],
        str![[r#"
error: no call 77 waits: it was decided, given up, or never there

"#]],
    );
    scene.check(
        &["approvals", "deny", "77"],
        3,
        str![],
        str![[r#"
error: no call 77 waits: it was decided, given up, or never there

"#]],
    );
    scene.check(
        &["approvals", "approve", "first"],
        2,
        str![],
        str![[r#"
error: invalid value 'first' for '<ID>': invalid digit found in string

For more information, try '--help'.

"#]],
    );
}

/// The address at which operators are served.
fn address(running: &Running) -> String {
    let line: Value = serde_json::from_str(&running.line("operators are served")).unwrap();
    line["address"].as_str().unwrap().to_owned()
}

#[test]
fn the_same_is_done_over_http_with_a_token() {
    let admin = "admin: {listen: \"127.0.0.1:0\", token_env: OPERATORS}\n";
    let scene = governed(&format!("{ECHO_WAITS}{admin}"))
        .variable("OPERATORS", "sesame")
        .variable("TOOLGATE_ADMIN_TOKEN", "sesame");
    let running = scene.start_and_see(&[]);
    let url = address(&running);
    running.line("\"listening\"");
    std::thread::scope(|scope| {
        let call = scope.spawn(|| scene.run(&["tools", "call", "plain__echo", "text=far"]));
        let id = waiting(&scene, &["approvals", "list", "--url", &url]);
        scene.check(
            &["approvals", "approve", &id, "--url", &url],
            0,
            str![[r#"
call 1 may run

"#]],
            str![],
        );
        call.join().unwrap().code(0);
    });
    scene.check(
        &["approvals", "list", "--url", &url, "--token", "wrong"],
        4,
        str![],
        str![[r#"
error: show the operators' token as 'Authorization: Bearer TOKEN'

"#]],
    );
}

#[test]
fn only_a_running_gateway_has_calls_that_wait() {
    let scene = governed("");
    for line in [&["approvals", "list"][..], &["approvals", "approve", "1"], &["approvals", "deny", "1"]] {
        scene.check(
            line,
            3,
            str![],
            str![[r#"
error: no gateway is running with this configuration
help: start one with `toolgate start`, name its state folder with --state-dir, or its address with --url

"#]],
        );
    }
    scene.check(
        &["approvals", "list", "--json"],
        3,
        str![],
        str![[r#"
{
  "error": {
    "code": "not_found",
    "message": "no gateway is running with this configuration",
    "help": "start one with `toolgate start`, name its state folder with --state-dir, or its address with --url"
  }
}

"#]],
    );
}
