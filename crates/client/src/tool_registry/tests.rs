use proptest::prelude::*;

use super::*;
use crate::tool_registry::definition::{exposed_name, merge};

fn tool(name: &str) -> Value {
    json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"}})
}

fn names() -> impl Strategy<Value = String> {
    "[a-zA-Z][a-zA-Z0-9_-]{0,12}"
}

/// A few servers with a few tools each, names at random.
fn servers() -> impl Strategy<Value = BTreeMap<String, BTreeSet<String>>> {
    proptest::collection::btree_map(names(), proptest::collection::btree_set(names(), 0..4), 0..6)
}

fn merged(
    servers: &BTreeMap<String, BTreeSet<String>>,
    reserved: &BTreeSet<String>,
) -> BTreeMap<String, Definition> {
    let offer = Offer::default();
    let listed: Vec<(&str, Vec<Value>)> = servers
        .iter()
        .map(|(server, tools)| (server.as_str(), tools.iter().map(|name| tool(name)).collect()))
        .collect();
    merge(listed.iter().map(|(server, tools)| (*server, &offer, tools.as_slice())), reserved)
}

proptest! {
    /// Property 3 of the seed: a definition says what the server said, under the right name.
    #[test]
    fn a_definition_is_what_the_server_lists(server in names(), name in names(), about in ".{0,40}", key in names()) {
        let schema = json!({"type": "object", "properties": {key: {"type": "string"}}});
        let listed = json!({"name": name, "description": about, "inputSchema": schema});
        let definition = Definition::of(&server, &Offer::default(), &listed).unwrap();
        prop_assert_eq!(&definition.name, &format!("mcp_{}_{name}", server.replace('-', "_")));
        let expected = format!("[MCP:{server}] {about}");
        prop_assert_eq!(definition.description, expected.trim_end());
        prop_assert_eq!(definition.input_schema, schema);
    }

    /// Property 4: from the name back to server and tool, also where two give one name.
    #[test]
    fn every_name_leads_back_to_its_server_and_tool(servers in servers()) {
        let merged = merged(&servers, &BTreeSet::new());
        let mut found: Vec<(String, String)> = Vec::new();
        for (name, definition) in &merged {
            prop_assert!(name.starts_with(&exposed_name(&definition.server, &definition.native)));
            found.push((definition.server.to_string(), definition.native.clone()));
        }
        let mut expected: Vec<(String, String)> = servers
            .iter()
            .flat_map(|(server, tools)| tools.iter().map(move |tool| (server.clone(), tool.clone())))
            .collect();
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }

    /// Property 5: all text of a result is in the string.
    #[test]
    fn a_result_has_all_its_text(texts in proptest::collection::vec(".{0,30}", 0..6), image in any::<bool>()) {
        let mut blocks: Vec<Value> = texts.iter().map(|text| json!({"type": "text", "text": text})).collect();
        if image {
            blocks.insert(0, json!({"type": "image", "mimeType": "image/png", "data": "AAEC"}));
        }
        let text = result_text(&json!({"content": blocks}));
        for part in &texts {
            prop_assert!(text.contains(part));
        }
        prop_assert_eq!(text.contains("[image: image/png, 3 bytes]"), image);
    }

    #[test]
    fn a_cut_text_keeps_its_beginning_and_says_what_is_missing(text in ".{0,60}", most in 0_usize..40) {
        let cut = cut(text.clone(), most);
        let all = text.chars().count();
        if all <= most {
            prop_assert_eq!(cut, text);
        } else {
            let kept: String = text.chars().take(most).collect();
            prop_assert_eq!(cut, format!("{kept}\n[cut: {most} of {all} characters]"));
        }
    }
}

#[test]
fn names_of_the_agent_are_left_to_it() {
    let servers =
        BTreeMap::from([("files".to_owned(), BTreeSet::from(["read".to_owned(), "write".to_owned()]))]);
    let merged = merged(&servers, &BTreeSet::from(["mcp_files_read".to_owned()]));
    assert_eq!(merged.keys().collect::<Vec<_>>(), ["mcp_files_write"]);
}

#[test]
fn tools_that_cannot_be_used_are_left_out() {
    let check = |listed: Value, expected: UnusableTool| {
        assert_eq!(Definition::of("a", &Offer::default(), &listed), Err(expected), "{listed}");
    };
    check(json!({"inputSchema": {}}), UnusableTool::NoName);
    check(json!({"name": "", "inputSchema": {}}), UnusableTool::NoName);
    check(json!({"name": "b"}), UnusableTool::Schema("b".into()));
    check(json!({"name": "b", "inputSchema": []}), UnusableTool::Schema("b".into()));
}

#[test]
fn of_two_tools_with_one_name_the_second_has_a_mark_that_stays() {
    let servers = BTreeMap::from([
        ("a".to_owned(), BTreeSet::from(["b_c".to_owned()])),
        ("a_b".to_owned(), BTreeSet::from(["c".to_owned()])),
    ]);
    let once = merged(&servers, &BTreeSet::new());
    assert_eq!(once.keys().next().map(String::as_str), Some("mcp_a_b_c"));
    assert_eq!(once.len(), 2);
    assert_eq!(
        once.keys().collect::<Vec<_>>(),
        merged(&servers, &BTreeSet::new()).keys().collect::<Vec<_>>()
    );
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_told() {
    let registry = ToolRegistry::default();
    assert!(
        matches!(registry.call("mcp_a_b", &json!({})).await, Err(ToolError::Unknown(name)) if name == "mcp_a_b")
    );
}
