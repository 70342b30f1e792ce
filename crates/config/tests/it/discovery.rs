//! Where files are looked for.

use std::path::{Path, PathBuf};

use toolgate_config::discover::{Place, Search, System, find, places};

use crate::scene::folder_with;

#[test]
fn variable_then_argument_then_workspace_then_home() {
    let folder = folder_with(&[
        ("work/mcp.json", "{}"),
        ("home/.excelmanus/mcp.json", "{}"),
        ("by-variable.json", "{}"),
        ("by-argument.json", "{}"),
    ]);
    let root = folder.path();
    let look = |variable: bool, argument: bool, workspace: &str| {
        let environment = |name: &str| match name {
            "EXCELMANUS_MCP_CONFIG" if variable => Some(root.join("by-variable.json").display().to_string()),
            "HOME" => Some(root.join("home").display().to_string()),
            _ => None,
        };
        let found = find(&Search {
            argument: argument.then(|| root.join("by-argument.json")),
            workspace: root.join(workspace),
            environment: &environment,
        });
        found.map(|path| path.strip_prefix(root).unwrap().to_path_buf())
    };
    let path = |text: &str| Some(PathBuf::from(text));
    assert_eq!(look(true, true, "work"), path("by-variable.json"));
    assert_eq!(look(false, true, "work"), path("by-argument.json"));
    assert_eq!(look(false, false, "work"), path("work/mcp.json"));
    assert_eq!(look(false, false, "elsewhere"), path("home/.excelmanus/mcp.json"));
    std::fs::remove_file(root.join("home/.excelmanus/mcp.json")).unwrap();
    assert_eq!(look(false, false, "elsewhere"), None, "a file that is only looked for may be missing");
    std::fs::write(root.join("work/toolgate.yaml"), "").unwrap();
    assert_eq!(look(false, false, "work"), path("work/toolgate.yaml"), "our own file comes first");
}

#[test]
fn variables_name_a_file_or_a_folder() {
    let check = |variables: &'static [(&str, &str)], argument: Option<&str>, expected: Option<&str>| {
        let environment = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let (argument, workspace) = (argument.map(PathBuf::from), PathBuf::from("/nowhere"));
        let found = find(&Search { argument, workspace, environment: &environment });
        assert_eq!(found, expected.map(PathBuf::from), "{variables:?} {:?}", found);
    };
    check(&[("TOOLGATE_CONFIG", "/a.yaml")], None, Some("/a.yaml"));
    check(&[("SMS_MCP_DIR", "/servers.d")], None, Some("/servers.d"));
    check(&[("SMS_MCP_DIR", "/servers.d"), ("TOOLGATE_CONFIG", "/a.yaml")], None, Some("/a.yaml"));
    check(&[("TOOLGATE_CONFIG", "/a.yaml")], Some("/b.yaml"), Some("/b.yaml"));
    check(&[("TOOLGATE_CONFIG", "")], None, None);
}

#[test]
fn other_programs_have_their_places_on_every_system() {
    let check = |system: System, variables: &'static [(&str, &str)], expected: &str| {
        let environment = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let found = places(system, Path::new("/project"), &environment);
        let desktop = found.iter().find(|place| place.program == "Claude Desktop");
        assert_eq!(desktop, Some(&Place { program: "Claude Desktop", path: PathBuf::from(expected) }));
        assert!(found.contains(&Place { program: "Cursor", path: "/project/.cursor/mcp.json".into() }));
    };
    check(System::Linux, &[("HOME", "/h")], "/h/.config/Claude/claude_desktop_config.json");
    check(
        System::Linux,
        &[("HOME", "/h"), ("XDG_CONFIG_HOME", "/c")],
        "/c/Claude/claude_desktop_config.json",
    );
    check(
        System::MacOs,
        &[("HOME", "/h")],
        "/h/Library/Application Support/Claude/claude_desktop_config.json",
    );
    check(System::Windows, &[("APPDATA", "/a")], "/a/Claude/claude_desktop_config.json");
}
