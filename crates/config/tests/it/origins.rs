//! The order of precedence, and that every value knows where it came from.

use toolgate_config::{Overrides, Request, ServerOverride, load, show};

use crate::scene::{folder_with, loaded};

#[test]
fn flags_over_variables_over_files_over_defaults() {
    let folder = folder_with(&[("toolgate.yaml", "listen:\n  host: a\n  port: 1\nlog: {level: warn}\n")]);
    let path = folder.path().join("toolgate.yaml");
    let loaded = load(&Request {
        paths: vec![path.clone()],
        overrides: Overrides {
            port: Some(3),
            servers: vec![
                ServerOverride { name: "web".into(), target: "http://h/mcp".into() },
                ServerOverride { name: "local".into(), target: "node 'my server.mjs' stdio".into() },
            ],
            set: vec![
                ("runtime.max_sessions".into(), "7".into()),
                ("servers.web.call_timeout".into(), "9s".into()),
            ],
            ..Overrides::default()
        },
        strict: true,
        environment: &|name| match name {
            "TOOLGATE_PORT" | "MCP_SERVER_HTTP_PORT" => Some("2".into()),
            "TOOLGATE_HOST" => Some("b".into()),
            "MCP_SERVER_HTTP_HOST" => Some("c".into()),
            "TOOLGATE_ALLOWED_HOSTS" => Some("x.example, y.example".into()),
            "TOOLGATE_NAMES" => Some(String::new()),
            _ => None,
        },
    });
    assert_eq!(loaded.problems, []);
    let config = &loaded.config;
    assert_eq!((config.listen.host.as_str(), config.listen.port), ("b", 3));
    assert_eq!(config.listen.allowed_hosts, ["x.example", "y.example"]);
    assert_eq!(config.runtime.max_sessions, 7);
    assert_eq!(config.servers["web"].url.as_deref(), Some("http://h/mcp"));
    assert_eq!(config.servers["web"].call_timeout.as_secs(), 9, "a value reaches a server of the flags");
    assert_eq!(config.servers["local"].command.as_deref(), Some("node"));
    assert_eq!(config.servers["local"].args, ["my server.mjs", "stdio"]);

    let settings = show::settings(&loaded);
    let origin = |path: &str| {
        let setting = settings.iter().find(|setting| setting.path == path).unwrap();
        setting.origin.to_string()
    };
    assert_eq!(origin("listen.port"), "flag --port");
    assert_eq!(origin("listen.host"), "environment TOOLGATE_HOST");
    assert_eq!(origin("log.level"), format!("{}:4", path.display()));
    assert_eq!(origin("log.format"), "default");
    assert_eq!(origin("servers.web.url"), "flag --server");
    assert_eq!(origin("servers.web.max_concurrency"), "default");
}

#[test]
fn a_wrong_variable_is_reported_by_its_name() {
    let loaded = load(&Request {
        paths: vec![],
        overrides: Overrides::default(),
        strict: false,
        environment: &|name| (name == "TOOLGATE_PORT").then(|| "http".into()),
    });
    let said = loaded.problems[0].to_string();
    assert_eq!(said, "environment TOOLGATE_PORT: listen.port: expected a whole number, found `http`");
}

#[test]
fn a_later_file_wins_and_says_so() {
    let folder = folder_with(&[
        (
            "a.yaml",
            "names: plain\nlisten: {port: 1}\nservers:\n  x: {command: old, args: [y]}\n  z: {command: z}\n",
        ),
        ("b.json", r#"{"mcpServers": {"x": {"command": "new"}}}"#),
    ]);
    let both = loaded(&[folder.path().join("a.yaml"), folder.path().join("b.json")]);
    assert_eq!(both.problems, []);
    assert_eq!(both.config.servers["x"].command.as_deref(), Some("new"));
    assert_eq!(both.config.servers["x"].args, Vec::<String>::new(), "records are not mixed");
    assert!(both.config.servers.contains_key("z"));
    assert_eq!(both.config.listen.port, 1);
    assert!(both.warnings[0].what.contains("a.yaml:4; this one counts"), "{}", both.warnings[0]);
    assert_eq!(both.files.files.len(), 2);
}

#[test]
fn nothing_at_all_gives_the_defaults() {
    let nothing = loaded(&[]);
    assert_eq!(nothing.problems, []);
    assert_eq!(nothing.config, toolgate_config::Config::default());
    let empty = crate::scene::loaded_text("toolgate.yaml", "# nothing yet\n");
    assert_eq!(empty.problems, []);
    assert_eq!(empty.config, toolgate_config::Config::default());
}

#[test]
fn a_reachable_address_without_credentials_is_doubted() {
    let open = "listen: {transport: http, host: 0.0.0.0}\ncallers: {anonymous: allow}\n";
    let said = crate::scene::loaded_text("toolgate.yaml", open).warnings;
    assert!(said[0].what.contains("need no credentials"));
    let local = "listen: {transport: http, host: \"::1\"}\ncallers: {anonymous: allow}\n";
    assert_eq!(crate::scene::loaded_text("toolgate.yaml", local).warnings, []);
}
