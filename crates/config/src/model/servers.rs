//! Section `servers`: one MCP server behind the gateway.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::handlers::Sources;
use crate::byte_size::{self, ByteSizeText};
use crate::duration::{self, DurationText};
use crate::{Secret, shown};

/// One MCP server behind the gateway.
///
/// What references led to may be a secret wherever it stands, so printing and serialising a record give its texts as
/// they were written, without what may be secret beside a reference, and addresses without passwords and query values.
#[derive(Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Self", default, deny_unknown_fields)]
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
    /// File of `NAME=value` lines with further variables for the program. `env` and `env_from` win over it.
    pub env_file: Option<PathBuf>,
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
    /// Texts with references as they were written, by their place in the record, such as `url` or `args[2]`; what may
    /// be secret beside a reference is masked.
    #[serde(skip)]
    pub written: BTreeMap<String, String>,
    /// The Python files behind it, if it was made from `handlers`.
    #[serde(skip)]
    pub sources: Option<Sources>,
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
    /// Calls to it at one time; more wait, those of different callers in turn. Fewer suit a server that works on few at a
    /// time and has callers that send many.
    pub max_concurrency: usize,
    /// How many processes of the program share the calls, for `stdio`. Each call goes to the one with least to do, and a
    /// crash ends only the calls of one. Only for programs that keep nothing between calls. With `isolation: client`,
    /// each client has one.
    #[schemars(range(min = 1, max = 64))]
    pub processes: usize,
    /// A message from it larger than this is refused.
    #[serde(with = "byte_size::plain")]
    #[schemars(with = "ByteSizeText")]
    pub max_message_bytes: usize,
    /// A tool's output larger than this is cut and marked as cut; a resource larger than this is refused, since a document
    /// without its end is another one. Prompts are passed on whole. Without it, only `max_message_bytes` counts.
    #[serde(with = "byte_size::optional")]
    #[schemars(with = "Option<ByteSizeText>")]
    pub max_output_bytes: Option<usize>,
    /// What becomes of the rest of an output that is cut.
    pub long_output: LongOutput,
    /// Patterns (`*`, `?`) of the tools that exist for clients. Without it all do; an empty list hides all.
    pub allowed_tools: Option<Vec<String>>,
    /// Patterns of tools that do not exist for clients, whatever `allowed_tools` says.
    pub denied_tools: Vec<String>,
    /// Take the prices that its tools name themselves (`_meta` `io.toolgate/price`) where `prices` names none. A server
    /// that is believed decides what its calls cost. Handlers always are.
    pub trust_prices: bool,
    /// Name for people, in lists of servers.
    pub display_name: Option<String>,
    /// Prefix of its tools and prompts in place of its name.
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
            env_file: None,
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            auth_ref: None,
            credential: None,
            written: BTreeMap::new(),
            sources: None,
            enabled: true,
            era: EraChoice::Auto,
            isolation: Isolation::Shared,
            start: StartMode::Eager,
            idle_stop: None,
            call_timeout: Duration::from_secs(300),
            connect_timeout: Duration::from_secs(30),
            max_concurrency: 256,
            processes: 1,
            max_message_bytes: 64 << 20,
            max_output_bytes: None,
            long_output: LongOutput::Cut,
            allowed_tools: None,
            denied_tools: Vec::new(),
            trust_prices: false,
            display_name: None,
            tool_namespace: None,
            approval: ApprovalMode::Never,
            tool_approvals: BTreeMap::new(),
            tool_timeouts: BTreeMap::new(),
        }
    }
}

impl ServerConfig {
    /// The record as it may be shown: see the type.
    #[must_use]
    pub fn masked(&self) -> Self {
        let mut masked = self.clone();
        masked.url = masked.url.as_deref().map(shown::address);
        masked.args = shown::arguments(&self.args);
        for (place, text) in &self.written {
            let index =
                place.strip_prefix("args[").and_then(|rest| rest.strip_suffix(']')?.parse::<usize>().ok());
            match (place.as_str(), index) {
                (_, Some(index)) => {
                    if let Some(argument) = masked.args.get_mut(index) {
                        argument.clone_from(text);
                    }
                }
                ("url", _) => masked.url = Some(text.clone()),
                ("command", _) => masked.command = Some(text.clone()),
                ("cwd", _) => masked.cwd = Some(text.into()),
                ("display_name", _) => masked.display_name = Some(text.clone()),
                _ => {}
            }
        }
        masked
    }
}

impl std::fmt::Debug for ServerConfig {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = serde_json::to_string(self).map_err(|_| std::fmt::Error)?;
        write!(formatter, "ServerConfig {shown}")
    }
}

impl Serialize for ServerConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // The derived function of the same name, which `remote = "Self"` makes.
        Self::serialize(&self.masked(), serializer)
    }
}

impl<'de> Deserialize<'de> for ServerConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
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
    /// Each client has its own, started with its first call: each session of the legacy era, each caller (by key or
    /// token, otherwise by address) of the modern era, which has no sessions. It is stopped when the session ends, or
    /// after `idle_stop` without a call; without that, after an hour for a session and ten minutes for a caller.
    Client,
}

/// What becomes of the rest of an output that is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LongOutput {
    /// It is lost.
    Cut,
    /// All of it is kept for the caller, who reads it in parts as the resource `result://…`; see `results`.
    Spill,
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
    /// In a server's record: only what the rules under `policy.approval` say. In such a rule: its condition says; without one
    /// the next rule does.
    Policy,
}
