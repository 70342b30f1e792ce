//! Section `policy`: who may see and call what, and which calls wait for a person.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ApprovalMode;
use crate::duration::{self, DurationText};

/// Who may see and call what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PolicyConfig {
    /// False switches off policy, prices, quotas and the approvals below. What the records of servers say still counts.
    pub enabled: bool,
    /// The rules. `deny` and `hide` win over `allow`, wherever they stand.
    pub rules: Vec<PolicyRule>,
    /// What happens when no rule applies.
    pub default: PolicyDefault,
    /// Which calls need a person's consent. The first that applies counts; where none does, the server's record.
    pub approval: Vec<ApprovalRule>,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self { enabled: true, rules: Vec::new(), default: PolicyDefault::Allow, approval: Vec::new() }
    }
}

/// What happens when no rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PolicyDefault {
    /// It is allowed.
    Allow,
    /// It is refused.
    Deny,
}

/// One rule. Patterns know `*` and `?`. Callers, groups and servers must all match; an empty list matches all. With no
/// pattern for tools, resources and prompts all three kinds are covered, otherwise only those that are named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyRule {
    /// Name of the rule in refusals and explanations. Without it, its position.
    #[serde(default)]
    pub id: Option<String>,
    /// What the rule does.
    pub effect: Effect,
    /// Callers it applies to.
    #[serde(default)]
    pub callers: Vec<String>,
    /// Groups it applies to; one of the caller's is enough.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Servers it applies to.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Tools it applies to, by the server's own names.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Resource addresses it applies to.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Prompts it applies to.
    #[serde(default)]
    pub prompts: Vec<String>,
    /// Actions it applies to.
    #[serde(default)]
    pub actions: Vec<Action>,
    /// CEL expression over `caller`, `server`, `tool`, `arguments` and `now` that must be true as well.
    #[serde(default)]
    pub when: Option<String>,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Permits.
    Allow,
    /// Refuses, with the reason.
    Deny,
    /// Refuses, and the thing does not exist for this caller.
    Hide,
}

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Lists tools, resources or prompts.
    List,
    /// Calls a tool.
    Call,
    /// Reads a resource.
    Read,
    /// Gets a prompt.
    Get,
}

/// Which calls and reads need a person's consent. Callers, groups and servers must all match; an empty list matches all. With
/// no pattern for tools, resources and prompts all three kinds are covered, otherwise only those that are named.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalRule {
    /// Name of the rule in refusals and explanations. Without it, its position.
    #[serde(default)]
    pub id: Option<String>,
    /// Callers it applies to.
    #[serde(default)]
    pub callers: Vec<String>,
    /// Groups it applies to.
    #[serde(default)]
    pub groups: Vec<String>,
    /// Servers it applies to.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Tools it applies to, by the server's own names.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Resource addresses it applies to; that of a skill's document stands for its files too.
    #[serde(default)]
    pub resources: Vec<String>,
    /// Prompts it applies to.
    #[serde(default)]
    pub prompts: Vec<String>,
    /// Whether consent is needed.
    pub mode: ApprovalMode,
    /// CEL expression that must be true as well.
    #[serde(default)]
    pub when: Option<String>,
    /// Who is asked.
    #[serde(default)]
    pub by: Approver,
    /// Without an answer in this time the call is refused.
    #[serde(default = "default_approval_timeout", with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub timeout: Duration,
}

/// Who is asked for consent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Approver {
    /// An operator, on the admin page or API.
    #[default]
    Operator,
    /// The person at the client, by elicitation.
    User,
}

fn default_approval_timeout() -> Duration {
    Duration::from_secs(300)
}
