//! The formats of other programs, and that a bad entry costs only itself.

use std::time::Duration;

use crate::scene::{folder_with, loaded, loaded_strictly, loaded_text, loaded_with};
use toolgate_config::{ApprovalMode, Loaded, Transport};

fn only_server(name: &str, text: &str) -> toolgate_config::ServerConfig {
    let loaded = loaded_text(name, text);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.servers.len(), 1, "{:?}", loaded.warnings);
    loaded.config.servers.into_values().next().unwrap()
}

fn warnings(loaded: &Loaded) -> Vec<String> {
    loaded.warnings.iter().map(|warning| format!("{}: {}", warning.path, warning.what)).collect()
}

#[test]
fn claude_desktop() {
    let server = only_server(
        "claude_desktop_config.json",
        r#"{
            // people put comments here
            "globalShortcut": "",
            "mcpServers": {
                "fs": { "command": "npx", "args": ["-y", "pkg", "a$$b"], "env": {"N": 1}, },
            }
        }"#,
    );
    assert_eq!(server.transport, Transport::Stdio);
    assert_eq!(server.args, ["-y", "pkg", "a$$b"]);
    assert_eq!(server.env["N"].expose(), "1");
}

#[test]
fn addresses_of_every_dialect() {
    let check = |record: &str, transport: Transport, url: &str| {
        let server = only_server("mcp.json", &format!(r#"{{"mcpServers": {{"a": {record}}}}}"#));
        assert_eq!((server.transport, server.url.as_deref()), (transport, Some(url)), "{record}");
    };
    check(r#"{"url": "http://h/mcp"}"#, Transport::Http, "http://h/mcp");
    check(r#"{"url": "http://h/sse"}"#, Transport::Sse, "http://h/sse");
    check(r#"{"serverUrl": "http://h/mcp"}"#, Transport::Http, "http://h/mcp");
    check(r#"{"httpUrl": "http://h/x"}"#, Transport::Http, "http://h/x");
    check(r#"{"type": "streamable-http", "url": "http://h/sse"}"#, Transport::Http, "http://h/sse");
    check(r#"{"type": "sse", "url": "http://h/x"}"#, Transport::Sse, "http://h/x");
    check(r#"{"transport": "streamableHttp", "url": "http://h/x"}"#, Transport::Http, "http://h/x");
}

#[test]
fn vscode_with_inputs_and_places() {
    let text = r#"{
        "inputs": [
            {"type": "promptString", "id": "api-key", "password": true},
            {"type": "promptString", "id": "region", "default": "eu"}
        ],
        "servers": {
            "cloud": {"type": "http", "url": "https://h/mcp",
                      "headers": {"X-Key": "${input:api-key}", "X-Region": "${input:region}"}},
            "local": {"type": "stdio", "command": "run", "args": ["${workspaceFolder}/x", "${env:USER}"]}
        }
    }"#;
    let folder = folder_with(&[(".vscode/mcp.json", text)]);
    let path = [folder.path().join(".vscode/mcp.json")];
    let without = loaded_with(&path, &[("USER", "ann")]);
    assert!(without.disabled["cloud"].contains("TOOLGATE_INPUT_API_KEY"));
    assert_eq!(
        without.config.servers["local"].args,
        [format!("{}/x", folder.path().display()), "ann".to_owned()]
    );
    let with = loaded_with(&path, &[("USER", "ann"), ("TOOLGATE_INPUT_API_KEY", "k")]);
    let headers = &with.config.servers["cloud"].headers;
    assert_eq!((headers["X-Key"].expose(), headers["X-Region"].expose()), ("k", "eu"));
}

#[test]
fn vscode_reads_variables_from_a_file() {
    let text = r#"{"servers": {
        "a": {"type": "stdio", "command": "run", "envFile": "${workspaceFolder}/.env", "cwd": "sub"},
        "b": {"type": "stdio", "command": "run", "envFile": ".env", "env": {"KEY": "own"}}
    }}"#;
    let folder = folder_with(&[(".vscode/mcp.json", text), (".env", "KEY=of the project\n")]);
    let loaded = loaded(&[folder.path().join(".vscode/mcp.json")]);
    assert_eq!((warnings(&loaded), loaded.disabled.len()), (vec![], 0), "{:?}", loaded.disabled);
    let servers = &loaded.config.servers;
    assert_eq!(servers["a"].env["KEY"].expose(), "of the project");
    assert_eq!(servers["a"].cwd, Some(folder.path().join("sub")));
    assert_eq!(servers["b"].env["KEY"].expose(), "own");
}

#[test]
fn claude_code_has_servers_of_the_user_and_of_projects() {
    let here = std::env::current_dir().unwrap();
    let above = here.parent().unwrap();
    let check = |projects: &serde_json::Value, expected: &[(&str, &str)]| {
        let user = serde_json::json!({"user": {"command": "u"}, "both": {"command": "u"}});
        let text =
            serde_json::json!({"numStartups": 3, "mcpServers": user, "projects": projects}).to_string();
        let loaded = loaded_text(".claude.json", &text);
        assert_eq!(loaded.problems, []);
        let found: Vec<_> = loaded
            .config
            .servers
            .iter()
            .map(|(name, server)| (name.as_str(), server.command.as_deref().unwrap()))
            .collect();
        assert_eq!(found, expected, "{projects}");
    };
    let project = |command: &str| serde_json::json!({"mcpServers": {"both": {"command": command}}, "x": 1});
    let (own, upper) = (here.display().to_string(), above.display().to_string());
    check(&serde_json::json!({}), &[("both", "u"), ("user", "u")]);
    check(&serde_json::json!({"/elsewhere": project("e")}), &[("both", "u"), ("user", "u")]);
    check(&serde_json::json!({&own: project("o"), &upper: project("a")}), &[("both", "o"), ("user", "u")]);
    check(
        &serde_json::json!({&own: {"mcpServers": {}}, &upper: project("a")}),
        &[("both", "a"), ("user", "u")],
    );
    let only = serde_json::json!({"projects": {&own: project("o")}}).to_string();
    assert_eq!(warnings(&loaded_text(".claude.json", &only)), [""; 0]);
}

#[test]
fn codex() {
    let text = r#"
        model = "o5"
        [mcp_servers.docs]
        url = "https://h/mcp"
        bearer_token_env_var = "DOCS_TOKEN"
        env_http_headers = { X-Team = "TEAM" }
        startup_timeout_sec = 20
        tool_timeout_sec = 45
        enabled_tools = ["search"]
        default_tools_approval_mode = "prompt"
        [mcp_servers.docs.tools.search]
        approval_mode = "approve"
    "#;
    let folder = folder_with(&[("config.toml", text)]);
    let loaded = loaded_with(&[folder.path().join("config.toml")], &[("DOCS_TOKEN", "t"), ("TEAM", "red")]);
    assert_eq!(loaded.problems, []);
    assert_eq!(warnings(&loaded), Vec::<String>::new());
    let server = &loaded.config.servers["docs"];
    assert_eq!(server.credential.as_ref().unwrap().expose(), "t");
    assert_eq!(server.headers["X-Team"].expose(), "red");
    assert_eq!(
        (server.connect_timeout, server.call_timeout),
        (Duration::from_secs(20), Duration::from_secs(45))
    );
    assert_eq!(server.allowed_tools.as_deref(), Some(["search".to_owned()].as_slice()));
    assert_eq!(server.approval, ApprovalMode::Always);
    assert_eq!(server.tool_approvals["search"], ApprovalMode::Never);
}

#[test]
fn bad_entries_are_skipped_and_good_ones_load() {
    let text = r#"{"mcpServers": {
        "good": {"command": "x"},
        "no command": {"transport": "stdio"},
        "sse-without-url": {"transport": "sse"},
        "pigeon": {"transport": "pigeon", "command": "x"},
        "text": "x",
        "args": {"command": "x", "args": "not a list"},
        "also.good": {"url": "http://h/", "disabled": true, "surprise": 1}
    }}"#;
    let loaded = loaded_text("mcp.json", text);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.servers.keys().collect::<Vec<_>>(), ["also.good", "good"]);
    assert!(!loaded.config.servers["also.good"].enabled);
    let said = warnings(&loaded);
    for expected in [
        "servers.no-command: `no command` is called `no-command` here",
        "servers.no-command: skipped this server: a stdio server needs a `command`",
        "servers.sse-without-url: skipped this server: a server with `transport: sse` needs a `url`",
        "servers.pigeon.transport: skipped this server: `pigeon` is not known here",
        "servers.text: skipped this server: expected a mapping, found `x`",
        "servers.args.args: skipped this server: expected a list, found `not a list`",
        "servers.\"also.good\".surprise: ignored the unknown key `surprise`",
    ] {
        assert!(said.contains(&expected.to_owned()), "{expected}\nin {said:#?}");
    }
    let folder = folder_with(&[("mcp.json", text)]);
    let strict = loaded_strictly(&[folder.path().join("mcp.json")]);
    assert_eq!(strict.problems.len(), said.len());
}

#[test]
fn spear_folder_follows_its_rules() {
    let record =
        |id: &str, command: &str| format!("server_id = \"{id}\"\n[stdio]\ncommand = \"{command}\"\n");
    let folder = folder_with(&[
        ("a.toml", &record("one", "first")),
        ("b.toml", &record("one", "second")),
        (
            "c.json",
            r#"{"server_id": "two", "transport": "streamable_http", "http": {"url": "http://h/"},
            "allowed_tools": ["*"], "approval_policy": {"default": "always", "read_*": "never"}, "colour": 1}"#,
        ),
        (".hidden.toml", &record("hidden", "x")),
        ("draft.toml~", &record("draft", "x")),
        (".c.json.swp", "x"),
        ("notes.txt", "x"),
        ("other.json", "{}"),
        ("deeper/d.toml", &record("deeper", "x")),
        ("broken.toml", "server_id = "),
        ("env.toml", "server_id = \"env\"\n[stdio]\ncommand = \"x\"\nenv = { A = \"${ENV:NOBODY}\" }\n"),
    ]);
    std::os::unix::fs::symlink(folder.path().join("a.toml"), folder.path().join("link.toml")).unwrap();
    let path = [folder.path().to_path_buf()];
    let found = loaded(&path);
    assert_eq!(found.problems, []);
    assert_eq!(found.config.servers.keys().collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(found.config.servers["one"].command.as_deref(), Some("second"));
    assert_eq!(found.config.servers["one"].allowed_tools, Some(vec![]), "denied unless allowed");
    assert!(found.disabled.contains_key("env"));
    let two = &found.config.servers["two"];
    assert_eq!((two.transport, two.approval), (Transport::Http, ApprovalMode::Always));
    assert_eq!(two.tool_approvals["read_*"], ApprovalMode::Never);
    let said: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
    for expected in
        ["also defined in", "links are not followed", "not a server record", "broken.toml:1", "colour"]
    {
        assert!(said.iter().any(|warning| warning.contains(expected)), "{expected} in {said:#?}");
    }
    assert!(loaded_strictly(&path).problems.len() >= 5, "strict makes problems of them");
}

#[test]
fn otter_switch_turns_all_servers_off() {
    let text = "[mcp]\nenabled = false\n[[mcp.servers]]\nname = \"a\"\ncommand = \"x\"\n[[mcp.servers]]\ncommand = \"y\"\n";
    let loaded = loaded_text("otter.toml", text);
    assert!(!loaded.config.servers["a"].enabled);
    assert_eq!(warnings(&loaded), ["mcp.servers: skipped a server without a `name`"]);
}

#[test]
fn owlclaw_tls_and_unknown_keys() {
    let text = "mcp_server:\n  http:\n    tls: {enabled: true, cert_file: c, key_file: k}\n    prot: 1\n  \
                logging: {level: WARNING, output: file}\n";
    let folder = folder_with(&[("mcp-server.yaml", text)]);
    let loaded = loaded(&[folder.path().join("mcp-server.yaml")]);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.listen.tls.as_ref().unwrap().cert_file, folder.path().join("c"));
    assert_eq!(loaded.config.log.level, toolgate_config::LogLevel::Warn);
    assert_eq!(
        warnings(&loaded),
        [
            "mcp_server.http.prot: unknown key `prot`",
            "mcp_server.logging.output: logs go to standard error here"
        ]
    );
}

#[test]
fn native_files_may_be_json_or_toml_and_share_settings() {
    let json = loaded_text(
        "toolgate.json",
        r#"{"$schema": "x", "servers": {"a": {"command": "x"}}, "names": "plain"}"#,
    );
    assert_eq!((json.problems.len(), json.config.servers.len()), (0, 1));
    let toml = loaded_text("toolgate.toml", "names = \"mcp\"\n[servers.a]\ncommand = \"x\"\n");
    assert_eq!((toml.problems.len(), toml.config.servers.len()), (0, 1));
    let shared =
        "servers:\n  a: &base {command: x, call_timeout: 5s}\n  b:\n    <<: *base\n    call_timeout: 9s\n";
    let yaml = loaded_text("toolgate.yaml", shared);
    assert_eq!(yaml.problems, []);
    assert_eq!(yaml.config.servers["b"].command.as_deref(), Some("x"));
    assert_eq!(yaml.config.servers["b"].call_timeout, Duration::from_secs(9));
}

#[test]
fn a_bare_timeout_is_seconds_unless_that_makes_no_sense() {
    let check = |timeout: &str, expected: u64| {
        let text = format!(r#"{{"mcpServers": {{"a": {{"command": "x", "timeout": {timeout}}}}}}}"#);
        assert_eq!(only_server("mcp.json", &text).call_timeout, Duration::from_secs(expected), "{timeout}");
    };
    check("60", 60);
    check("1200", 1200);
    check("600000", 600);
    check("\"30s\"", 30);
}

#[test]
fn files_are_told_apart_by_what_they_hold() {
    use toolgate_config::Format;
    let check = |name: &str, text: &str, expected: Format| {
        let origin = toolgate_config::Origin::Default;
        let document = toolgate_config::Node::from_json(&serde_json::from_str(text).unwrap(), &origin);
        assert_eq!(toolgate_config::format::detect(name.as_ref(), &document), expected, "{name} {text}");
    };
    check("mcp.json", r#"{"mcpServers": {}}"#, Format::McpServers);
    check("mcp.json", r#"{"servers": {"a": {"command": "x"}}}"#, Format::VsCode);
    check("any.json", r#"{"servers": {}, "inputs": []}"#, Format::VsCode);
    check("any.json", r#"{"servers": {"a": {"type": "http", "url": "http://h/"}}}"#, Format::VsCode);
    check("settings.json", r#"{"mcp": {"servers": {}}}"#, Format::VsCode);
    check("settings.json", r#"{"context_servers": {}}"#, Format::McpServers);
    check("toolgate.json", r#"{"servers": {"a": {"command": "x"}}}"#, Format::Native);
    check("any.toml", r#"{"mcp": {"servers": []}}"#, Format::Otter);
    check("any.toml", r#"{"mcp_servers": []}"#, Format::Otter);
    check("any.toml", r#"{"mcp_servers": {}}"#, Format::Codex);
    check("any.toml", r#"{"server_id": "a"}"#, Format::Spear);
    check("any.yaml", r#"{"mcp_server": {}}"#, Format::OwlClaw);
    check("any.yaml", "{}", Format::Native);
    check(".claude.json", "{}", Format::McpServers);
    check("home/.codex/config.toml", "{}", Format::Codex);
}

#[test]
fn a_misspelt_section_is_not_silent() {
    let loaded = loaded_text("mcp.json", r#"{"mcp_servrs": {"a": {"command": "x"}}}"#);
    assert_eq!(loaded.warnings[0].what, "there is no `mcpServers` in this file");
    assert_eq!(loaded.warnings[0].help, "did you mean it with `mcp_servrs`?");
}
