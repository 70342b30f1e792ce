//! The configuration examples of the programs Toolgate replaces, verbatim, and what their documents say they mean.

use std::time::Duration;

use crate::scene::{fixture, loaded, loaded_with};
use toolgate_config::{ApprovalMode, ListenTransport, LogFormat, LogLevel, Transport};

#[test]
fn owlclaw_file_means_what_its_document_says() {
    let loaded = loaded(&[fixture("mcp-server.yaml")]);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.warnings, []);
    let config = loaded.config;
    assert_eq!(config.listen.transport, ListenTransport::Stdio);
    assert_eq!((config.listen.host.as_str(), config.listen.port), ("0.0.0.0", 8080));
    assert_eq!(config.listen.cors.allowed_origins, ["http://localhost:3000", "https://app.example.com"]);
    assert_eq!(config.listen.allowed_origins, config.listen.cors.allowed_origins);
    assert_eq!(config.listen.tls, None);
    assert_eq!(config.runtime.call_timeout, Duration::from_secs(300));
    assert_eq!(config.runtime.progress_after, Duration::from_secs(30));
    assert_eq!(config.runtime.tools_cache_ttl, Duration::from_secs(300));
    assert_eq!(config.skills.dir.as_deref(), Some(&*fixture("capabilities")));
    assert_eq!(config.skills.cache_ttl, Duration::from_secs(600));
    assert!(config.policy.enabled);
    let [quota] = config.quotas.as_slice() else { panic!("one quota") };
    assert_eq!(quota.budget_per_month, Some(500.0));
    assert_eq!(quota.calls_per_minute, Some(60));
    assert_eq!(quota.calls_per_day, Some(1000));
    assert_eq!(quota.max_per_call, Some(10.0));
    assert_eq!((config.log.level, config.log.format), (LogLevel::Info, LogFormat::Json));
}

#[test]
fn owlclaw_variables_win_over_its_file() {
    let loaded = loaded_with(
        &[fixture("mcp-server.yaml")],
        &[
            ("MCP_SERVER_TRANSPORT", "http"),
            ("MCP_SERVER_HTTP_PORT", "9000"),
            ("MCP_SERVER_TOOLS_TIMEOUT", "120"),
            ("MCP_SERVER_SKILLS_DIR", "/skills"),
            ("MCP_SERVER_GOVERNANCE_ENABLED", "false"),
        ],
    );
    assert_eq!(loaded.problems, []);
    let config = loaded.config;
    assert_eq!((config.listen.transport, config.listen.port), (ListenTransport::Http, 9000));
    assert_eq!(config.runtime.call_timeout, Duration::from_secs(120));
    assert_eq!(config.skills.dir.as_deref(), Some("/skills".as_ref()));
    assert!(!config.policy.enabled);
}

#[test]
fn otter_example_gives_three_servers() {
    let loaded = loaded_with(&[fixture("otter.toml")], &[("GITHUB_TOKEN", "abc")]);
    assert_eq!(loaded.problems, []);
    let servers = loaded.config.servers;
    assert_eq!(servers.keys().collect::<Vec<_>>(), ["browser", "filesystem", "github"]);
    let filesystem = &servers["filesystem"];
    assert_eq!(filesystem.transport, Transport::Stdio);
    assert_eq!(filesystem.command.as_deref(), Some("npx"));
    assert_eq!(filesystem.args, ["-y", "@modelcontextprotocol/server-filesystem", "/home/user/projects"]);
    let github = &servers["github"];
    assert_eq!(github.transport, Transport::Sse);
    assert_eq!(github.url.as_deref(), Some("https://api.github.com/mcp/sse"));
    assert_eq!(github.headers["Authorization"].expose(), "Bearer abc");
}

#[test]
fn otter_full_example_sets_timeouts_and_habits() {
    let loaded = loaded_with(&[fixture("otter-full.toml")], &[("GITHUB_TOKEN", "abc")]);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.warnings, []);
    let config = loaded.config;
    assert!(config.runtime.auto_reload);
    assert_eq!(config.runtime.health_check_interval, Duration::from_secs(30));
    assert_eq!(config.servers["filesystem"].env["NODE_ENV"].expose(), "production");
    assert!(config.servers["filesystem"].enabled);
    assert_eq!(config.servers["github"].call_timeout, Duration::from_secs(30));
    assert_eq!(config.servers["browser"].call_timeout, Duration::from_secs(300));
}

#[test]
fn otter_without_its_token_loses_that_server_only() {
    let loaded = loaded(&[fixture("otter.toml")]);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.servers.keys().collect::<Vec<_>>(), ["browser", "filesystem"]);
    assert!(loaded.disabled["github"].contains("GITHUB_TOKEN is not set"));
}

#[test]
fn spear_folder_gives_its_record() {
    let loaded = loaded(&[fixture("spear")]);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.warnings, []);
    let server = &loaded.config.servers["fs"];
    assert_eq!(server.display_name.as_deref(), Some("Filesystem"));
    assert_eq!(server.tool_namespace, None);
    assert_eq!(
        server.allowed_tools.as_deref(),
        Some(["read_*".to_owned(), "search_*".to_owned()].as_slice())
    );
    assert_eq!(server.args, ["-y", "@modelcontextprotocol/server-filesystem", "./"]);
    assert_eq!(server.call_timeout, Duration::from_secs(30));
    assert_eq!(server.max_concurrency, 8);
    assert_eq!(server.max_output_bytes, Some(65536));
    assert_eq!(server.approval, ApprovalMode::Never);
    assert_eq!(loaded.files.folders, [fixture("spear")]);
    assert_eq!(loaded.files.files, [fixture("spear").join("fs.toml")]);
}

#[test]
fn excelmanus_example_gives_both_servers() {
    let loaded = loaded(&[fixture("excelmanus.json")]);
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.warnings, []);
    let servers = loaded.config.servers;
    assert_eq!(servers["filesystem"].args, ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"]);
    let search = &servers["web-search"];
    assert_eq!(search.transport, Transport::Sse);
    assert_eq!(search.url.as_deref(), Some("http://localhost:8080/sse"));
    assert_eq!(search.call_timeout, Duration::from_secs(60));
}
