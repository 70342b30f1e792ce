//! `tools`, `resources` and `prompts`, without a running gateway.

use std::os::unix::fs::PermissionsExt;

use snapbox::str;

use crate::scene::{PLAIN_SERVER, Scene, plain_servers};

#[test]
fn tools_are_listed() {
    let scene = Scene::with_plain_server();
    scene.check(
        &["tools", "list"],
        0,
        str![[r#"
plain__echo	Says what it is told.
plain__fail	Always fails.

"#]],
        str![],
    );
    scene.check(
        &["tools", "list", "fails", "--json"],
        0,
        str![[r#"
{
  "tools": [
    {
      "name": "plain__fail",
      "description": "Always fails.",
      "inputSchema": {
        "type": "object"
      }
    }
  ]
}

"#]],
        str![],
    );
    scene.check(
        &["tools", "list", "--names", "mcp"],
        0,
        str![[r#"
mcp_plain_echo	Says what it is told.
mcp_plain_fail	Always fails.

"#]],
        str![],
    );
}

#[test]
fn a_server_that_is_down_is_told_beside_the_list() {
    let servers = plain_servers(&["good"]) + &format!("  bad: {{command: {PLAIN_SERVER}, args: [dies]}}\n");
    let scene = Scene::with(&[("toolgate.yaml", &servers)]);
    scene.check(&["tools", "list"], 0, str![[r#"
good__echo	Says what it is told.
good__fail	Always fails.

"#]], str![[r#"
note: server 'bad' is down: the process exited with status 7; the end of its stderr: plain_server: the licence has run out

"#]]);
}

#[test]
fn a_tool_is_described() {
    let scene = Scene::with_plain_server();
    scene.check(
        &["tools", "describe", "plain__echo"],
        0,
        str![[r#"
plain__echo
Says what it is told.

text	string	yes	What to say.
times	integer	no	How often.

"#]],
        str![],
    );
    scene.check(
        &["tools", "describe", "plain__fail", "--json"],
        0,
        str![[r#"
{
  "name": "plain__fail",
  "description": "Always fails.",
  "inputSchema": {
    "type": "object"
  }
}

"#]],
        str![],
    );
    scene.check(
        &["tools", "describe", "plain__none"],
        3,
        str![],
        str![[r#"
error: there is no tool 'plain__none'
help: `toolgate tools list` lists the tools

"#]],
    );
}

#[test]
fn a_tool_is_called() {
    let scene = Scene::with_plain_server();
    scene.check(
        &["tools", "call", "plain__echo", "text=hello", "times:=3"],
        0,
        str![[r#"
hello hello hello

"#]],
        str![],
    );
    scene.check(
        &["tools", "call", "plain__echo", "text=hi", "--json"],
        0,
        str![[r#"
{
  "content": [
    {
      "type": "text",
      "text": "hi"
    }
  ],
  "resultType": "complete"
}

"#]],
        str![],
    );
    scene
        .run_with_input(&["tools", "call", "plain__echo", "--arguments", "-"], "{\"text\": \"from a pipe\"}")
        .code(0)
        .stdout_eq(str![[r#"
from a pipe

"#]])
        .stderr_eq(str![]);
}

#[test]
fn a_call_that_goes_wrong_says_how() {
    let scene = Scene::with_plain_server();
    scene.check(
        &["tools", "call", "plain__fail"],
        1,
        str![],
        str![[r#"
error: the tool failed: as always

"#]],
    );
    scene.check(
        &["tools", "call", "plain__none"],
        3,
        str![],
        str![[r#"
error: Unknown tool: plain__none

"#]],
    );
    scene.check(
        &["tools", "call", "plain__echo", "text"],
        2,
        str![],
        str![[r#"
error: 'text' must have the form KEY=TEXT or KEY:=JSON

"#]],
    );
    scene.run(&["tools", "call", "plain__echo", "-a", "[1]"]).code(2).stdout_eq(str![]).stderr_eq(str![[
        r#"
error: the arguments must be a JSON object

"#
    ]]);
}

#[test]
fn a_call_that_policy_denies_is_refused() {
    let policy = plain_servers(&["plain"]) + "policy: {rules: [{effect: deny, tools: [echo]}]}\n";
    let scene = Scene::with(&[("toolgate.yaml", &policy)]);
    scene.check(
        &["tools", "call", "plain__echo", "text=hello"],
        4,
        str![],
        str![[r#"
error: Denied: rule `policy.rules[0]` denies tool `echo` of server `plain`

"#]],
    );
}

#[test]
fn resources_are_listed_and_read() {
    let scene = Scene::with_plain_server();
    scene.check(
        &["resources", "list"],
        0,
        str![[r#"
note://greeting	greeting	text/plain	A greeting.
note://day/{day}	day	text/plain	A day.

"#]],
        str![],
    );
    scene.check(
        &["resources", "list", "--json"],
        0,
        str![[r#"
{
  "resources": [
    {
      "uri": "note://greeting",
      "name": "greeting",
      "mimeType": "text/plain",
      "description": "A greeting."
    }
  ],
  "resource_templates": [
    {
      "uriTemplate": "note://day/{day}",
      "name": "day",
      "mimeType": "text/plain",
      "description": "A day."
    }
  ]
}

"#]],
        str![],
    );
    scene.check(
        &["resources", "read", "note://greeting"],
        0,
        str![[r#"
Good morning.

"#]],
        str![],
    );
    scene.check(&["resources", "read", "note://greeting", "-o", "out"], 0, str![], str![]);
    assert_eq!(scene.read("out"), "Good morning.\n");
    scene.check(
        &["resources", "read", "note://none"],
        3,
        str![],
        str![[r#"
error: Resource not found: note://none

"#]],
    );
}

#[test]
fn prompts_are_listed_and_filled_in() {
    let scene = Scene::with_plain_server();
    scene.check(
        &["prompts", "list"],
        0,
        str![[r#"
plain__greet	who [how]	Greets somebody.

"#]],
        str![],
    );
    scene.check(
        &["prompts", "get", "plain__greet", "who=Ada"],
        0,
        str![[r#"
user: Say hello to Ada.

"#]],
        str![],
    );
    scene.check(
        &["prompts", "get", "plain__none"],
        3,
        str![],
        str![[r#"
error: Unknown prompt: plain__none

"#]],
    );
}

#[test]
fn without_servers_there_is_nothing_to_ask() {
    Scene::with(&[]).check(
        &["tools", "list"],
        3,
        str![],
        str![[r#"
error: there is no server to ask
help: name a configuration with --config, or write one with `toolgate init` or `toolgate import`

"#]],
    );
    let broken = Scene::with(&[("toolgate.yaml", "names: funny\n")]);
    broken.check(
        &["prompts", "list"],
        2,
        str![],
        str![[r#"
error: the configuration is not valid
[FOLDER]/toolgate.yaml:1:8: names: `funny` is not known here (one of prefixed, plain, mcp)
help: `toolgate config validate` shows this too, with warnings

"#]],
    );
}

#[test]
fn looking_leaves_nothing_behind_and_calling_only_what_others_cannot_read() {
    let scene = Scene::with_plain_server();
    scene.run(&["tools", "list"]).code(0);
    assert!(!scene.path("home/.local").exists());
    scene.run(&["tools", "call", "plain__echo", "text=hello"]).code(0);
    let state = scene.path("home/.local/state/toolgate");
    assert_eq!(std::fs::metadata(&state).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(state.join("ledger").exists());
}
