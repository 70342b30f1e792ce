//! What a client is told when the answer is no.

use serde_json::json;
use toolgate_governance::{Denied, Kind, Refusal};
use toolgate_protocol::{Code, ErrorReply, text};

use crate::router::Target;

/// The error for a denied request. What is hidden gets exactly the error of what does not exist.
pub fn reply(denied: &Denied, target: &Target) -> ErrorReply {
    match denied {
        Denied::Unknown { .. } => unknown(target.kind, &target.exposed),
        Denied::Refused(refusal) => refused(refusal),
        Denied::Arguments(problem) => {
            let message =
                format!("Invalid arguments for {} {}: {problem}", target.kind.word(), target.exposed);
            let details = json!({"path": problem.path, "problem": problem.message});
            ErrorReply::new(Code::InvalidParams, message)
                .with_data(json!({"details": details, "retryable": false}).to_string())
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

/// The error while nothing can be written down.
pub fn unrecorded() -> ErrorReply {
    ErrorReply::new(
        Code::Denied,
        "Denied: calls cannot be recorded at the moment; the operator has been alerted",
    )
    .with_data(r#"{"details":{"stage":"record"},"retryable":true,"retry_after":5}"#)
}
