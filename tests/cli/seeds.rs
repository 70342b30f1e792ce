//! The configuration examples of the programs that Toolgate replaces, verbatim, with the real binary: it starts, lists,
//! calls, and does what their documents promise. Where they start a program from the network, one of ours is found first.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use harness::{Client, Era, Gateway, Setup};
use serde_json::{Value, json};
use snapbox::str;
use tempfile::TempDir;

use crate::scene::{PLAIN_SERVER, Scene};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/config/tests/fixtures").join(name)
}

fn text_of(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).unwrap()
}

/// A folder with an `npx` that starts our server of files, whatever it is asked for, and the search path with it.
fn programs() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let npx = folder.path().join("npx");
    std::fs::write(&npx, format!("#!/bin/sh\nexec {PLAIN_SERVER} files\n")).unwrap();
    std::fs::set_permissions(&npx, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    (folder, path)
}

fn tools(client: &Client) -> Vec<String> {
    let list = client.request("tools/list", &json!({}));
    let tools = list.result()["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn state_of(gateway: &Gateway, server: &str) -> Value {
    let report =
        harness::http::Connection::open(gateway.address()).exchange("GET", "/health", &[], b"").json();
    let servers = report["servers"].as_array().unwrap().clone();
    servers.iter().find(|one| one["name"] == server).map_or(Value::Null, |one| one["state"].clone())
}

#[test]
fn owlclaw_allows_sixty_calls_a_minute() {
    let gateway = Setup::new().config(&text_of("mcp-server.yaml")).server("plain", PLAIN_SERVER).start();
    let client = Client::new(&gateway, Era::Legacy);
    assert!(tools(&client).contains(&"plain__echo".to_owned()));
    // A new minute may begin on the way, but only one.
    let call = || client.call("plain__echo", &json!({"text": "hello"}));
    let (allowed, refused) =
        (0..=120).map(|_| call()).enumerate().find(|(_, call)| call.answer["error"].is_object()).unwrap();
    assert!((60..=120).contains(&allowed), "{allowed} calls were allowed");
    assert_eq!(refused.code(), -32003);
    assert_eq!(refused.answer["error"]["data"]["details"]["limit"], 60);
    assert!(refused.answer["error"]["data"]["retry_after"].is_number(), "{}", refused.answer);
}

#[test]
fn spear_shows_what_is_allowed_and_cuts_what_is_long() {
    let (_programs, path) = programs();
    let gateway =
        Setup::new().arguments([Path::new("--config"), &fixture("spear")]).variable("PATH", &path).start();
    let client = Client::new(&gateway, Era::Legacy);
    assert_eq!(tools(&client), ["fs__read_file", "fs__search_files"]);
    assert_eq!(client.call("fs__search_files", &json!({})).text(), "x");
    assert_eq!(client.call("fs__write_file", &json!({})).error(), "Unknown tool: fs__write_file");
    let long = client.call("fs__read_file", &json!({}));
    assert_eq!(long.result()["_meta"]["io.toolgate/truncated"]["limit"], 65_536);
    assert!(long.text().len() <= 65_536, "{} bytes", long.text().len());
}

#[test]
fn otter_works_without_the_server_whose_token_is_missing() {
    let (_programs, path) = programs();
    for name in ["otter.toml", "otter-full.toml"] {
        let file = fixture(name);
        let gateway = Setup::new().arguments([Path::new("--config"), &file]).variable("PATH", &path).start();
        let client = Client::new(&gateway, Era::Legacy);
        let names = tools(&client);
        assert!(names.contains(&"browser__search_files".to_owned()), "{names:?}");
        assert_eq!(client.call("filesystem__write_file", &json!({})).text(), "x");
        assert_eq!(state_of(&gateway, "browser"), "ready");
        gateway.log().until("GITHUB_TOKEN is not set");
    }
}

#[test]
fn excelmanus_has_the_tools_of_the_servers_that_are_up() {
    let (_programs, path) = programs();
    // Its search comes from a port that may be anybody's on this machine.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let file = text_of("excelmanus.json").replace("localhost:8080", &nobody.to_string());
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("mcp.json");
    std::fs::write(&config, file).unwrap();
    let gateway = Setup::new()
        .variable("EXCELMANUS_MCP_CONFIG", &config.display().to_string())
        .variable("PATH", &path)
        .arguments(["--names", "mcp"])
        .start();
    let client = Client::new(&gateway, Era::Modern);
    harness::eventually("the tools are listed", || (tools(&client).len() == 3).then_some(()));
    assert_eq!(client.call("mcp_filesystem_search_files", &json!({})).text(), "x");
    harness::eventually("the other one is down", || {
        (state_of(&gateway, "web-search") == "down").then_some(())
    });
}

#[test]
fn a_newcomer_has_only_an_mcp_json() {
    let (_programs, path) = programs();
    let record = r#"{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"]}"#;
    let file = format!(r#"{{"mcpServers": {{"one": {record}, "two": {record}, "three": {record}}}}}"#);
    let scene = Scene::with(&[("mcp.json", &file)]).variable("PATH", &path);
    let list = ["tools", "list", "--json"];
    let names = || -> Vec<String> {
        let output = scene.run(&list).code(0);
        let list: Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
        list["tools"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tool| tool["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let running = scene.start_and_see(&[]);
    let ready: Value = serde_json::from_str(&running.line("\"listening\"")).unwrap();
    assert_eq!(ready["message"], "ready");
    assert_eq!((&ready["servers"], &ready["names"]), (&json!(3), &json!("[\"one\", \"three\", \"two\"]")));
    assert_eq!(names().len(), 9);
    scene.check(
        &["servers", "list"],
        0,
        str![[r#"
one	ready	stdio	3	npx -y @modelcontextprotocol/server-memory	-
three	ready	stdio	3	npx -y @modelcontextprotocol/server-memory	-
two	ready	stdio	3	npx -y @modelcontextprotocol/server-memory	-

"#]],
        str![],
    );
    drop(running);
    // Without a gateway the command starts them itself.
    assert_eq!(names().len(), 9);
}
