//! Sections `prices` and `quotas`: what calls cost and how much of them there may be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What calls cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PricesConfig {
    /// Name of the unit, for people.
    pub unit: String,
    /// Prices of tools. The first that applies counts. A tool without one costs what it names itself, if it is a handler or
    /// its server has `trust_prices`; otherwise it is free.
    pub tools: Vec<PriceRule>,
}

impl Default for PricesConfig {
    fn default() -> Self {
        Self { unit: "credits".into(), tools: Vec::new() }
    }
}

/// The price of some tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceRule {
    /// Servers it applies to.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Tools it applies to.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Price of one call, to a millionth of the unit.
    #[schemars(range(min = 0.0))]
    pub price: f64,
    /// Give the price back when the call fails.
    #[serde(default)]
    pub refund_on_failure: bool,
}

/// A budget, a rate limit, or both. An empty list of patterns applies to all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Name of the quota in refusals. Without it, its position.
    pub id: Option<String>,
    /// Callers it applies to.
    pub callers: Vec<String>,
    /// Groups it applies to.
    pub groups: Vec<String>,
    /// Servers it applies to.
    pub servers: Vec<String>,
    /// Tools it applies to.
    pub tools: Vec<String>,
    /// What is counted apart.
    pub per: QuotaScope,
    /// Sum of prices in a calendar month.
    #[schemars(range(min = 0.0))]
    pub budget_per_month: Option<f64>,
    /// Highest price of a single call.
    #[schemars(range(min = 0.0))]
    pub max_per_call: Option<f64>,
    /// Tool calls in a minute.
    pub calls_per_minute: Option<u64>,
    /// Tool calls in a calendar day.
    pub calls_per_day: Option<u64>,
    /// Resource reads in a minute.
    pub reads_per_minute: Option<u64>,
    /// Calls under way at one time.
    pub concurrency: Option<u64>,
    /// Time zone in which days and months begin, such as `Europe/Berlin`. Without it, UTC.
    pub time_zone: Option<String>,
}

/// What a quota counts apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QuotaScope {
    /// Each caller.
    #[default]
    Caller,
    /// Each group.
    Group,
    /// Each tool.
    Tool,
    /// Each tool of each caller.
    CallerAndTool,
    /// Nothing: all share one count.
    All,
}
