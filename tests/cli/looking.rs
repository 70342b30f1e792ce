//! `tools`, `resources` and `prompts`, without a running gateway.

use snapbox::str;

use crate::scene::{PLAIN_SERVER, Scene};

#[test]
fn tools_are_listed() {
    let scene = Scene::with_plain_server();
    scene.run(&["tools", "list"]).code(0).stdout_eq(str![[r#"
plain__echo	Says what it is told.
plain__fail	Always fails.

"#]]).stderr_eq(str![]);
    scene.run(&["tools", "list", "fails", "--json"]).code(0).stdout_eq(str![[r#"
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

"#]]).stderr_eq(str![]);
    scene.run(&["tools", "list", "--names", "mcp"]).code(0).stdout_eq(str![[r#"
mcp_plain_echo	Says what it is told.
mcp_plain_fail	Always fails.

"#]]).stderr_eq(str![]);
}

#[test]
fn a_server_that_is_down_is_told_beside_the_list() {
    let servers = format!(
        "servers:\n  bad: {{command: {PLAIN_SERVER}, args: [dies]}}\n  good: {{command: {PLAIN_SERVER}}}\n"
    );
    let scene = Scene::with(&[("toolgate.yaml", &servers)]);
    scene.run(&["tools", "list"]).code(0).stdout_eq(str![[r#"
good__echo	Says what it is told.
good__fail	Always fails.

"#]]).stderr_eq(str![[r#"
note: server 'bad' is down: the process exited with status 7; the end of its stderr: plain_server: the licence has run out

"#]]);
}

#[test]
fn a_tool_is_described() {
    let scene = Scene::with_plain_server();
    scene.run(&["tools", "describe", "plain__echo"]).code(0).stdout_eq(str![[r#"
plain__echo
Says what it is told.

text	string	yes	What to say.
times	integer	no	How often.

"#]]).stderr_eq(str![]);
    scene.run(&["tools", "describe", "plain__fail", "--json"]).code(0).stdout_eq(str![[r#"
{
  "name": "plain__fail",
  "description": "Always fails.",
  "inputSchema": {
    "type": "object"
  }
}

"#]]).stderr_eq(str![]);
    scene.run(&["tools", "describe", "plain__none"]).code(3).stdout_eq(str![]).stderr_eq(str![[r#"
error: there is no tool 'plain__none'
help: `toolgate tools list` lists the tools

"#]]);
}

#[test]
fn a_tool_is_called() {
    let scene = Scene::with_plain_server();
    scene
        .run(&["tools", "call", "plain__echo", "text=hello", "times:=3"])
        .code(0)
        .stdout_eq(str![[r#"
hello hello hello

"#]])
        .stderr_eq(str![]);
    scene
        .run(&["tools", "call", "plain__echo", "text=hi", "--json"])
        .code(0)
        .stdout_eq(str![[r#"
{
  "content": [
    {
      "type": "text",
      "text": "hi"
    }
  ],
  "resultType": "complete"
}

"#]])
        .stderr_eq(str![]);
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
    scene.run(&["tools", "call", "plain__fail"]).code(1).stdout_eq(str![]).stderr_eq(str![[r#"
error: the tool failed: as always

"#]]);
    scene.run(&["tools", "call", "plain__none"]).code(3).stdout_eq(str![]).stderr_eq(str![[r#"
error: Unknown tool: plain__none

"#]]);
    scene.run(&["tools", "call", "plain__echo", "text"]).code(2).stdout_eq(str![]).stderr_eq(str![[r#"
error: 'text' must have the form KEY=TEXT or KEY:=JSON

"#]]);
    scene.run(&["tools", "call", "plain__echo", "-a", "[1]"]).code(2).stdout_eq(str![]).stderr_eq(str![[r#"
error: the arguments must be a JSON object

"#]]);
}

#[test]
fn a_call_that_policy_denies_is_refused() {
    let policy = format!(
        "servers:\n  plain: {{command: {PLAIN_SERVER}}}\npolicy:\n  rules:\n    - {{effect: deny, tools: [echo]}}\n"
    );
    let scene = Scene::with(&[("toolgate.yaml", &policy)]);
    scene.run(&["tools", "call", "plain__echo", "text=hello"]).code(4).stdout_eq(str![]).stderr_eq(str![[r#"
error: Denied: rule `policy.rules[0]` denies tool `echo` of server `plain`

"#]]);
}

#[test]
fn resources_are_listed_and_read() {
    let scene = Scene::with_plain_server();
    scene.run(&["resources", "list"]).code(0).stdout_eq(str![[r#"
note://greeting	greeting	text/plain	A greeting.
note://day/{day}	day	text/plain	A day.

"#]]).stderr_eq(str![]);
    scene.run(&["resources", "list", "--json"]).code(0).stdout_eq(str![[r#"
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

"#]]).stderr_eq(str![]);
    scene.run(&["resources", "read", "note://greeting"]).code(0).stdout_eq(str![[r#"
Good morning.

"#]]).stderr_eq(str![]);
    scene
        .run(&["resources", "read", "note://greeting", "-o", "out"])
        .code(0)
        .stdout_eq(str![])
        .stderr_eq(str![]);
    assert_eq!(scene.read("out"), "Good morning.\n");
    scene.run(&["resources", "read", "note://none"]).code(3).stdout_eq(str![]).stderr_eq(str![[r#"
error: Resource not found: note://none

"#]]);
}

#[test]
fn prompts_are_listed_and_filled_in() {
    let scene = Scene::with_plain_server();
    scene.run(&["prompts", "list"]).code(0).stdout_eq(str![[r#"
plain__greet	who [how]	Greets somebody.

"#]]).stderr_eq(str![]);
    scene.run(&["prompts", "get", "plain__greet", "who=Ada"]).code(0).stdout_eq(str![[r#"
user: Say hello to Ada.

"#]]).stderr_eq(str![]);
    scene.run(&["prompts", "get", "plain__none"]).code(3).stdout_eq(str![]).stderr_eq(str![[r#"
error: Unknown prompt: plain__none

"#]]);
}

#[test]
fn without_servers_there_is_nothing_to_ask() {
    Scene::with(&[]).run(&["tools", "list"]).code(3).stdout_eq(str![]).stderr_eq(str![[r#"
error: there is no server to ask
help: name a configuration with --config, or write one with `toolgate init` or `toolgate import`

"#]]);
    let broken = Scene::with(&[("toolgate.yaml", "names: funny\n")]);
    broken.run(&["prompts", "list"]).code(2).stdout_eq(str![]).stderr_eq(str![[r#"
error: the configuration is not valid
[FOLDER]/toolgate.yaml:1:8: names: `funny` is not known here (one of prefixed, plain, mcp)
help: `toolgate config validate` shows this too, with warnings

"#]]);
}
