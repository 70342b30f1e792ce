//! What is imported means what it meant, whatever it was written for and wherever it is written to.

use std::path::{Path, PathBuf};

use toolgate_config::{Imported, Loaded, Overrides, Request, import, load, write};

use crate::scene::{fixture, folder_with};

/// The variables that are set.
fn environment(name: &str) -> Option<String> {
    let known = ["TOKEN", "GITHUB_TOKEN", "TEAM", "TOOLGATE_INPUT_API_KEY", "HOME"];
    known.contains(&name).then(|| format!("/value/of/{name}"))
}

fn loaded(path: &Path, strict: bool) -> Loaded {
    let paths = vec![path.to_path_buf()];
    load(&Request { paths, overrides: Overrides::default(), strict, environment: &environment })
}

fn imported(path: &Path, into: &Path, strict: bool) -> Imported {
    import(&[path.to_path_buf()], into, strict, &environment)
}

/// Loads a file, and what is made of it in another folder and beside it: the configurations must be the same.
fn check(path: &Path) {
    let direct = loaded(path, false);
    assert_eq!(direct.problems, [], "{}", path.display());
    let elsewhere = folder_with(&[]);
    for into in [elsewhere.path(), path.parent().unwrap()] {
        let taken = imported(path, into, false);
        assert_eq!(taken.problems, [], "{}", path.display());
        let text = write::to_yaml(&taken.tree);
        let file = into.join("imported.toolgate.yaml");
        std::fs::write(&file, &text).unwrap();
        let again = loaded(&file, true);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(again.problems, [], "{}:\n{text}", path.display());
        assert_eq!(again.config, direct.config, "{}:\n{text}", path.display());
    }
}

#[test]
fn every_format_means_the_same_in_ours() {
    let files = [
        (
            "claude_desktop_config.json",
            r#"{"globalShortcut": "", "mcpServers": {"fs": {"command": "npx", "args": ["-y", "a$$b"], "env": {"N": 1}}}}"#,
        ),
        (
            ".mcp.json",
            r#"{"mcpServers": {"a": {"type": "http", "url": "https://h/mcp", "headers": {"A": "Bearer ${TOKEN}"}},
                               "b": {"command": "${HOME}/run", "cwd": "sub", "env": {"X": "${NOBODY:-{}}"}}}}"#,
        ),
        (
            "cursor/.cursor/mcp.json",
            r#"{"mcpServers": {"a": {"url": "http://h/sse"}, "b": {"command": "x", "args": ["${workspaceFolder}/y"],
                               "envFile": ".env", "disabled": true}}}"#,
        ),
        (
            "code/.vscode/mcp.json",
            r#"{"inputs": [{"type": "promptString", "id": "api-key"}, {"type": "promptString", "id": "r", "default": "eu"}],
                "servers": {"c": {"type": "http", "url": "https://h/mcp", "headers": {"K": "${input:api-key}", "R": "${input:r}"}},
                            "l": {"type": "stdio", "command": "run", "args": ["${workspaceFolder}/x"], "cwd": "sub"}}}"#,
        ),
        (
            "windsurf/mcp_config.json",
            r#"{"mcpServers": {"w": {"serverUrl": "https://h/mcp", "disabledTools": ["rm"], "timeout": 60}}}"#,
        ),
        (
            "codex/config.toml",
            "[mcp_servers.docs]\nurl = \"https://h/mcp\"\nbearer_token_env_var = \"TOKEN\"\ntool_timeout_sec = 45\n\
             env_http_headers = { X-Team = \"TEAM\" }\ndefault_tools_approval_mode = \"prompt\"\n\
             [mcp_servers.docs.tools.search]\napproval_mode = \"approve\"\n[mcp_servers.here]\ncommand = \"x\"\ncwd = \"sub\"\n",
        ),
        (
            "records/a.toml",
            "server_id = \"a\"\n[stdio]\ncommand = \"x\"\nargs = [\"./\"]\ncwd = \"sub\"\n[budgets]\ntool_timeout_ms = 30000\n",
        ),
        (
            "records/b.json",
            r#"{"server_id": "b", "transport": "streamable_http", "http": {"url": "http://h/", "auth_ref": "env:TOKEN"},
                "allowed_tools": ["*"], "approval_policy": {"default": "always", "read_*": "never"}}"#,
        ),
        (
            "otter.toml",
            "[mcp]\nauto_reload = false\nhealth_check_interval = \"9s\"\n[[mcp.servers]]\nname = \"a\"\ncommand = \"x\"\n",
        ),
        (
            "owl/mcp-server.yaml",
            "mcp_server:\n  transport: http\n  http: {port: 9, tls: {enabled: true, cert_file: c, key_file: k}}\n  \
             resources: {skills_dir: ./capabilities}\n  governance: {default_quota: {max_calls_per_minute: 60}}\n",
        ),
        (
            "mcp.json",
            r#"{"mcpServers": {"a": {"command": "x"}, "bad one": {"transport": "sse"}, "worse": 1}}"#,
        ),
        ("sms.toml", "[mcp]\ndir = \"records\"\n"),
    ];
    let folder = folder_with(&files);
    folder_of_project(folder.path());
    for (name, _) in files {
        check(&folder.path().join(name));
    }
    check(&folder.path().join("records"));
    assert_eq!(loaded(&folder.path().join("sms.toml"), true).config.servers.len(), 2, "Spear's own file");
    for name in ["mcp-server.yaml", "otter.toml", "otter-full.toml", "spear/fs.toml", "excelmanus.json"] {
        let copied = folder_with(&[(name, &std::fs::read_to_string(fixture(name)).unwrap())]);
        check(&copied.path().join(name));
    }
}

/// What the files above name.
fn folder_of_project(folder: &Path) {
    std::fs::write(folder.join("cursor/.env"), "KEY=of the project\n").unwrap();
}

#[test]
fn entries_that_would_be_skipped_are_left_out_or_refused() {
    let text = r#"{"mcpServers": {"good": {"command": "x"}, "bad": {"transport": "sse"}, "unset": {"url": "${NOBODY}"}}}"#;
    let folder = folder_with(&[("mcp.json", text)]);
    let path = folder.path().join("mcp.json");
    let taken = imported(&path, folder.path(), false);
    let names: Vec<&str> =
        taken.tree.get("servers").unwrap().entries().iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(names, ["good", "unset"], "what cannot be judged without a variable is taken");
    assert!(taken.warnings[0].what.starts_with("skipped this server"), "{:?}", taken.warnings);
    let strictly = imported(&path, folder.path(), true);
    assert!(strictly.problems[0].what.starts_with("skipped this server"), "{:?}", strictly.problems);
}

#[test]
fn paths_mean_the_same_from_another_folder() {
    let text = "skills: {dir: shelf, dirs: [more, /whole, ~/own]}\nservers:\n  a:\n    command: x\n    cwd: .\n    \
                args: [\"${file:key.txt}\", \"$${file:key.txt}\"]\n    auth_ref: file:token\n";
    let folder = folder_with(&[("toolgate.yaml", text)]);
    let path = folder.path().join("toolgate.yaml");
    let written = |into: &Path| imported(&path, into, false).tree.to_json();
    let home = folder.path().display().to_string();
    let there = written(Path::new("/elsewhere"));
    assert_eq!(there["skills"]["dir"], format!("{home}/shelf"));
    assert_eq!(there["skills"]["dirs"], serde_json::json!([format!("{home}/more"), "/whole", "~/own"]));
    let server = &there["servers"]["a"];
    assert_eq!(server["cwd"], home);
    assert_eq!(server["args"], serde_json::json!([format!("${{file:{home}/key.txt}}"), "$${file:key.txt}"]));
    assert_eq!(server["auth_ref"], format!("file:{home}/token"));
    let here = written(folder.path());
    assert_eq!((&here["skills"]["dir"], &here["servers"]["a"]["cwd"]), (&"shelf".into(), &".".into()));
}

#[test]
fn a_list_of_folders_is_beside_its_file() {
    let folder = folder_with(&[("toolgate.yaml", "skills: {dirs: [a, ./b]}\n")]);
    let found = loaded(&folder.path().join("toolgate.yaml"), true).config.skills.dirs;
    assert_eq!(found, ["a", "b"].map(|name| -> PathBuf { folder.path().join(name) }));
}

#[test]
fn what_was_skipped_is_known_by_name_and_by_file() {
    let record = "server_id = \"a\"\n[stdio]\ncommand = \"x\"\n";
    let folder = folder_with(&[
        ("records/a.toml", record),
        ("records/half.toml", "server_id = \"ha"),
        ("records/empty.toml", ""),
        ("mcp.json", r#"{"mcpServers": {"good": {"command": "x"}, "bad": {}}}"#),
    ]);
    let records = folder.path().join("records");
    let found = loaded(&records, false);
    let files: Vec<&PathBuf> = found.skipped.files.keys().collect();
    assert_eq!(files, [&records.join("empty.toml"), &records.join("half.toml")]);
    assert_eq!(found.file_of("a"), Some(&*records.join("a.toml")));
    let found = loaded(&folder.path().join("mcp.json"), false);
    assert_eq!(found.skipped.servers.keys().collect::<Vec<_>>(), ["bad"]);
}
