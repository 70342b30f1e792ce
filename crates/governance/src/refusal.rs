//! What a caller is told when the answer is no: enough for a model to do the right thing next, nothing about what it may not see.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use thiserror::Error;

/// The questions that every call has to pass, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Does the thing exist for this caller?
    Visibility,
    /// Is there money for it?
    Budget,
    /// Has the caller had enough for now?
    Rate,
    /// May the caller do this?
    Permission,
    /// Do the arguments fit the tool? Asked before anyone is bothered for approval.
    Arguments,
    /// Must someone agree first?
    Approval,
}

/// What a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Micro-units in a calendar month.
    BudgetPerMonth,
    /// Micro-units for one call.
    MaxPerCall,
    /// Tool calls in a minute of the clock.
    CallsPerMinute,
    /// Tool calls in a calendar day.
    CallsPerDay,
    /// Resources and prompts in a minute of the clock.
    ReadsPerMinute,
    /// Calls and reads at the same time.
    Concurrency,
}

/// A refusal by a limit, a permission or an approval: code -32003 on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, JsonSchema)]
#[error("{words}")]
pub struct Refusal {
    /// Where the call stopped.
    pub stage: Stage,
    /// The rule that stopped it.
    pub rule: Arc<str>,
    /// The refusal in words.
    pub words: String,
    /// What the limit counts, if a limit stopped the call.
    pub measure: Option<Measure>,
    /// The limit.
    pub limit: Option<u64>,
    /// How much of it is used.
    pub used: Option<u64>,
    /// When the count starts again.
    pub resets_at: Option<Timestamp>,
    /// Whether the same call can succeed later without anyone changing the rules.
    pub retryable: bool,
    /// After how many seconds it is worth trying again.
    pub retry_after: Option<u64>,
}

/// Arguments that do not fit the tool: code -32602 on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, JsonSchema)]
#[error("the arguments do not fit at `{path}`: {message}")]
pub struct ArgumentProblem {
    /// Where in the arguments, as a JSON pointer.
    pub path: String,
    /// What is wrong there.
    pub message: String,
    /// The same without the value, which may be a secret: what records say.
    pub without_value: String,
}

/// Why a call does not happen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Denied {
    /// For this caller the thing does not exist. The rule is for records and explanations and must not reach the caller.
    #[error("not found")]
    Unknown {
        /// The rule that hid it.
        rule: Arc<str>,
    },
    /// It exists, and the answer is no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The arguments do not fit.
    #[error(transparent)]
    Arguments(#[from] ArgumentProblem),
}

impl ArgumentProblem {
    /// A problem whose words name no value.
    pub fn said(path: String, message: String) -> ArgumentProblem {
        ArgumentProblem { path, without_value: message.clone(), message }
    }

    /// The problem for the record.
    pub fn for_record(&self) -> String {
        format!("the arguments do not fit at `{}`: {}", self.path, self.without_value)
    }
}

impl Refusal {
    /// A refusal that no waiting will change.
    pub(crate) fn by_rule(stage: Stage, rule: Arc<str>, words: String) -> Refusal {
        Refusal {
            stage,
            rule,
            words,
            measure: None,
            limit: None,
            used: None,
            resets_at: None,
            retryable: false,
            retry_after: None,
        }
    }

    /// Says when to come back.
    #[must_use]
    pub(crate) fn until(mut self, resets_at: Timestamp, now: Timestamp) -> Refusal {
        let wait = resets_at.as_second().saturating_sub(now.as_second());
        self.resets_at = Some(resets_at);
        self.retryable = true;
        self.retry_after = Some(u64::try_from(wait).unwrap_or(0).max(1));
        self
    }
}

impl Measure {
    /// The words for it in sentences.
    pub fn words(self) -> &'static str {
        match self {
            Measure::BudgetPerMonth => "budget for this month",
            Measure::MaxPerCall => "most that one call may cost",
            Measure::CallsPerMinute => "calls per minute",
            Measure::CallsPerDay => "calls per day",
            Measure::ReadsPerMinute => "reads per minute",
            Measure::Concurrency => "calls at the same time",
        }
    }

    /// Whether the numbers are micro-units.
    pub fn is_money(self) -> bool {
        matches!(self, Measure::BudgetPerMonth | Measure::MaxPerCall)
    }

    /// Whether uses are counted over a time, so that earlier ones matter.
    pub(crate) fn is_windowed(self) -> bool {
        !matches!(self, Measure::MaxPerCall | Measure::Concurrency)
    }

    /// The stage that asks about it.
    pub fn stage(self) -> Stage {
        if self.is_money() { Stage::Budget } else { Stage::Rate }
    }
}
