//! `toolgate servers …`

use snapbox::{assert_data_eq, str};

use crate::scene::{PLAIN_SERVER, Scene};

const COMMENTED: &str = "# ours\nlisten: {port: 8080} # the port\n\nservers:\n  # the first\n  time:\n    command: uvx\n    args: [mcp-server-time]\n";

#[test]
fn servers_are_listed_without_a_gateway_too() {
    let off = "  off: {command: x, args: ['${KEY:-hidden}'], enabled: false, display_name: An old one}\n  poor: {command: y, env_from: [NOT_SET]}\n";
    let scene = Scene::with(&[("toolgate.yaml", &format!("{COMMENTED}{off}"))]);
    scene.check(
        &["servers", "list"],
        0,
        str![[r#"
off (An old one)	off	stdio	-	x ${KEY:-hidden}	-
time	unknown	stdio	-	uvx mcp-server-time	-
poor	disabled	-	-	-	the variable NOT_SET is not set (named in env_from)

"#]],
        str![],
    );
    scene.check(
        &["servers", "list", "--json"],
        0,
        str![[r#"
{
  "gateway": false,
  "servers": [
    {
      "name": "off",
      "display_name": "An old one",
      "transport": "stdio",
      "target": "x ${KEY:-hidden}",
      "state": "off",
      "cause": null,
      "version": null,
      "tools": null,
      "prompts": null,
      "resources": null
    },
    {
      "name": "time",
      "display_name": null,
      "transport": "stdio",
      "target": "uvx mcp-server-time",
      "state": "unknown",
      "cause": null,
      "version": null,
      "tools": null,
      "prompts": null,
      "resources": null
    },
    {
      "name": "poor",
      "display_name": null,
      "transport": null,
      "target": null,
      "state": "disabled",
      "cause": "the variable NOT_SET is not set (named in env_from)",
      "version": null,
      "tools": null,
      "prompts": null,
      "resources": null
    }
  ]
}

"#]],
        str![],
    );
}

#[test]
fn what_references_led_to_is_never_printed() {
    let servers = format!(
        "servers:\n  child: {{command: {PLAIN_SERVER}, args: [both, \"--key=${{TOKEN}}\"]}}\n  far: {{url: \"http://127.0.0.1:9/${{TOKEN}}?key=${{TOKEN}}\"}}\n"
    );
    let scene = Scene::with(&[("toolgate.yaml", &servers)]).variable("TOKEN", "hush");
    for line in
        [&["servers", "list"][..], &["servers", "list", "--json"], &["servers", "test", "--json", "child"]]
    {
        let output = scene.run(line).code(0);
        let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
        assert!(text.contains("--key=${TOKEN}") && !text.contains("hush"), "{line:?}: {text}");
    }
}

#[test]
fn well_known_servers_are_listed() {
    let output = Scene::with(&[]).run(&["servers", "list", "--known"]).code(0).stderr_eq(str![]);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.contains("github\tGITHUB_TOKEN\t"), "{text}");
    assert!(text.contains("filesystem\tFOLDER…\t"), "{text}");
}

#[test]
fn a_server_is_added_and_removed_and_comments_stay() {
    let scene = Scene::with(&[("toolgate.yaml", COMMENTED)]);
    scene.check(
        &["servers", "add", "github"],
        0,
        str![[r#"
added github to [FOLDER]/toolgate.yaml

"#]],
        str![[r#"
note: set GITHUB_TOKEN before the gateway starts; you get it from https://github.com/settings/tokens

"#]],
    );
    scene.check(
        &["servers", "add", "files", "--known", "filesystem", "/data"],
        0,
        str![[r#"
added files to [FOLDER]/toolgate.yaml

"#]],
        str![],
    );
    let line = [
        "servers",
        "add",
        "mine",
        "--env",
        "A=b",
        "--env-from",
        "TOKEN",
        "--json",
        "--",
        "node",
        "server.js",
        "-v",
    ];
    scene.check(
        &line,
        0,
        str![[r#"
{
  "file": "[FOLDER]/toolgate.yaml",
  "added": "mine",
  "server": {
    "command": "node",
    "args": [
      "server.js",
      "-v"
    ],
    "env": {
      "A": "b"
    },
    "env_from": [
      "TOKEN"
    ]
  },
  "missing_variables": []
}

"#]],
        str![],
    );
    let line = [
        "servers",
        "add",
        "docs",
        "--url",
        "https://example.com/sse",
        "--transport",
        "sse",
        "--header",
        "X=${Y}",
    ];
    scene.check(
        &line,
        0,
        str![[r#"
added docs to [FOLDER]/toolgate.yaml

"#]],
        str![],
    );
    assert_data_eq!(
        scene.read("toolgate.yaml"),
        str![[r##"
# ours
listen: {port: 8080} # the port

servers:
  # the first
  time:
    command: uvx
    args: [mcp-server-time]
  github:
    url: https://api.githubcopilot.com/mcp/
    headers:
      Authorization: Bearer ${GITHUB_TOKEN}
  files:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", /data]
  mine:
    command: node
    args: [server.js, "-v"]
    env:
      A: b
    env_from: [TOKEN]
  docs:
    url: https://example.com/sse
    transport: sse
    headers:
      X: ${Y}

"##]]
    );
    for name in ["github", "files", "mine", "docs"] {
        scene.run(&["servers", "remove", name]).code(0).stderr_eq(str![]);
    }
    assert_eq!(scene.read("toolgate.yaml"), COMMENTED);
}

#[test]
fn the_first_server_makes_the_file() {
    let scene = Scene::with(&[]);
    scene.check(
        &["servers", "add", "time"],
        0,
        str![[r#"
added time to toolgate.yaml

"#]],
        str![],
    );
    assert_data_eq!(
        scene.read("toolgate.yaml"),
        str![[r#"
servers:
  time:
    command: uvx
    args: [mcp-server-time]

"#]]
    );
}

#[test]
fn what_cannot_be_added_or_removed_is_told() {
    let scene = Scene::with(&[("toolgate.yaml", COMMENTED), ("mcp.json", "{\"mcpServers\": {}}")]);
    scene.check(
        &["servers", "add", "time"],
        1,
        str![],
        str![[r#"
error: [FOLDER]/toolgate.yaml: there is a server `time` already; remove it first, or choose another name

"#]],
    );
    scene.check(&["servers", "add", "githup"], 3, str![], str![[r#"
error: no well-known server is called githup
help: did you mean github? give its --url, or the command that starts it after '--'; `toolgate servers list --known` lists the known ones

"#]]);
    scene.check(
        &["servers", "add", "filesystem"],
        2,
        str![],
        str![[r#"
error: filesystem needs arguments: FOLDER…
help: toolgate servers add filesystem FOLDER…

"#]],
    );
    scene.run(&["servers", "add", "x", "--url", "http://a/", "--", "b"]).code(2).stdout_eq(str![]);
    scene.check(
        &["servers", "add", "a b", "--", "x"],
        2,
        str![],
        str![[r#"
error: nothing was added
[FOLDER]/toolgate.yaml:9:3: servers."a b": `a b` cannot be the name of a server (use letters, digits, `-`, `_` and `.`, at most 64)

"#]],
    );
    scene.check(
        &["servers", "add", "far", "--url", "foo"],
        2,
        str![],
        str![[r#"
error: nothing was added
[FOLDER]/toolgate.yaml:10:10: servers.far.url: this is no address (write it like https://host/mcp)

"#]],
    );
    scene.check(
        &["servers", "add", "time", "--config", "mcp.json"],
        2,
        str![],
        str![[r#"
error: mcp.json is not a native YAML file, and only those are changed
help: `toolgate import --from mcp.json` makes one of it; --config names another

"#]],
    );
    scene.check(
        &["servers", "remove", "none"],
        3,
        str![],
        str![[r#"
error: [FOLDER]/toolgate.yaml: there is no server `none` in this file
help: `toolgate servers list` lists the servers

"#]],
    );
    scene.check(
        &["servers", "remove", "none", "--json"],
        3,
        str![],
        str![[r#"
{
  "error": {
    "code": "not_found",
    "message": "[FOLDER]/toolgate.yaml: there is no server `none` in this file",
    "help": "`toolgate servers list` lists the servers"
  }
}

"#]],
    );
    assert_eq!(scene.read("toolgate.yaml"), COMMENTED);
    let left: Vec<_> =
        std::fs::read_dir(scene.path("")).unwrap().flatten().map(|file| file.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().ends_with(".tmp")), "{left:?}");
}

#[test]
fn what_was_wrong_before_is_no_reason_to_add_nothing() {
    let scene = Scene::with(&[("toolgate.yaml", "names: funny\n")]);
    scene.run(&["servers", "add", "time"]).code(0);
    assert!(scene.read("toolgate.yaml").contains("mcp-server-time"));
}

#[test]
fn servers_are_tested_by_connecting() {
    let servers = format!(
        "servers:\n  old: {{command: {PLAIN_SERVER}, args: [legacy]}}\n  new: {{command: {PLAIN_SERVER}, args: [modern]}}\n  bad: {{command: {PLAIN_SERVER}, args: [dies]}}\n"
    );
    let scene = Scene::with(&[("toolgate.yaml", &servers)]);
    scene.check(
        &["servers", "test", "old", "new"],
        0,
        str![[r#"
new	ready	stdio	2	[SERVER] modern	-
old	ready	stdio	2	[SERVER] legacy	-

"#]],
        str![],
    );
    scene.check(&["servers", "test", "bad"], 3, str![[r#"
bad	down	stdio	0	[SERVER] dies	the process exited with status 7; the end of its stderr: plain_server: the licence has run out

"#]], str![]);
    scene.check(
        &["servers", "test", "none"],
        3,
        str![],
        str![[r#"
error: there is no server 'none'
help: `toolgate servers list` lists the servers

"#]],
    );
}
