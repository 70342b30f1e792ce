//! What is answered.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolgate_governance::Remaining;

use crate::questions::By;

/// Sums over whole days.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Statistics {
    /// What the rows are.
    pub by: By,
    /// The first day.
    pub from: String,
    /// The last day.
    pub to: String,
    /// One row for each group that has calls.
    pub rows: Vec<StatisticsRow>,
}

/// What the calls of a group add up to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StatisticsRow {
    /// The group: a name, a word for the status, or a day or month in digits.
    pub group: String,
    /// How many calls.
    pub calls: u64,
    /// How many of them did not end well.
    pub failed: u64,
    /// How long they took together.
    pub duration_us: u64,
    /// The bytes of their arguments.
    pub arguments_bytes: u64,
    /// The bytes of their results.
    pub result_bytes: u64,
    /// What they cost, in millionths of the operator's unit.
    pub price_settled: u64,
}

/// A page of calls, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CallPage {
    /// The calls.
    pub calls: Vec<Call>,
    /// The `cursor` of the next older page; nothing on the last page.
    pub next: Option<String>,
}

/// One call, without its bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Call {
    /// When the request arrived.
    pub time: Timestamp,
    /// The writer of the record.
    pub replica: String,
    /// Its number there.
    pub sequence: u64,
    /// Who asked.
    pub caller: String,
    /// The server.
    pub server: String,
    /// The tool, resource or prompt as clients name it.
    pub tool: String,
    /// What was asked for.
    pub kind: String,
    /// How it ended.
    pub status: String,
    /// The JSON-RPC error code, if it ended with one.
    pub error_code: Option<i32>,
    /// How long it took.
    pub duration_us: u64,
    /// The size of the arguments in bytes.
    pub arguments_size: u64,
    /// The size of the result in bytes.
    pub result_size: u64,
    /// The price taken, in millionths of the operator's unit.
    pub price_settled: u64,
}

/// One call as the journal has it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecordedCall {
    /// When the request arrived.
    pub time: Timestamp,
    /// The writer of the record.
    pub replica: String,
    /// Its number there.
    pub sequence: u64,
    /// Who asked.
    pub caller: String,
    /// The groups the caller was in.
    pub groups: Vec<String>,
    /// What was asked for.
    pub kind: String,
    /// The server; empty if none was found.
    pub server: String,
    /// The tool, resource or prompt as clients name it.
    pub tool: String,
    /// The same as the server names it.
    pub native: String,
    /// The era of the client.
    pub era: String,
    /// How it ended.
    pub status: String,
    /// The JSON-RPC error code, if it ended with one.
    pub error_code: Option<i32>,
    /// How long it took.
    pub duration_us: u64,
    /// The price held back before the call, in millionths of the operator's unit.
    pub price_reserved: u64,
    /// The price taken in the end.
    pub price_settled: u64,
    /// The trace the call belongs to, in hexadecimal digits.
    pub trace_id: Option<String>,
    /// The revision of the policy that decided.
    pub policy_revision: u64,
    /// The arguments, without secrets.
    pub arguments: Option<RecordedBody>,
    /// The result or error, without secrets.
    pub result: Option<RecordedBody>,
}

/// Arguments or a result, without secrets.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RecordedBody {
    /// The size of the whole in bytes.
    pub size: u64,
    /// The digest of the whole.
    pub digest: String,
    /// Whether only the beginning is kept.
    pub cut: bool,
    /// JSON where all of it is kept and is JSON; otherwise the text that is kept.
    pub body: Value,
}

/// The limits of a caller, and what it has used this month.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Quotas {
    /// The caller.
    pub caller: String,
    /// Its groups.
    pub groups: Vec<String>,
    /// What the ledger has of it for this month, in UTC; nothing where no ledger is kept.
    pub month: Option<MonthOfCaller>,
    /// The limits.
    pub limits: Vec<LimitState>,
}

/// What a caller's calls of a month add up to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MonthOfCaller {
    /// The month in digits, such as 202607.
    pub month: i32,
    /// How many calls.
    pub calls: u64,
    /// What they cost, in millionths of the operator's unit.
    pub price_settled: u64,
}

/// The state of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LimitState {
    /// The limit and how much of it is left.
    #[serde(flatten)]
    pub limit: Remaining,
    /// The tools for which it is so.
    pub tools: Vec<String>,
}

/// Calls that wait for an operator, the oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Approvals {
    /// The calls.
    pub approvals: Vec<Approval>,
}

/// A call that waits for an operator.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Approval {
    /// The number by which it is decided about.
    pub id: u64,
    /// Who asked.
    pub caller: String,
    /// The server.
    pub server: String,
    /// The tool, as clients name it.
    pub tool: String,
    /// The arguments, without secrets; text where they are no JSON.
    pub arguments: Option<Value>,
    /// The rule that wants agreement.
    pub rule: String,
    /// Since when it waits, in seconds since 1970.
    pub since: u64,
    /// When it is given up, in seconds since 1970.
    pub expires: u64,
}

/// What was decided about a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Decided {
    /// The number of the call.
    pub id: u64,
    /// Whether it may run.
    pub approved: bool,
}

/// How the gateway and its servers are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Health {
    /// `ok`, or `degraded` where a server is down, the last reload failed or the ledger is not well.
    pub status: String,
    /// The version of the gateway.
    pub version: String,
    /// For how long it runs.
    pub uptime_seconds: u64,
    /// How many sessions it has.
    pub sessions: u64,
    /// Its servers.
    pub servers: Vec<ServerHealth>,
    /// Servers that cannot be started, and why: a variable that is missing, for instance.
    pub disabled: BTreeMap<String, String>,
    /// Why the last reload changed nothing, where it did not.
    pub reload_problem: Option<String>,
    /// Settings that have changed in the files and change here with the next start.
    pub needs_restart: Vec<String>,
    /// How the ledger is, where there is one.
    pub ledger: Option<LedgerHealth>,
}

/// How the ledger is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LedgerHealth {
    /// `ok` or `failing`.
    pub status: String,
    /// Whether the last record could be written.
    pub recording: bool,
    /// Whether the disk confirmed what was written when it was last asked to.
    pub confirmed: bool,
    /// Whether the index could be filled when that was last tried.
    pub indexed: bool,
    /// The last thing that went wrong, even if all is well again.
    pub last_error: Option<String>,
}

/// How a server is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerHealth {
    /// Its name.
    pub name: String,
    /// Its state: `ready`, `down`, `asleep` and the like.
    pub state: String,
    /// Why it is so, where that is known.
    pub cause: Option<String>,
    /// For how long it is so.
    pub since_seconds: u64,
    /// The revision of the protocol that it speaks, once that is known.
    pub version: Option<String>,
    /// How many tools it lists.
    pub tools: u64,
    /// How many prompts it lists.
    pub prompts: u64,
    /// How many resources it lists.
    pub resources: u64,
}
