mod toys;

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolgate_config::ServerConfig;

use super::*;
use crate::call::CallError;
use crate::spec::Transport;
use crate::tool_registry::ToolError;
use toys::{Toy, manager_of, names, replace, settle};

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
        ("[a-z]{1,8}", 1_u64..600).prop_map(|(host, timeout)| {
            (json!({"transport": "http", "url": format!("http://{host}:8080/mcp"), "timeout": timeout}), true)
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
    let (runtime, nursery) = (&loaded.config.runtime, Nursery::default());
    let servers = loaded.config.servers.iter();
    servers.filter_map(|(name, record)| server_spec(name, record, runtime, &nursery)).collect()
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
            let transport = match &spec.transport {
                Transport::Stdio { .. } => "stdio",
                Transport::Http { .. } => "http",
                Transport::Sse { .. } => "sse",
                Transport::InProcess(_) => "in process",
            };
            prop_assert_eq!(json!(transport), record["transport"].clone());
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

    /// Property 6: as many servers are there as could be connected, with exactly their tools, whichever failed.
    #[test]
    fn a_server_that_fails_takes_nothing_from_the_others(servers in servers()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let toys = servers.iter().map(|(name, (tools, broken))| {
                let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
                (Toy { broken: *broken, ..Toy::with("here", &tools) }.spec(name), Offer::default())
            });
            let manager = manager_of(toys.collect()).await;
            let ready = |server: &&ServerHealth| server.state == State::Ready;
            let up: Vec<Arc<str>> =
                manager.health().await.iter().filter(ready).map(|server| Arc::clone(&server.name)).collect();
            let expected: Vec<Arc<str>> =
                servers.iter().filter(|(_, (_, broken))| !broken).map(|(name, _)| name.as_str().into()).collect();
            prop_assert_eq!(up, expected);
            let registry = manager.registry();
            let found: BTreeSet<(&str, &str)> =
                registry.definitions().map(|tool| (&*tool.server, &*tool.native)).collect();
            let offered = servers.iter().filter(|(_, (_, broken))| !broken);
            let expected: BTreeSet<(&str, &str)> = offered
                .flat_map(|(name, (tools, _))| tools.iter().map(move |tool| (name.as_str(), tool.as_str())))
                .collect();
            prop_assert_eq!(found, expected);
            for tool in registry.definitions() {
                prop_assert_eq!(registry.call(&tool.name, &json!({})).await.unwrap(), "here");
            }
            manager.shutdown().await;
            Ok(())
        })?;
    }
}

/// Some servers, each with its tools and whether it is broken.
fn servers() -> impl Strategy<Value = BTreeMap<String, (BTreeSet<String>, bool)>> {
    let tools = proptest::collection::btree_set("[a-z][a-z0-9_]{2,8}", 0..3).prop_map(|mut tools| {
        tools.remove("wait");
        tools.remove("silent");
        tools
    });
    proptest::collection::btree_map("[a-zA-Z][a-zA-Z0-9_-]{0,8}", (tools, any::<bool>()), 0..5)
}

/// The record of the seed's own example, and the same without the key that allows tools.
fn spear_records() -> (ServerConfig, ServerConfig) {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../config/tests/fixtures/spear/fs.toml");
    let text = std::fs::read_to_string(example).unwrap();
    let record = |text: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("fs.toml"), text).unwrap();
        load(&[folder.path().to_path_buf()]).config.servers.remove("fs").unwrap()
    };
    let without: String = text
        .lines()
        .filter(|line| !line.starts_with("allowed_tools"))
        .map(|line| format!("{line}\n"))
        .collect();
    (record(&text), record(&without))
}

#[tokio::test]
async fn only_tools_that_the_record_allows_are_there() {
    let (some, none) = spear_records();
    let toy = || Toy::with("here", &["read_file", "search_files", "write_file"]);
    let spec = toy().spec("fs");
    let manager = manager_of(vec![(spec.clone(), Offer::of(&some))]).await;
    assert_eq!(names(&manager), ["mcp_fs_read_file", "mcp_fs_search_files"]);
    assert_eq!(manager.health().await[0].tools, 2);
    let refused = manager.registry().call("mcp_fs_write_file", &json!({})).await;
    assert!(matches!(refused, Err(ToolError::Unknown(_))), "{refused:?}");
    replace(&manager, vec![(spec.clone(), Offer::of(&none))]).await;
    assert_eq!(names(&manager), [""; 0], "who allows none has none, also without a new connection");
    let mut denying = none;
    (denying.allowed_tools, denying.denied_tools) = (None, vec!["*_file".to_owned()]);
    denying.tool_namespace = Some("my-files".to_owned());
    replace(&manager, vec![(spec, Offer::of(&denying))]).await;
    assert_eq!(names(&manager), ["mcp_my_files_search_files"]);
    manager.shutdown().await;
}

#[tokio::test]
async fn a_changed_server_answers_until_its_successor_can() {
    let old = Toy::with("old", &["say", "wait"]);
    let (begun, answers) = (Arc::clone(&old.begun), Arc::clone(&old.answers));
    let manager = manager_of(vec![(old.spec("s"), Offer::default())]).await;
    let before = manager.registry();
    let holder = Arc::clone(&before);
    let held = tokio::spawn(async move { holder.call("mcp_s_wait", &json!({})).await });
    begun.acquire().await.unwrap().forget();

    let new = Toy::with("new", &["say", "more"]).that_waits();
    let greets = Arc::clone(&new.greets);
    replace(&manager, vec![(new.spec("s"), Offer::default())]).await;
    assert_eq!(names(&manager), ["mcp_s_say", "mcp_s_wait"], "the new one has not listed yet");
    assert_eq!(manager.registry().call("mcp_s_say", &json!({})).await.unwrap(), "old");

    greets.add_permits(1);
    settle(&manager).await;
    assert_eq!(names(&manager), ["mcp_s_more", "mcp_s_say"]);
    assert_eq!(manager.registry().call("mcp_s_say", &json!({})).await.unwrap(), "new");
    assert_eq!(
        before.call("mcp_s_say", &json!({})).await.unwrap(),
        "new",
        "also for who holds an old registry"
    );
    answers.add_permits(1);
    assert_eq!(
        held.await.unwrap().unwrap(),
        "old",
        "what was under way is finished by the one that began it"
    );

    let broken = Toy { broken: true, ..Toy::with("broken", &[]) };
    replace(&manager, vec![(broken.spec("s"), Offer::default())]).await;
    settle(&manager).await;
    assert_eq!(names(&manager), ["mcp_s_more", "mcp_s_say"], "what is down stays listed");
    let down = manager.registry().call("mcp_s_say", &json!({})).await;
    assert!(matches!(down, Err(ToolError::Call(CallError::Unavailable { .. }))), "{down:?}");
    manager.shutdown().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_told_and_counted() {
    let seconds = Duration::from_secs;
    let short = Duration::from_millis(40);
    let check = |call_timeout, tool_timeouts: BTreeMap<String, Duration>| async move {
        let record = ServerConfig { tool_timeouts, ..ServerConfig::default() };
        let spec = ServerSpec { call_timeout, ..Toy::with("here", &["say", "silent"]).spec("s") };
        let manager = manager_of(vec![(spec, Offer::of(&record))]).await;
        let registry = manager.registry();
        assert_eq!(registry.call("mcp_s_say", &json!({})).await.unwrap(), "here");
        let late = registry.call("mcp_s_silent", &json!({})).await;
        assert!(
            matches!(late, Err(ToolError::Call(CallError::Timeout { limit, .. })) if limit == short),
            "{late:?}"
        );
        let figures = manager.figures();
        let told = |tool: &str| (figures[tool].calls, figures[tool].errors);
        assert_eq!((told("mcp_s_say"), told("mcp_s_silent")), ((1, 0), (1, 1)));
        let silent = figures["mcp_s_silent"];
        assert!(silent.longest >= short && silent.total == silent.longest, "{silent:?}");
        manager.shutdown().await;
    };
    check(short, BTreeMap::new()).await;
    check(seconds(60), BTreeMap::from([("sil*".to_owned(), short)])).await;
}

#[test]
fn a_configuration_is_found_by_variable_argument_workspace_and_home() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (workspace, home) = (path("workspace"), path("home"));
    std::fs::create_dir_all(&workspace).unwrap();
    std::fs::create_dir_all(home.join(".excelmanus")).unwrap();
    std::fs::write(home.join(".excelmanus/mcp.json"), "{}").unwrap();
    let found = |argument: Option<&Path>, variable: Option<&Path>| {
        let environment = |name: &str| match name {
            "HOME" => Some(home.display().to_string()),
            "EXCELMANUS_MCP_CONFIG" => variable.map(|path| path.display().to_string()),
            _ => None,
        };
        ManagerSettings::found_with(argument, &workspace, &environment).paths
    };
    assert_eq!(found(None, None), [home.join(".excelmanus/mcp.json")]);
    std::fs::write(workspace.join("mcp.json"), "{}").unwrap();
    assert_eq!(found(None, None), [workspace.join("mcp.json")]);
    assert_eq!(found(Some(&path("a.json")), None), [path("a.json")]);
    assert_eq!(found(Some(&path("a.json")), Some(&path("v.json"))), [path("v.json")]);
    std::fs::remove_file(workspace.join("mcp.json")).unwrap();
    std::fs::remove_file(home.join(".excelmanus/mcp.json")).unwrap();
    assert_eq!(found(None, None), [""; 0].map(PathBuf::from), "none found is no failure");
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
