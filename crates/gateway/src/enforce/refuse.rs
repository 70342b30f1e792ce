//! What a client is told when the answer is no.

use serde_json::{Value, json};
use toolgate_governance::{Denied, Kind, Refusal, Remaining};
use toolgate_protocol::{Code, Era, ErrorReply, text};

use crate::enforce::closing::QUOTA_KEY;
use crate::relay::Last;
use crate::router::Target;

/// A request that may not go on: what its client is told, and what is left of its quotas.
#[derive(Debug)]
pub struct Stopped {
    pub reply: ErrorReply,
    pub remaining: Vec<Remaining>,
    /// Whether what it names is hidden from the client.
    pub hidden: bool,
}

impl From<ErrorReply> for Stopped {
    fn from(reply: ErrorReply) -> Stopped {
        Stopped { reply, remaining: Vec::new(), hidden: false }
    }
}

impl Stopped {
    /// The answer to the request with this id.
    pub fn answer(&self, id: Option<&[u8]>, era: Era) -> Last {
        Last::error(&self.reply, id, era, &self.remaining)
    }
}

/// The error for a denied request. What is hidden gets exactly the error of what does not exist, which tells nothing of
/// quotas.
pub fn reply(denied: &Denied, target: &Target, remaining: &[Remaining]) -> ErrorReply {
    match denied {
        Denied::Unknown { .. } => unknown(target.kind, &target.exposed),
        Denied::Refused(refusal) => refused(refusal, remaining),
        Denied::Arguments(problem) => {
            let message =
                format!("Invalid arguments for {} {}: {problem}", target.kind.word(), target.exposed);
            let details = json!({"path": problem.path, "problem": problem.message});
            ErrorReply::new(Code::InvalidParams, message)
                .with_data(with_quota(json!({"details": details, "retryable": false}), remaining))
        }
    }
}

/// The error for something that does not exist.
pub fn unknown(kind: Kind, exposed: &str) -> ErrorReply {
    match kind {
        Kind::Tool | Kind::Prompt => {
            ErrorReply::new(Code::InvalidParams, format!("Unknown {}: {exposed}", kind.word()))
        }
        Kind::Resource => ErrorReply::new(Code::ResourceNotFound, format!("Resource not found: {exposed}"))
            .with_data(format!(r#"{{"uri":{}}}"#, text::quote(exposed))),
    }
}

/// The error for a request that a rule, a limit or a person stopped.
pub fn refused(refusal: &Refusal, remaining: &[Remaining]) -> ErrorReply {
    let details = json!({
        "stage": refusal.stage,
        "rule": refusal.rule,
        "measure": refusal.measure,
        "limit": refusal.limit,
        "used": refusal.used,
        "resets_at": refusal.resets_at.map(|time| time.to_string()),
    });
    let data = json!({
        "details": details,
        "retryable": refusal.retryable,
        "retry_after": refusal.retry_after,
    });
    ErrorReply::new(Code::Denied, format!("Denied: {}", refusal.words)).with_data(with_quota(data, remaining))
}

/// An error has no `_meta`, so what is left stands in its data, under the same key.
fn with_quota(mut data: Value, remaining: &[Remaining]) -> String {
    if !remaining.is_empty()
        && let Ok(quota) = serde_json::to_value(remaining)
    {
        data[QUOTA_KEY] = quota;
    }
    data.to_string()
}

/// The error while nothing can be written down.
pub fn unrecorded() -> ErrorReply {
    ErrorReply::new(
        Code::Denied,
        "Denied: calls cannot be recorded at the moment; the operator has been alerted",
    )
    .with_data(r#"{"details":{"stage":"record"},"retryable":true,"retry_after":5}"#)
}
