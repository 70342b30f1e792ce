//! `import` and `init`: commands that write a configuration.

use snapbox::{assert_data_eq, str};

use crate::scene::Scene;

const CURSOR: &str = r#"{"mcpServers": {
  "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]},
  "hub": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${HUB_TOKEN}"}}
}}"#;

#[test]
fn what_another_program_has_is_taken_over() {
    let scene = Scene::with(&[("home/.cursor/mcp.json", CURSOR)]);
    scene.check(
        &["import", "--from", "cursor", "--dry-run"],
        0,
        str![[r#"
read [FOLDER]/home/.cursor/mcp.json
+ memory
+ hub
toolgate.yaml was not changed (--dry-run)

"#]],
        str![],
    );
    assert!(!scene.path("toolgate.yaml").exists());
    scene.check(
        &["import"],
        0,
        str![[r#"
read [FOLDER]/home/.cursor/mcp.json
+ memory
+ hub
written to toolgate.yaml

"#]],
        str![],
    );
    assert_data_eq!(
        scene.read("toolgate.yaml"),
        str![[r#"
servers:
  memory:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-memory"]
  hub:
    url: https://example.com/mcp
    headers:
      Authorization: Bearer ${HUB_TOKEN}

"#]]
    );
}

#[test]
fn a_file_that_is_there_gets_what_it_lacks() {
    let ours = "# ours\nservers:\n  memory: {command: mine}\n";
    let scene = Scene::with(&[("mcp.json", CURSOR), ("toolgate.yaml", ours)]);
    scene.check(&["import", "--from", "mcp.json", "--json"], 0, str![[r##"
{
  "sources": [
    "mcp.json"
  ],
  "file": "toolgate.yaml",
  "written": true,
  "added": [
    "hub"
  ],
  "kept": [
    "memory"
  ],
  "settings": [],
  "left_out": [],
  "warnings": [],
  "text": "# ours\nservers:\n  memory: {command: mine}\n  hub:\n    url: https://example.com/mcp\n    headers:\n      Authorization: Bearer ${HUB_TOKEN}\n"
}

"##]], str![]);
    assert_data_eq!(
        scene.read("toolgate.yaml"),
        str![[r#"
# ours
servers:
  memory: {command: mine}
  hub:
    url: https://example.com/mcp
    headers:
      Authorization: Bearer ${HUB_TOKEN}

"#]]
    );
    scene.check(
        &["import", "--from", "mcp.json"],
        0,
        str![[r#"
read mcp.json
= memory is in toolgate.yaml already
= hub is in toolgate.yaml already
nothing to add to toolgate.yaml

"#]],
        str![],
    );
}

#[test]
fn settings_are_imported_too() {
    let owl = "mcp_server:\n  transport: http\n  http: {port: 9}\n  logging: {level: WARNING}\n";
    let scene = Scene::with(&[("mcp-server.yaml", owl)]);
    scene.check(
        &["import", "--from", "mcp-server.yaml"],
        0,
        str![[r#"
read mcp-server.yaml
+ settings of listen
+ settings of log
written to toolgate.yaml

"#]],
        str![],
    );
    assert_data_eq!(
        scene.read("toolgate.yaml"),
        str![[r#"
listen:
  transport: http
  port: 9

log:
  level: warn

"#]]
    );
    scene.write("toolgate.yaml", "# ours\nlisten: {port: 8080}\n");
    scene.check(
        &["import", "--from", "mcp-server.yaml"],
        0,
        str![[r#"
read mcp-server.yaml
+ settings of log
= settings of listen are in toolgate.yaml already; those that were read are left out
written to toolgate.yaml

"#]],
        str![],
    );
    assert_data_eq!(
        scene.read("toolgate.yaml"),
        str![[r#"
# ours
listen: {port: 8080}

log:
  level: warn

"#]]
    );
}

#[test]
fn a_bad_entry_is_left_out_and_paths_are_made_whole() {
    let mcp = r#"{"mcpServers": {"good": {"command": "x", "cwd": "sub"}, "bad": {"transport": "sse"}}}"#;
    let scene = Scene::with(&[("there/mcp.json", mcp)]);
    scene.check(
        &["import", "--from", "there/mcp.json"],
        0,
        str![[r#"
read there/mcp.json
+ good
written to toolgate.yaml

"#]],
        str![[r#"
warning: there/mcp.json:1:57: servers.bad: skipped this server: a server with `transport: sse` needs a `url`

"#]],
    );
    let cwd = scene.path("there/sub").canonicalize().unwrap_or(scene.path("there/sub"));
    assert!(scene.read("toolgate.yaml").contains(&format!("cwd: {}", cwd.display())));
    scene.run(&["config", "validate", "--config", "toolgate.yaml"]).code(0);
    scene.run(&["import", "--from", "there/mcp.json", "--strict"]).code(2);
}

#[test]
fn an_import_can_be_printed() {
    let otter = "[mcp]\nenabled = true\n[[mcp.servers]]\nname = \"time\"\ntransport = \"stdio\"\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\ntimeout = \"30s\"\n";
    let scene = Scene::with(&[("otter.toml", otter)]);
    scene.check(
        &["import", "--from", "otter.toml", "--output", "-"],
        0,
        str![[r#"
servers:
  time:
    transport: stdio
    command: uvx
    args: [mcp-server-time]
    call_timeout: "30s"

"#]],
        str![],
    );
}

#[test]
fn what_cannot_be_imported_is_told() {
    let scene = Scene::with(&[("bad.json", "{\"mcpServers\": ")]);
    scene.check(
        &["import"],
        3,
        str![],
        str![[r#"
error: no other program's configuration was found
help: name a file with --from, or write a new one with `toolgate init`

"#]],
    );
    scene.check(
        &["import", "--from", "cursor"],
        3,
        str![],
        str![[r#"
error: cursor has no configuration here
help: looked for [FOLDER]/.cursor/mcp.json, [FOLDER]/home/.cursor/mcp.json

"#]],
    );
    scene.check(&["import", "--from", "nobody"], 3, str![], str![[r#"
error: 'nobody' is neither a file nor a program that is known
help: known programs: Claude Code, Claude Desktop, Cline, Codex, Cursor, ExcelManus, Gemini CLI, Kiro, LM Studio, VS Code, VS Code Insiders, VSCodium, Windsurf

"#]]);
    scene.check(
        &["import", "--from", "bad.json"],
        2,
        str![],
        str![[r#"
error: nothing was imported
bad.json:1:16: expected a value, found the end of the file

"#]],
    );
}

#[test]
fn a_first_file_is_written_without_questions() {
    let scene = Scene::with(&[]);
    let line = ["init", "--with", "time", "--with", "filesystem /data", "--with", "github", "--port", "9000"];
    scene.check(
        &line,
        0,
        str![[r#"
written to toolgate.yaml
set GITHUB_TOKEN before you start; you get it from https://github.com/settings/tokens
now: toolgate start

"#]],
        str![],
    );
    assert_data_eq!(
        scene.read("toolgate.yaml"),
        str![[r##"
# Every key is described in docs/reference/config.md; `toolgate config validate` checks this file.

listen:
  transport: http
  port: 9000

# More with `toolgate servers add`.
servers:
  time:
    command: uvx
    args: [mcp-server-time]
  filesystem:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", /data]
  github:
    url: https://api.githubcopilot.com/mcp/
    headers:
      Authorization: Bearer ${GITHUB_TOKEN}

"##]]
    );
    scene.run(&["config", "validate"]).code(0).stdout_eq(str![[r#"
warning: [FOLDER]/toolgate.yaml:15:3: servers.github: disabled: the variable GITHUB_TOKEN is not set; set it, or give a default with ${GITHUB_TOKEN:-…}
valid: 2 servers

"#]]);
    scene.check(
        &["init"],
        1,
        str![],
        str![[r#"
error: toolgate.yaml exists already
help: --force replaces it; `toolgate servers add` adds to it

"#]],
    );
    scene.check(
        &["init", "--force", "--json"],
        0,
        str![[r#"
{
  "file": "toolgate.yaml",
  "servers": [],
  "variables": []
}

"#]],
        str![],
    );
    scene.check(
        &["init", "--output", "x.yaml", "--with", "tiem"],
        3,
        str![],
        str![[r#"
error: no well-known server is called 'tiem'
help: did you mean time? `toolgate servers list --known` lists them

"#]],
    );
    scene.check(
        &["init", "--output", "x.yaml", "--with", "sqlite"],
        2,
        str![],
        str![[r#"
error: sqlite needs arguments: --db-path FILE

"#]],
    );
}

#[test]
fn a_first_file_comes_from_a_few_answers() {
    let scene = Scene::with(&[]);
    let shown = scene.at_terminal("init", "time, filesystem\n/data\ny\n9001\n");
    for question in ["Which do you want?", "filesystem needs", "over HTTP?", "On which port?", "written to"] {
        assert!(shown.contains(question), "no '{question}' in:\n{shown}");
    }
    assert_data_eq!(
        scene.read("toolgate.yaml"),
        str![[r##"
# Every key is described in docs/reference/config.md; `toolgate config validate` checks this file.

listen:
  transport: http
  port: 9001

# More with `toolgate servers add`.
servers:
  time:
    command: uvx
    args: [mcp-server-time]
  filesystem:
    command: npx
    args: ["-y", "@modelcontextprotocol/server-filesystem", /data]

"##]]
    );
    let shown = scene.at_terminal("init --output plain.yaml", "\n\n");
    assert!(shown.contains("now: toolgate start --config plain.yaml"), "{shown}");
    assert!(scene.read("plain.yaml").contains("transport: stdio"));
    let shown = scene.at_terminal("init --output asked.yaml --no-input", "");
    assert!(!shown.contains('?'), "{shown}");
}

#[test]
fn servers_of_the_project_come_with_those_of_the_user() {
    let scene = Scene::with(&[]);
    let folder = scene.path("").canonicalize().unwrap();
    let projects = serde_json::json!({
        folder.to_str().unwrap(): {"mcpServers": {"mine": {"command": "m"}}},
        "/elsewhere": {"mcpServers": {"theirs": {"command": "t"}}},
    });
    let user = serde_json::json!({"everywhere": {"url": "https://example.com/mcp"}});
    let file = serde_json::json!({"mcpServers": user, "projects": projects});
    scene.write("home/.claude.json", &file.to_string());
    scene.check(
        &["import", "--from", "claude code"],
        0,
        str![[r#"
read [FOLDER]/home/.claude.json
+ everywhere
+ mine
written to toolgate.yaml

"#]],
        str![],
    );
}
