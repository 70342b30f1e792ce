//! The manager and its registry of tools, as an agent uses them, with real servers.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has to fail")]

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolgate_client::manager::NotGiven;
use toolgate_client::{Manager, ManagerSettings, State, ToolError};

const PLAIN_SERVER: &str = env!("CARGO_BIN_EXE_plain_server");

fn write(folder: &Path, servers: &[(&str, &str)]) {
    let record = |behaviour: &str| json!({"command": PLAIN_SERVER, "args": [behaviour]});
    let servers: serde_json::Map<String, Value> =
        servers.iter().map(|(name, behaviour)| ((*name).to_owned(), record(behaviour))).collect();
    std::fs::write(folder.join("mcp.json"), json!({"mcpServers": servers}).to_string()).unwrap();
}

async fn connected(servers: &[(&str, &str)]) -> (TempDir, Manager) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), servers);
    let settings = ManagerSettings {
        paths: vec![folder.path().join("mcp.json")],
        max_result_chars: 20,
        ..ManagerSettings::default()
    };
    (folder, Manager::connect(settings).await)
}

fn names(manager: &Manager) -> Vec<String> {
    manager.registry().definitions().map(|definition| definition.name.clone()).collect()
}

#[tokio::test]
async fn exactly_the_tools_of_the_servers_that_are_up_are_there() {
    let (_folder, manager) = connected(&[("new-one", "modern"), ("bad", "dies"), ("old", "legacy")]).await;
    assert_eq!(names(&manager), ["mcp_new_one_echo", "mcp_new_one_fail", "mcp_old_echo", "mcp_old_fail"]);
    let registry = manager.registry();
    assert_eq!(registry.get("mcp_old_echo").unwrap().description, "[MCP:old] Says what it is told.");
    let health = manager.health().await;
    let bad = health.iter().find(|server| &*server.name == "bad").unwrap();
    assert_eq!(bad.state, State::Down);
    assert!(bad.cause.as_deref().unwrap().contains("the licence has run out"));
    manager.shutdown().await;
}

#[tokio::test]
async fn tools_are_called_and_their_failures_told() {
    let (_folder, manager) = connected(&[("new", "modern"), ("old", "legacy")]).await;
    let registry = manager.registry();
    for tool in ["mcp_new_echo", "mcp_old_echo"] {
        assert_eq!(registry.call(tool, &json!({"text": "hello"})).await.unwrap(), "hello");
    }
    let long = registry.call("mcp_new_echo", &json!({"text": "0123456789", "times": 3})).await.unwrap();
    assert_eq!(long, "0123456789 012345678\n[cut: 20 of 32 characters]");
    let failed = registry.call("mcp_old_fail", &json!({})).await;
    assert!(matches!(failed, Err(ToolError::Failed { text, .. }) if text == "as always"));
    assert!(matches!(registry.call("mcp_old_echo", &json!([])).await, Err(ToolError::Arguments(_))));
    manager.shutdown().await;
    assert!(matches!(registry.call("mcp_old_echo", &json!({})).await, Err(ToolError::Call(_))));
}

#[tokio::test]
async fn a_reload_touches_only_what_changed() {
    let (folder, manager) = connected(&[("a", "both"), ("b", "both")]).await;
    write(folder.path(), &[("b", "both"), ("c", "both")]);
    let difference = manager.reload().await.unwrap();
    assert_eq!(difference.added.iter().collect::<Vec<_>>(), ["c"]);
    assert_eq!(difference.removed.iter().collect::<Vec<_>>(), ["a"]);
    assert_eq!(names(&manager), ["mcp_b_echo", "mcp_b_fail", "mcp_c_echo", "mcp_c_fail"]);
    std::fs::write(folder.path().join("mcp.json"), "{").unwrap();
    assert!(manager.reload().await.is_err());
    assert_eq!(manager.registry().call("mcp_b_echo", &json!({"text": "still"})).await.unwrap(), "still");
    manager.shutdown().await;
}

#[tokio::test]
async fn a_server_whose_entry_cannot_be_read_stays_as_it_was() {
    let (folder, manager) = connected(&[("a", "both"), ("b", "both")]).await;
    let write_a = |record: Value| {
        let servers = json!({"mcpServers": {"a": record, "c": {"command": PLAIN_SERVER}}});
        std::fs::write(folder.path().join("mcp.json"), servers.to_string()).unwrap();
    };
    write_a(json!({"transport": "pigeon"}));
    for _ in 0..2 {
        let difference = manager.reload().await.unwrap();
        assert_eq!(difference.kept.keys().collect::<Vec<_>>(), ["a"]);
        assert!(difference.kept["a"].contains("mcp.json:1"), "{difference:?}");
        assert!(difference.changed.is_empty(), "{difference:?}");
        assert_eq!(names(&manager), ["mcp_a_echo", "mcp_a_fail", "mcp_c_echo", "mcp_c_fail"]);
        assert_eq!(manager.registry().call("mcp_a_echo", &json!({"text": "still"})).await.unwrap(), "still");
    }
    write_a(json!({"command": PLAIN_SERVER, "args": ["legacy"]}));
    let difference = manager.reload().await.unwrap();
    assert_eq!((difference.kept.len(), difference.changed.len()), (0, 1), "{difference:?}");
    manager.shutdown().await;
}

#[tokio::test]
async fn a_record_that_is_half_written_takes_no_server_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |text: &str| std::fs::write(folder.path().join("one.toml"), text).unwrap();
    write(&format!(
        "server_id = \"one\"\ntransport = \"stdio\"\nallowed_tools = [\"*\"]\n[stdio]\ncommand = \"{PLAIN_SERVER}\"\n"
    ));
    let settings = ManagerSettings { paths: vec![folder.path().to_path_buf()], ..ManagerSettings::default() };
    let manager = Manager::connect(settings).await;
    write("server_id = \"one");
    for _ in 0..2 {
        let difference = manager.reload().await.unwrap();
        assert!(difference.kept["one"].contains("one.toml:1"), "{difference:?}");
        assert_eq!(names(&manager), ["mcp_one_echo", "mcp_one_fail"]);
    }
    // A file that is gone is another thing.
    std::fs::remove_file(folder.path().join("one.toml")).unwrap();
    assert_eq!(manager.reload().await.unwrap().removed.len(), 1);
    assert_eq!(names(&manager), [""; 0]);
    manager.shutdown().await;
}

#[tokio::test]
async fn prompts_and_resources_are_listed_and_given() {
    let (_folder, manager) = connected(&[("new", "modern"), ("old", "legacy"), ("bad", "dies")]).await;
    let prompts: Vec<_> = manager.prompts().into_iter().map(|prompt| (prompt.server, prompt.name)).collect();
    assert_eq!(prompts, [("new".into(), "greet".to_owned()), ("old".into(), "greet".to_owned())]);
    let resources = manager.resources();
    assert_eq!(resources.iter().map(|resource| &*resource.uri).collect::<Vec<_>>(), ["note://greeting"; 2]);
    assert_eq!(resources[0].listed["mimeType"], "text/plain");
    for server in ["new", "old"] {
        let prompt = manager.prompt(server, "greet", &json!({"who": "Ada"})).await.unwrap();
        assert_eq!(prompt["messages"][0]["content"]["text"], "Say hello to Ada.");
        let note = manager.read(server, "note://greeting").await.unwrap();
        assert_eq!(note["contents"][0]["text"], "Good morning.\n");
    }
    let unknown = manager.read("new", "note://nothing").await;
    assert!(
        matches!(&unknown, Err(NotGiven::Refused { message, .. }) if message.contains("note://nothing")),
        "{unknown:?}"
    );
    assert!(matches!(manager.prompt("none", "greet", &json!({})).await, Err(NotGiven::NoServer(_))));
    assert!(matches!(manager.read("bad", "note://greeting").await, Err(NotGiven::Call(_))));
    manager.shutdown().await;
}
