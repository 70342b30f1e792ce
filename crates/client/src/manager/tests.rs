use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::spec::Transport;

/// A record of `mcpServers`, and whether it is valid.
fn records() -> impl Strategy<Value = (Value, bool)> {
    let words = || proptest::collection::vec("[a-z0-9/.-]{1,10}", 0..3);
    let variables = proptest::collection::btree_map("[A-Z]{1,6}", "[a-z0-9]{0,8}", 0..3);
    prop_oneof![
        ("[a-z]{1,8}", words(), variables, 1_u64..600).prop_map(|(command, args, env, timeout)| {
            (json!({"transport": "stdio", "command": command, "args": args, "env": env, "timeout": timeout}), true)
        }),
        ("[a-z]{1,8}", 1_u64..600).prop_map(|(host, timeout)| {
            (json!({"transport": "sse", "url": format!("http://{host}:8080/sse"), "timeout": timeout}), true)
        }),
        Just((json!({"transport": "stdio", "args": ["x"]}), false)),
        Just((json!({"transport": "sse"}), false)),
        Just((json!({"transport": "pigeon", "command": "x"}), false)),
        Just((json!("text"), false)),
    ]
}

fn files() -> impl Strategy<Value = BTreeMap<String, (Value, bool)>> {
    proptest::collection::btree_map("[a-z][a-z0-9-]{0,8}", records(), 0..6)
}

fn specs(records: &BTreeMap<String, (Value, bool)>) -> Vec<ServerSpec> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    let members: Map<String, Value> =
        records.iter().map(|(name, (record, _))| (name.clone(), record.clone())).collect();
    std::fs::write(&path, json!({"mcpServers": members}).to_string()).unwrap();
    let loaded = load(&[path]);
    assert_eq!(loaded.problems, []);
    loaded.config.servers.iter().filter_map(|(name, record)| server_spec(name, record)).collect()
}

proptest! {
    /// Properties 1 and 2 of the seed: valid entries are read as they are written, the others are skipped.
    #[test]
    fn valid_entries_are_read_as_written_and_the_others_skipped(records in files()) {
        let specs = specs(&records);
        let valid: Vec<&String> = records.iter().filter(|(_, (_, valid))| *valid).map(|(name, _)| name).collect();
        prop_assert_eq!(specs.iter().map(|spec| &*spec.name).collect::<Vec<_>>(), valid);
        for spec in &specs {
            let (record, _) = &records[&*spec.name];
            prop_assert_eq!(json!(spec.call_timeout.as_secs()), record["timeout"].clone());
            match &spec.transport {
                Transport::Stdio { command, args, env, .. } => {
                    prop_assert_eq!(json!([command, args, env]), json!([record["command"], record["args"], record["env"]]));
                }
                Transport::Http { url, .. } | Transport::Sse { url, .. } => {
                    prop_assert_eq!(json!(url), record["url"].clone());
                }
                Transport::InProcess(_) => prop_assert!(false, "no record asks for that"),
            }
        }
    }
}

#[tokio::test]
async fn a_configuration_that_is_not_valid_gives_a_manager_without_servers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    std::fs::write(&path, "{").unwrap();
    let manager = Manager::connect(ManagerSettings { paths: vec![path], ..ManagerSettings::default() }).await;
    assert!(manager.registry().is_empty());
    assert!(manager.health().await.is_empty());
    assert!(manager.reload().await.is_err());
    manager.shutdown().await;
}

#[tokio::test]
async fn a_server_that_cannot_start_is_down_and_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mcp.json");
    std::fs::write(&path, r#"{"mcpServers": {"gone": {"command": "not-a-program-of-this-machine"}}}"#)
        .unwrap();
    let manager = Manager::connect(ManagerSettings { paths: vec![path], ..ManagerSettings::default() }).await;
    let health = manager.health().await;
    assert_eq!(health.iter().map(|server| server.state).collect::<Vec<_>>(), [State::Down]);
    assert!(health[0].cause.is_some());
    manager.shutdown().await;
}
