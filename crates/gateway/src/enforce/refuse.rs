//! What a client is told when the answer is no.

use serde_json::json;
use toolgate_governance::{Denied, Kind, Refusal, Remaining};
use toolgate_protocol::{Code, Era, ErrorReply, text};

use crate::recorder::Unrecorded;
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

/// The error for a denied request. What is hidden gets exactly the error of what does not exist.
pub fn reply(denied: &Denied, target: &Target) -> ErrorReply {
    match denied {
        Denied::Unknown { .. } => unknown(target.kind, &target.exposed),
        Denied::Refused(refusal) => refused(refusal),
        Denied::Arguments(problem) => {
            let message =
                format!("Invalid arguments for {} {}: {problem}", target.kind.word(), target.exposed);
            let details = json!({"path": problem.path, "problem": problem.message});
            let data = json!({"details": details, "retryable": false});
            ErrorReply::new(Code::InvalidParams, message).with_data(data.to_string())
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
pub fn refused(refusal: &Refusal) -> ErrorReply {
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
    ErrorReply::new(Code::Denied, format!("Denied: {}", refusal.words)).with_data(data.to_string())
}

/// The error for a call that ran and could not be written down.
pub fn withheld(unrecorded: Unrecorded) -> ErrorReply {
    ErrorReply::new(Code::Denied, unrecorded.to_string())
        .with_data(r#"{"details":{"stage":"record"},"retryable":false}"#)
}

/// The error while nothing can be written down.
pub fn unrecorded() -> ErrorReply {
    ErrorReply::new(
        Code::Denied,
        "Denied: calls cannot be recorded at the moment; the operator has been alerted",
    )
    .with_data(r#"{"details":{"stage":"record"},"retryable":true,"retry_after":5}"#)
}
