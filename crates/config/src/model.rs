//! The native file `toolgate.yaml`: one type per section, one doc comment per key.
//!
//! These types are the only description of the file there is. The JSON Schema, the reference page, the check
//! of every file and the suggestions for misspelt keys are all generated from them, so a key cannot exist
//! without its documentation.

mod admin;
mod bindings;
mod callers;
mod handlers;
mod ledger;
mod listen;
mod policy;
mod quotas;
mod results;
mod runtime;
mod servers;
mod skills;

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

pub use admin::AdminConfig;
pub use bindings::{BindingsConfig, EgressConfig, OpenApiConfig, OperationNaming};
pub use callers::{Anonymous, CallersConfig, JwtIssuer, KnownCaller};
pub use handlers::{HandlersConfig, Sources};
pub(crate) use handlers::{is_path, python_of};
pub use ledger::{Fsync, LedgerConfig, OnLedgerFailure, Redaction, Retention};
pub use listen::{CorsConfig, ListenConfig, ListenTransport, TlsConfig};
pub use policy::{Action, ApprovalRule, Approver, Effect, PolicyConfig, PolicyDefault, PolicyRule};
pub use quotas::{PriceRule, PricesConfig, Quota, QuotaScope};
pub use results::ResultsConfig;
pub use runtime::{LogConfig, LogFormat, LogLevel, RuntimeConfig};
pub use servers::{ApprovalMode, EraChoice, Isolation, LongOutput, ServerConfig, StartMode, Transport};
pub use skills::SkillsConfig;

/// The whole configuration of a gateway. Relative paths in a file mean the folder of that file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where clients connect.
    pub listen: ListenConfig,
    /// How the tools of all servers are named for clients.
    pub names: NameStyle,
    /// The MCP servers behind the gateway, by name. Those made from `handlers` are among them.
    #[serde(serialize_with = "without_handlers")]
    pub servers: BTreeMap<String, ServerConfig>,
    /// Python functions that are tools, by the name of the server that they become.
    pub handlers: BTreeMap<String, HandlersConfig>,
    /// Folder for what the gateway remembers: catalogues, keys, the journal. Without it, the usual place of the
    /// operating system is used.
    pub state_dir: Option<PathBuf>,
    /// What is logged, and how.
    pub log: LogConfig,
    /// Limits and habits of the whole process.
    pub runtime: RuntimeConfig,
    /// SKILL.md documents served as resources.
    pub skills: SkillsConfig,
    /// Tools that are HTTP requests, declared in skills and OpenAPI documents.
    pub bindings: BindingsConfig,
    /// Where requests of such tools may go.
    pub egress: EgressConfig,
    /// Who may connect, and how callers are recognised.
    pub callers: CallersConfig,
    /// Who may see and call what.
    pub policy: PolicyConfig,
    /// What calls cost.
    pub prices: PricesConfig,
    /// Budgets and rate limits.
    pub quotas: Vec<Quota>,
    /// The record of every call.
    pub ledger: LedgerConfig,
    /// Long results that are kept for their callers.
    pub results: ResultsConfig,
    /// The admin API and page.
    pub admin: AdminConfig,
}

/// How the tools of all servers are named for clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NameStyle {
    /// `server__tool`: no two servers can collide.
    #[default]
    Prefixed,
    /// The server's own names; on a collision the later server's tool gets its prefix.
    Plain,
    /// `mcp_{server}_{tool}`, with `-` in the server's name as `_`.
    Mcp,
}

/// Servers as they were written: those that were made from handlers are shown there.
fn without_handlers<S: Serializer>(
    servers: &BTreeMap<String, ServerConfig>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(servers.iter().filter(|(_, server)| server.sources.is_none()))
}
