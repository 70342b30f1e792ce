//! `servers add` and `servers remove` keep everything else as it is.

use toolgate_config::well_known;
use toolgate_config::write::edit::{EditError, add_server, remove_server};

use crate::scene::{loaded_text, loaded_with};

fn time() -> toolgate_config::Node {
    well_known::find("time").unwrap().record(&[])
}

fn check_add(text: &str, expected: &str) {
    assert_eq!(add_server(text, "time", &time()).unwrap(), expected);
}

fn check_remove(text: &str, expected: &str) {
    assert_eq!(remove_server(text, "old").unwrap(), expected);
}

#[test]
fn adding_keeps_comments_and_indentation() {
    check_add("", "servers:\n  time:\n    command: uvx\n    args: [mcp-server-time]\n");
    check_add(
        "names: plain # mine",
        "names: plain # mine\n\nservers:\n  time:\n    command: uvx\n    args: [mcp-server-time]\n",
    );
    check_add(
        "# top\nservers:\n    # about old\n    old: {command: x} # inline\n    # last words\n\n# next\nnames: plain\n",
        "# top\nservers:\n    # about old\n    old: {command: x} # inline\n    # last words\n    time:\n      \
         command: uvx\n      args: [mcp-server-time]\n\n# next\nnames: plain\n",
    );
    check_add(
        "servers: {} # none\nnames: plain\n",
        "servers:  # none\n  time:\n    command: uvx\n    args: [mcp-server-time]\nnames: plain\n",
    );
    check_add("servers:\n", "servers:\n  time:\n    command: uvx\n    args: [mcp-server-time]\n");
}

#[test]
fn removing_keeps_the_neighbours() {
    check_remove(
        "servers:\n  a: {command: x}\n  old:\n    command: y\n    # inside\n\n  # about b\n  b: {command: z}\n",
        "servers:\n  a: {command: x}\n\n  # about b\n  b: {command: z}\n",
    );
    check_remove(
        "# my servers: all\nservers:\n  old: {command: x}\nnames: plain\n",
        "# my servers: all\nservers: {}\nnames: plain\n",
    );
}

#[test]
fn what_cannot_be_done_is_refused() {
    let flow = "servers: {a: {command: x}}\n";
    assert_eq!(add_server(flow, "time", &time()), Err(EditError::Shape));
    assert_eq!(remove_server(flow, "a"), Err(EditError::Shape));
    assert_eq!(remove_server("names: plain\n", "a"), Err(EditError::Absent("a".into())));
    assert_eq!(add_server("servers:\n  time: {}\n", "time", &time()), Err(EditError::Exists("time".into())));
    assert!(matches!(add_server("a: [", "time", &time()), Err(EditError::Invalid { .. })));
}

#[test]
fn every_well_known_server_loads() {
    let mut text = String::new();
    let mut variables = Vec::new();
    for server in well_known::CATALOGUE {
        text = add_server(&text, server.name, &server.record(&["extra".to_owned()])).unwrap();
        variables.extend(server.variables.iter().map(|variable| (variable.name, "value")));
    }
    let folder = crate::scene::folder_with(&[("toolgate.yaml", &text)]);
    let loaded = loaded_with(&[folder.path().join("toolgate.yaml")], &variables);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.servers.len(), well_known::CATALOGUE.len());
    let without = loaded_text("toolgate.yaml", &text);
    let needy = well_known::CATALOGUE.iter().filter(|server| !server.variables.is_empty());
    assert!(needy.into_iter().all(|server| without.disabled.contains_key(server.name)));
    assert_eq!(well_known::nearest("file-system"), Some("filesystem"));
}
