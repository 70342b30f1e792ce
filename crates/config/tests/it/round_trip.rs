//! What is written is what is read again.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value as Json, json};
use toolgate_config::{Config, Node, Origin, byte_size, duration, import, write};

use crate::scene::{folder_with, loaded, loaded_text};

fn scalar_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,20}",
        "\\PC{0,8}",
        any::<String>().prop_map(|text| text.chars().take(12).collect()),
        prop::sample::select(vec![
            "yes", "no", "null", "~", "1.0", "0x1f", "- a", "a: b", "# c", "", " x ", "1e3", "*a", "&b"
        ])
        .prop_map(str::to_owned),
    ]
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        scalar_text().prop_map(Json::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(scalar_text(), inner, 0..5)
                .prop_map(|map| map.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

/// A record of a server such as other programs write, and texts with nothing special in them.
fn server() -> impl Strategy<Value = Json> {
    let text = "[a-zA-Z0-9 _./@:#-]{1,16}";
    let stdio =
        (text, prop::collection::vec(text, 0..4), prop::collection::btree_map("[A-Z]{1,4}", text, 0..3))
            .prop_map(
                |(command, args, env)| json!({"command": format!("c{command}"), "args": args, "env": env}),
            );
    let remote = ("[a-z]{1,8}", prop::sample::select(vec!["sse", "http"]), 1..900u32)
        .prop_map(|(host, transport, timeout)| json!({"url": format!("http://{host}/x"), "transport": transport, "timeout": timeout}));
    prop_oneof![stdio, remote]
}

/// Text out of nothing, and text out of what the three formats are made of.
fn document() -> impl Strategy<Value = String> {
    prop_oneof!["\\PC{0,60}", "[-:?&*!|>%@#{}\\[\\],'\"a \n\t~0<$=._/\\\\]{0,80}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_tree_survives_yaml(members in prop::collection::btree_map(scalar_text(), any_json(), 0..5)) {
        // `<<` is YAML's merge key: it means something else than a key of that name.
        let members: serde_json::Map<_, _> = members.into_iter().filter(|(key, _)| key != "<<").collect();
        let expected = Json::from(members);
        prop_assume!(!expected.to_string().contains("\"<<\""));
        let text = write::to_yaml(&Node::from_json(&expected, &Origin::Default));
        let folder = folder_with(&[("toolgate.yaml", text.as_str())]);
        let read = import(&[folder.path().join("toolgate.yaml")], folder.path(), false, &|_| None);
        prop_assert_eq!(&read.problems, &[], "{}", text);
        prop_assert_eq!(read.tree.to_json(), expected, "{}", text);
    }

    #[test]
    fn imported_files_mean_the_same(servers in prop::collection::btree_map("[a-z][a-z0-9_-]{0,8}", server(), 0..5)) {
        let foreign = json!({ "mcpServers": servers }).to_string();
        let folder = folder_with(&[("mcp.json", foreign.as_str())]);
        let path = folder.path().join("mcp.json");
        let direct = loaded(std::slice::from_ref(&path));
        prop_assert_eq!(&direct.problems, &[]);
        prop_assert_eq!(&direct.warnings, &[]);
        prop_assert_eq!(direct.config.servers.len(), servers.len());
        let text = write::to_yaml(&import(&[path], folder.path(), false, &|_| None).tree);
        let again = loaded_text("toolgate.yaml", &text);
        prop_assert_eq!(again.problems, [], "{}", text);
        prop_assert_eq!(again.config, direct.config);
    }

    #[test]
    fn every_field_of_a_record_is_kept(name in "[a-z]{1,8}", server in server()) {
        let text = json!({ "mcpServers": { &name: &server } }).to_string();
        let config: Config = loaded_text("mcp.json", &text).config;
        let read = &config.servers[&name];
        prop_assert_eq!(read.command.as_deref(), server["command"].as_str());
        prop_assert_eq!(read.url.as_deref(), server["url"].as_str());
        let args: Vec<&str> = server["args"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        prop_assert_eq!(&read.args, &args);
        let env: Vec<_> = server["env"].as_object().into_iter().flatten().collect();
        prop_assert_eq!(read.env.len(), env.len());
        for (key, value) in env {
            prop_assert_eq!(Some(read.env[key].expose()), value.as_str());
        }
        let timeout = server["timeout"].as_u64().unwrap_or(300);
        prop_assert_eq!(read.call_timeout, Duration::from_secs(timeout));
    }

    #[test]
    fn good_entries_survive_bad_ones(kinds in prop::collection::vec(any::<bool>(), 0..12)) {
        let bad = [json!({}), json!(1), json!({"transport": "x"}), json!({"transport": "sse"}), json!({"args": []})];
        let servers: serde_json::Map<_, _> = kinds
            .iter()
            .enumerate()
            .map(|(index, good)| (format!("s{index}"), if *good { json!({"command": "x"}) } else { bad[index % 5].clone() }))
            .collect();
        let loaded = loaded_text("mcp.json", &json!({ "mcpServers": servers }).to_string());
        prop_assert_eq!(loaded.problems, []);
        prop_assert_eq!(loaded.config.servers.len(), kinds.iter().filter(|good| **good).count());
    }

    #[test]
    fn any_text_is_refused_or_read(text in document(), name in prop::sample::select(vec!["a.yaml", "a.json", "a.toml"])) {
        let _ = loaded_text(name, &text);
    }

    #[test]
    fn times_and_sizes_are_read_as_written(ms in 0..10_000_000_000u64, bytes in 0..(1usize << 50)) {
        let time = Duration::from_millis(ms);
        prop_assert_eq!(duration::parse(&duration::write(time)), Ok(time));
        prop_assert_eq!(byte_size::parse(&byte_size::write(bytes)), Ok(bytes));
    }
}
