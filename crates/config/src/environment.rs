//! Variables and flags that override the file: one documented list of variables, one struct of flags.
//!
//! Both become values of the same tree the file becomes, so they are checked by the same rules and a wrong one is
//! reported with its own name.

use std::path::PathBuf;

use crate::node::{Node, Origin, Value};

/// A variable that overrides one value of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// The value it sets, such as `listen.port`.
    pub path: &'static str,
    /// What it is for, in one sentence.
    pub meaning: &'static str,
}

const fn variable(name: &'static str, path: &'static str, meaning: &'static str) -> Variable {
    Variable { name, path, meaning }
}

/// Every variable that overrides a value. A later one wins over an earlier one, so ours win over the old names.
pub const VARIABLES: &[Variable] = &[
    variable("MCP_SERVER_TRANSPORT", "listen.transport", "OwlClaw's name for TOOLGATE_TRANSPORT."),
    variable("MCP_SERVER_HTTP_HOST", "listen.host", "OwlClaw's name for TOOLGATE_HOST."),
    variable("MCP_SERVER_HTTP_PORT", "listen.port", "OwlClaw's name for TOOLGATE_PORT."),
    variable("MCP_SERVER_TOOLS_TIMEOUT", "runtime.call_timeout", "OwlClaw's name for TOOLGATE_CALL_TIMEOUT."),
    variable("MCP_SERVER_SKILLS_DIR", "skills.dir", "OwlClaw's name for TOOLGATE_SKILLS_DIR."),
    variable(
        "MCP_SERVER_GOVERNANCE_ENABLED",
        "policy.enabled",
        "OwlClaw's name for TOOLGATE_POLICY_ENABLED.",
    ),
    variable("MCP_SERVER_LOGGING_LEVEL", "log.level", "OwlClaw's name for TOOLGATE_LOG_LEVEL."),
    variable("MCP_SERVER_LOGGING_FORMAT", "log.format", "OwlClaw's name for TOOLGATE_LOG_FORMAT."),
    variable("TOOLGATE_TRANSPORT", "listen.transport", "How clients connect: stdio or http."),
    variable("TOOLGATE_HOST", "listen.host", "Address to listen on."),
    variable("TOOLGATE_PORT", "listen.port", "Port to listen on."),
    variable(
        "TOOLGATE_ALLOWED_ORIGINS",
        "listen.allowed_origins",
        "Accepted values of Origin, with commas between.",
    ),
    variable(
        "TOOLGATE_ALLOWED_HOSTS",
        "listen.allowed_hosts",
        "Accepted values of Host, with commas between.",
    ),
    variable(
        "TOOLGATE_CORS_ORIGINS",
        "listen.cors.allowed_origins",
        "Web pages that may read answers, with commas between.",
    ),
    variable(
        "TOOLGATE_SESSION_KEY",
        "listen.session_key",
        "What the key of sessions is made from, the same for all gateways behind one address.",
    ),
    variable("TOOLGATE_MAX_BODY_BYTES", "listen.max_body_bytes", "Largest request body."),
    variable("TOOLGATE_NAMES", "names", "How tools are named: prefixed, plain or mcp."),
    variable("TOOLGATE_STATE_DIR", "state_dir", "Folder for what the gateway remembers."),
    variable("TOOLGATE_LOG_LEVEL", "log.level", "error, warn, info, debug or trace."),
    variable("TOOLGATE_LOG_FORMAT", "log.format", "json or text."),
    variable("TOOLGATE_CALL_TIMEOUT", "runtime.call_timeout", "Call timeout of servers that state none."),
    variable("TOOLGATE_MAX_SESSIONS", "runtime.max_sessions", "Client sessions at one time."),
    variable("TOOLGATE_MAX_CONCURRENCY", "runtime.max_concurrency", "Calls under way at one time."),
    variable("TOOLGATE_MAX_CHILDREN", "runtime.max_children", "Child processes at one time."),
    variable("TOOLGATE_AUTO_RELOAD", "runtime.auto_reload", "Reload when a configuration file changes."),
    variable("TOOLGATE_SKILLS_DIR", "skills.dir", "Folder of SKILL.md documents."),
    variable("TOOLGATE_POLICY_ENABLED", "policy.enabled", "false switches governance off."),
    variable("TOOLGATE_KEYS_FILE", "callers.keys_file", "File with the hashes of API keys."),
    variable("TOOLGATE_LEDGER_ENABLED", "ledger.enabled", "false keeps no record of calls."),
    variable("TOOLGATE_LEDGER_DIR", "ledger.dir", "Folder of the journal."),
    variable("TOOLGATE_ADMIN_LISTEN", "admin.listen", "HOST:PORT or path of the admin API."),
    variable("TOOLGATE_ADMIN_TOKEN_FILE", "admin.token_file", "File with the operators' token."),
];

/// Variables that say which files are read. They are used before there is a configuration.
pub const FILE_VARIABLES: &[Variable] = &[
    variable("TOOLGATE_CONFIG", "", "Configuration file or folder, before any that is found."),
    variable("EXCELMANUS_MCP_CONFIG", "", "ExcelManus's name for an mcp.json, before any that is found."),
    variable("SMS_MCP_DIR", "", "Spear's name for a folder of server records."),
];

/// Variables that are neither: they set no value of the file.
pub const OTHER_VARIABLES: &[Variable] = &[
    variable("TOOLGATE_ADMIN_TOKEN", "", "Token of the admin API that commands with --url ask."),
    variable("MCP_CLIENT_ID", "", "Who the client on standard input is, for rules and records."),
    variable("NO_COLOR", "", "Commands print no colours, whatever it is set to."),
    variable(
        "XDG_STATE_HOME",
        "",
        "The state folder is `toolgate` in this one where `state_dir` is not set.",
    ),
    variable("XDG_CONFIG_HOME", "", "`toolgate/toolgate.yaml` is looked for in this one."),
];

/// Values from the command line. They win over variables and files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--transport`
    pub transport: Option<String>,
    /// `--host`
    pub host: Option<String>,
    /// `--port`
    pub port: Option<u16>,
    /// `--names`
    pub names: Option<String>,
    /// `--skills-dir`
    pub skills_dir: Option<PathBuf>,
    /// `--state-dir`
    pub state_dir: Option<PathBuf>,
    /// `--log-level`
    pub log_level: Option<String>,
    /// `--log-format`
    pub log_format: Option<String>,
    /// `--server NAME=TARGET`: a URL, or a command line.
    pub servers: Vec<ServerOverride>,
    /// `--set PATH=VALUE`: any other value by its dotted path.
    pub set: Vec<(String, String)>,
}

/// A server named on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOverride {
    /// Its name.
    pub name: String,
    /// Its URL, or the command line that starts it.
    pub target: String,
}

/// Lays the variables that are set over the tree.
pub(crate) fn apply_variables(tree: &mut Node, environment: &dyn Fn(&str) -> Option<String>) {
    for variable in VARIABLES {
        // An empty variable is how people unset one in a container.
        if let Some(value) = environment(variable.name).filter(|value| !value.is_empty()) {
            let origin = Origin::Environment(variable.name.to_owned());
            tree.set_path(variable.path, Node::text(&origin, value));
        }
    }
}

/// Lays the flags over the tree.
pub(crate) fn apply_overrides(tree: &mut Node, overrides: &Overrides) {
    let path_text = |path: &Option<PathBuf>| path.as_ref().map(|path| path.to_string_lossy().into_owned());
    let flags = [
        ("--transport", "listen.transport", overrides.transport.clone()),
        ("--host", "listen.host", overrides.host.clone()),
        ("--port", "listen.port", overrides.port.map(|port| port.to_string())),
        ("--names", "names", overrides.names.clone()),
        ("--skills-dir", "skills.dir", path_text(&overrides.skills_dir)),
        ("--state-dir", "state_dir", path_text(&overrides.state_dir)),
        ("--log-level", "log.level", overrides.log_level.clone()),
        ("--log-format", "log.format", overrides.log_format.clone()),
    ];
    for (flag, path, value) in flags {
        if let Some(value) = value {
            tree.set_path(path, Node::text(&Origin::Flag(flag.to_owned()), value));
        }
    }
    let origin = Origin::Flag("--server".to_owned());
    for server in &overrides.servers {
        let record = server_record(&server.target, &origin);
        if tree.get("servers").is_none() {
            tree.set("servers", Node::empty_mapping(&origin));
        }
        if let Some(servers) = tree.get_mut("servers") {
            servers.set(&server.name, record);
        }
    }
    // Last, so that it reaches servers named by the flag before it.
    for (path, value) in &overrides.set {
        let origin = Origin::Flag("--set".to_owned());
        tree.set_path(path, Node::text(&origin, value.clone()));
    }
}

/// The record of a server given as a URL or a command line.
pub(crate) fn server_record(target: &str, origin: &Origin) -> Node {
    let mut record = Node::empty_mapping(origin);
    if target.starts_with("http://") || target.starts_with("https://") {
        record.set("url", Node::text(origin, target));
        return record;
    }
    let mut words = split_words(target).into_iter();
    record.set("command", Node::text(origin, words.next().unwrap_or_default()));
    let arguments: Vec<Node> = words.map(|word| Node::text(origin, word)).collect();
    if !arguments.is_empty() {
        record.set("args", Node::new(origin.clone(), Value::Sequence(arguments)));
    }
    record
}

/// Splits a command line as a shell does with plain words and quotes, and nothing else of a shell.
pub fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(characters.next()),
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}
