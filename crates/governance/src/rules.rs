//! What the operator says, as plain data: the input of [`crate::Policy::compile`].
//!
//! The same two questions come up everywhere, so they are written once: [`Who`] is calling, and [`What`] is called.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Micros;

/// Everything that governs calls: permissions, approvals, prices, quotas, and what each server may offer at all.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rules {
    /// Who may see and use what.
    pub policy: PolicyRules,
    /// Which calls wait for a person or a program to agree. The first rule that decides counts.
    pub approvals: Vec<ApprovalRule>,
    /// What a call costs. The first rule that covers the call counts; without one a call is free.
    pub prices: Vec<PriceRule>,
    /// Budgets and rates. All that cover a call count.
    pub quotas: Vec<Quota>,
    /// For each server named here, the patterns of the tools it may offer. Everything else it has is hidden from everyone.
    pub server_allowed: BTreeMap<String, Vec<String>>,
}

/// The permission rules, and what holds where none of them speaks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PolicyRules {
    /// What happens to things that no rule covers.
    pub default: DefaultEffect,
    /// The rules; their order does not matter, because `hide` beats `deny` and `deny` beats `allow`.
    pub rules: Vec<Rule>,
}

/// What happens to things that no rule covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DefaultEffect {
    /// They may be seen and used.
    #[default]
    Allow,
    /// They are hidden.
    Deny,
}

/// Callers that a rule is about. A caller is covered if one of its patterns fits; with no pattern at all, everyone is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Who {
    /// Patterns for the names of callers; `*` and `?` are wild.
    pub callers: Vec<String>,
    /// Patterns for the names of groups; being in one of them is enough.
    pub groups: Vec<String>,
}

/// Things that a rule is about. With no pattern for tools, resources and prompts, all three kinds are covered; as soon as there
/// is one, only the kinds that are named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct What {
    /// Patterns for the names of servers; none means every server.
    pub servers: Vec<String>,
    /// Patterns for the names of tools, as their server calls them.
    pub tools: Vec<String>,
    /// Patterns for the addresses of resources.
    pub resources: Vec<String>,
    /// Patterns for the names of prompts.
    pub prompts: Vec<String>,
}

/// One permission rule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rule {
    /// The name of the rule in explanations and records; its place in the file if there is none.
    #[serde(default)]
    pub id: Option<String>,
    /// What the rule does.
    pub effect: Effect,
    /// The callers it covers.
    #[serde(flatten)]
    pub who: Who,
    /// The things it covers.
    #[serde(flatten)]
    pub what: What,
    /// The uses it covers. None means all for `allow` and `hide`, and all but listing for `deny`.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// A condition in CEL over `caller`, `server`, `tool`, `arguments` and `now`.
    #[serde(default)]
    pub when: Option<String>,
}

/// What a permission rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// What is covered may be seen and used.
    Allow,
    /// What is covered stays visible and is refused with a reason.
    Deny,
    /// What is covered does not exist for these callers.
    Hide,
}

/// A way to use a thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// See it in a list.
    List,
    /// Call a tool.
    Call,
    /// Read a resource.
    Read,
    /// Get a prompt.
    Get,
}

/// Whether calls wait for someone's agreement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRule {
    /// The name of the rule; its place in the file if there is none.
    #[serde(default)]
    pub id: Option<String>,
    /// The callers it covers.
    #[serde(flatten)]
    pub who: Who,
    /// The things it covers.
    #[serde(flatten)]
    pub what: What,
    /// Whether to ask.
    pub mode: ApprovalMode,
    /// A condition in CEL; the rule speaks only where it holds.
    #[serde(default)]
    pub when: Option<String>,
    /// Who is asked.
    #[serde(default)]
    pub by: Approver,
    /// How long the call waits for the answer, in seconds, before it is refused.
    #[serde(default = "default_approval_seconds")]
    pub timeout_seconds: u64,
}

/// Whether to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalMode {
    /// Do not ask.
    Never,
    /// Ask.
    Always,
    /// Ask where the condition holds; where it does not, or there is none, the next rule decides.
    Policy,
}

/// Who is asked for approval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// The people who run the gateway, or their program.
    #[default]
    Operator,
    /// The person at the calling client.
    User,
}

/// What a call costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PriceRule {
    /// The name of the rule; its place in the file if there is none.
    #[serde(default)]
    pub id: Option<String>,
    /// The callers it covers.
    #[serde(flatten)]
    pub who: Who,
    /// The things it covers.
    #[serde(flatten)]
    pub what: What,
    /// The price of one call in micro-units.
    pub price: Micros,
    /// Whether a failed call is free.
    #[serde(default = "yes")]
    pub refund_on_failure: bool,
}

/// Budgets and rates for the calls it covers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Quota {
    /// The name of the quota. Counters belong to it, so they outlive any change of the limits.
    pub id: Option<String>,
    /// The callers it covers.
    #[serde(flatten)]
    pub who: Who,
    /// The things it covers.
    #[serde(flatten)]
    pub what: What,
    /// Who shares one set of counters.
    pub per: Per,
    /// The most that may be spent in a calendar month, in micro-units.
    pub budget_per_month: Option<Micros>,
    /// The most that one call may cost, in micro-units.
    pub max_per_call: Option<Micros>,
    /// Tool calls in a minute of the clock.
    pub calls_per_minute: Option<u64>,
    /// Tool calls in a calendar day.
    pub calls_per_day: Option<u64>,
    /// Resources read and prompts fetched in a minute of the clock.
    pub reads_per_minute: Option<u64>,
    /// Calls and reads at the same time.
    pub concurrency: Option<u64>,
    /// Where days and months begin (`Europe/Berlin`); UTC if not stated.
    pub time_zone: Option<String>,
}

/// Who shares one set of counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Each caller has its own.
    #[default]
    Caller,
    /// Each group has its own; a call counts in every covered group of its caller.
    Group,
    /// Each tool, resource or prompt has its own.
    Tool,
    /// Each pair of caller and tool has its own.
    CallerAndTool,
    /// Everyone shares one.
    All,
}

fn default_approval_seconds() -> u64 {
    300
}

fn yes() -> bool {
    true
}
