//! What commands print that the other tests only look into: tables for people, and JSON whose fields stay.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use snapbox::str;

use crate::scene::{PLAIN_SERVER, Scene, plain_servers, toolgate};

/// Texts that are other ones each time.
#[track_caller]
fn check_lines(scene: &Scene, line: &[&str], expected: &[&[&str]]) {
    let output = scene.run(line).code(0);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(lines.len(), expected.len(), "{text}");
    for (found, expected) in lines.iter().zip(expected) {
        assert_eq!(found.len(), expected.len(), "{text}");
        let differs = |(found, expected): (&&str, &&str)| *expected != "*" && found != expected;
        assert!(!found.iter().zip(*expected).any(differs), "{found:?} is not {expected:?}");
    }
}

#[test]
fn what_is_looked_at_as_json() {
    let scene = Scene::with_plain_server();
    scene.check(
        &["prompts", "list", "--json"],
        0,
        str![[r#"
{
  "prompts": [
    {
      "name": "plain__greet",
      "description": "Greets somebody.",
      "arguments": [
        {
          "name": "who",
          "required": true
        },
        {
          "name": "how"
        }
      ]
    }
  ]
}

"#]],
        str![],
    );
    scene.check(
        &["prompts", "get", "plain__greet", "who=Ada", "--json"],
        0,
        str![[r#"
{
  "description": "Greets somebody.",
  "messages": [
    {
      "role": "user",
      "content": {
        "type": "text",
        "text": "Say hello to Ada."
      }
    }
  ],
  "resultType": "complete"
}

"#]],
        str![],
    );
    scene.check(
        &["resources", "read", "note://greeting", "--json"],
        0,
        str![[r#"
{
  "contents": [
    {
      "uri": "note://greeting",
      "mimeType": "text/plain",
      "text": "Good morning.\n"
    }
  ],
  "resultType": "complete",
  "ttlMs": 60000,
  "cacheScope": "private"
}

"#]],
        str![],
    );
    scene.check(
        &["doctor", "--json"],
        0,
        str![[r#"
{
  "ok": true,
  "findings": [
    {
      "severity": "ok",
      "subject": "configuration",
      "what": "[FOLDER]/toolgate.yaml is valid",
      "help": ""
    },
    {
      "severity": "ok",
      "subject": "program [SERVER]",
      "what": "[SERVER]",
      "help": ""
    },
    {
      "severity": "ok",
      "subject": "state folder",
      "what": "[FOLDER]/home/.local/state/toolgate",
      "help": ""
    },
    {
      "severity": "ok",
      "subject": "server plain",
      "what": "answers, 2 tools",
      "help": ""
    }
  ]
}

"#]],
        str![],
    );
}

#[test]
fn a_test_of_servers_as_json() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let output = scene.run(&["servers", "test", "--json"]).code(0);
    let mut report: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert!(report["milliseconds"].take().is_u64());
    let server = json!({
        "name": "plain", "display_name": null, "state": "ready", "cause": null, "transport": "stdio",
        "target": PLAIN_SERVER, "version": "2026-07-28", "tools": 2, "prompts": 1, "resources": 1, "skills": 0,
    });
    assert_eq!(report, json!({"reached": true, "milliseconds": null, "servers": [server]}));
}

#[test]
fn a_server_is_removed() {
    let scene = Scene::with(&[("toolgate.yaml", "servers:\n  a: {command: x}\n  b: {command: y}\n")]);
    scene.check(
        &["servers", "remove", "a"],
        0,
        str![[r#"
removed a from [FOLDER]/toolgate.yaml

"#]],
        str![],
    );
    scene.check(
        &["servers", "remove", "b", "--json"],
        0,
        str![[r#"
{
  "file": "[FOLDER]/toolgate.yaml",
  "removed": "b"
}

"#]],
        str![],
    );
    assert_eq!(scene.read("toolgate.yaml"), "servers: {}\n");
}

#[test]
fn well_known_servers() {
    Scene::with(&[]).check(
        &["servers", "list", "--known"],
        0,
        str![[r#"
brave-search	BRAVE_API_KEY	Search the web with Brave.
context7		Current documentation of libraries.
everything		Every feature of MCP, for tests.
fetch		Fetch web pages as text.
filesystem	FOLDER…	Read and write files in folders.
git	--repository FOLDER	Read and change git repositories.
github	GITHUB_TOKEN	Issues, pull requests and code on GitHub.
gitlab	GITLAB_PERSONAL_ACCESS_TOKEN	Issues, merge requests and code on GitLab.
google-maps	GOOGLE_MAPS_API_KEY	Places and routes.
memory		A knowledge graph that stays.
notion	NOTION_TOKEN	Pages and databases in Notion.
playwright		Drive a browser.
postgres	postgresql://HOST/DATABASE	Read-only queries in PostgreSQL.
puppeteer		Drive a browser with Puppeteer.
sentry		Errors and issues in Sentry.
sequential-thinking		Think in numbered steps.
slack	SLACK_BOT_TOKEN, SLACK_TEAM_ID	Channels and messages in Slack.
sqlite	--db-path FILE	Queries in a SQLite file.
time		The time, and time zones.

"#]],
        str![],
    );
    let output = Scene::with(&[]).run(&["servers", "list", "--known", "--json"]).code(0);
    let list: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    let github = list["known"].as_array().unwrap().iter().find(|known| known["name"] == "github").unwrap();
    let token = json!({"name": "GITHUB_TOKEN", "from": "https://github.com/settings/tokens"});
    let expected = json!({
        "name": "github", "about": "Issues, pull requests and code on GitHub.", "needs_arguments": "",
        "start": {"url": "https://api.githubcopilot.com/mcp/"}, "variables": [token],
    });
    assert_eq!(*github, expected);
}

#[test]
fn a_gateway_says_when_it_is_ready() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["one", "two"]))]);
    let running = scene.start_and_see(&[]);
    let mut ready: Value = serde_json::from_str(&running.line("\"listening\"")).unwrap();
    let members = ready.as_object_mut().unwrap();
    let listening = members.remove("listening").unwrap();
    let listening = listening.as_str().unwrap();
    assert!(listening.starts_with("http://127.0.0.1:") && listening.ends_with("/mcp"), "{listening}");
    assert!(members.remove("timestamp").is_some() && members.remove("version").is_some());
    let names = "[\"one\", \"two\"]";
    assert_eq!(ready, json!({"level": "INFO", "message": "ready", "servers": 2, "names": names}));
}

#[test]
fn operators_read_tables() {
    let file = plain_servers(&["plain"])
        + "quotas:\n  - {id: slow, calls_per_day: 5}\npolicy:\n  rules:\n    - {id: small, effect: deny, tools: [echo], when: \"arguments.text == 'no'\"}\n";
    let scene = Scene::with(&[("toolgate.yaml", &file)]);
    let made = scene.run(&["keys", "create", "anna", "--group", "sales"]).code(0);
    let text = String::from_utf8_lossy(&made.get_output().stdout).into_owned();
    assert!(text.contains("tg_"), "{text}");
    check_lines(&scene, &["keys", "list"], &[&["*", "anna", "sales", "valid", "*", "-", "*"]]);
    let explain = |text: &str| {
        let arguments = format!("{{\"text\": \"{text}\"}}");
        let line = ["explain", "--client", "anna", "--tool", "plain__echo", "--arguments", &arguments];
        let output = scene.run(&line).code(0);
        String::from_utf8(output.get_output().stdout.clone()).unwrap().lines().last().unwrap().to_owned()
    };
    assert_eq!(explain("yes"), "the call would run");
    assert_eq!(explain("no"), "the call would not run: refused at permission");
    scene.run(&["tools", "call", "plain__echo", "text=hello"]).code(0);
    scene.run(&["tools", "call", "plain__echo", "text=no"]).code(4);
    check_lines(
        &scene,
        &["quotas", "--client", "operator"],
        &[&["slow", "calls_per_day", "1", "5", "4", "*", "*"]],
    );
    check_lines(
        &scene,
        &["ledger", "tail"],
        &[
            &["*", "ok", "operator", "plain__echo", "*", "0"],
            &["*", "denied", "operator", "plain__echo", "*", "0"],
        ],
    );
    let export = scene.run(&["ledger", "export"]).code(0);
    let lines = String::from_utf8(export.get_output().stdout.clone()).unwrap();
    let statuses: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["status"].clone()).collect();
    assert_eq!(statuses, ["ok", "denied"]);
}

#[test]
fn the_ledger_is_followed() {
    let scene = Scene::with(&[("toolgate.yaml", &plain_servers(&["plain"]))]);
    let call = ["tools", "call", "plain__echo", "text=hello"];
    scene.run(&call).code(0);
    let mut tail = Command::new(toolgate())
        .args(["ledger", "tail", "--follow", "--json"])
        .current_dir(scene.path(""))
        .env_clear()
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["status"], "ok");
    scene.run(&["tools", "call", "plain__fail"]).code(1);
    assert_eq!(next()["status"], "tool_error");
    tail.kill().unwrap();
    tail.wait().unwrap();
}
