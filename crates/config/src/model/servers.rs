//! Section `servers`: one MCP server behind the gateway.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Secret;
use crate::byte_size::{self, ByteSizeText};
use crate::duration::{self, DurationText};

/// One MCP server behind the gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// How it is reached. Without it: `stdio` when there is a `command`, `http` when there is a `url`.
    pub transport: Transport,
    /// Program to start, for `stdio`.
    pub command: Option<String>,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Variables for the program. Nothing else of our environment reaches it but a short list such as PATH and HOME.
    pub env: BTreeMap<String, Secret>,
    /// Names of variables handed on from our environment. A missing one disables this server.
    pub env_from: Vec<String>,
    /// Working directory of the program.
    pub cwd: Option<PathBuf>,
    /// Address of the server, for `http` and `sse`.
    pub url: Option<String>,
    /// Headers sent with every request.
    pub headers: BTreeMap<String, Secret>,
    /// Where the bearer token is kept: `env:NAME`, `file:PATH` or `keyring:SERVICE/ACCOUNT`.
    pub auth_ref: Option<String>,
    /// The token `auth_ref` led to, sent as `Authorization: Bearer …`.
    #[serde(skip)]
    pub credential: Option<Secret>,
    /// Switch the server off without removing its record.
    pub enabled: bool,
    /// Which era of MCP it speaks; `auto` finds out.
    pub era: EraChoice,
    /// Whether all clients share one connection to it.
    pub isolation: Isolation,
    /// When it is started or connected.
    pub start: StartMode,
    /// Stop the program after this long without a call. Without it, it stays.
    #[serde(with = "duration::optional")]
    #[schemars(with = "Option<DurationText>")]
    pub idle_stop: Option<Duration>,
    /// A call that takes longer is cancelled. Without it, `runtime.call_timeout`.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub call_timeout: Duration,
    /// Starting and greeting it may take this long.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub connect_timeout: Duration,
    /// Calls to it at one time; more wait.
    pub max_concurrency: usize,
    /// A message from it larger than this is refused.
    #[serde(with = "byte_size::plain")]
    #[schemars(with = "ByteSizeText")]
    pub max_message_bytes: usize,
    /// A tool's output larger than this is cut and marked as cut. Without it, only `max_message_bytes` counts.
    #[serde(with = "byte_size::optional")]
    #[schemars(with = "Option<ByteSizeText>")]
    pub max_output_bytes: Option<usize>,
    /// Patterns (`*`, `?`) of the tools that exist for clients. Without it all do; an empty list hides all.
    pub allowed_tools: Option<Vec<String>>,
    /// Patterns of tools that do not exist for clients, whatever `allowed_tools` says.
    pub denied_tools: Vec<String>,
    /// Name for people, in lists and on the admin page.
    pub display_name: Option<String>,
    /// Prefix of its tools in place of its name.
    pub tool_namespace: Option<String>,
    /// Whether calls need a person's consent.
    pub approval: ApprovalMode,
    /// The same for single tools: pattern to mode. The longest matching pattern counts.
    pub tool_approvals: BTreeMap<String, ApprovalMode>,
    /// Call timeouts of single tools: pattern to time. The longest matching pattern counts.
    #[serde(with = "duration::map")]
    #[schemars(with = "BTreeMap<String, DurationText>")]
    pub tool_timeouts: BTreeMap<String, Duration>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            transport: Transport::Stdio,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            env_from: Vec::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            auth_ref: None,
            credential: None,
            enabled: true,
            era: EraChoice::Auto,
            isolation: Isolation::Shared,
            start: StartMode::Eager,
            idle_stop: None,
            call_timeout: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(30),
            max_concurrency: 64,
            max_message_bytes: 64 << 20,
            max_output_bytes: None,
            allowed_tools: None,
            denied_tools: Vec::new(),
            display_name: None,
            tool_namespace: None,
            approval: ApprovalMode::Never,
            tool_approvals: BTreeMap::new(),
            tool_timeouts: BTreeMap::new(),
        }
    }
}

/// How a server is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// A program of ours that speaks on its standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// The HTTP+SSE transport of 2024-11-05.
    Sse,
}

/// Which era of MCP a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EraChoice {
    /// Ask the server.
    Auto,
    /// Sessions that begin with `initialize`.
    Legacy,
    /// Stateless requests, 2026-07-28 and later.
    Modern,
}

/// Whether clients share a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// One connection serves all clients.
    Shared,
    /// Each client has its own.
    Client,
}

/// When a server is started or connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartMode {
    /// With the gateway.
    Eager,
    /// With the first call; lists come from the remembered catalogue.
    OnDemand,
}

/// Whether a call needs a person's consent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// No call does.
    #[default]
    Never,
    /// Every call does.
    Always,
    /// The rules under `policy.approval` decide.
    Policy,
}
