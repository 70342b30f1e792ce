//! What a client is told when its server gave no answer.

use toolgate_client::CallError;
use toolgate_client::capacity::Full;
use toolgate_protocol::{Code, ErrorReply, text};

/// The error for a call that got no answer: what, why, and whether to try again.
pub fn reply(error: &CallError) -> ErrorReply {
    let message = error.to_string();
    match error {
        CallError::Unavailable { server, state, since, retry_after, .. } => {
            let retry = retry_after.map_or(1, |wait| wait.as_secs().max(1));
            ErrorReply::new(Code::ExecutionError, message).with_data(format!(
                r#"{{"details":{{"server":{},"state":"{state}","since_seconds":{}}},"retryable":true,"retry_after":{retry}}}"#,
                text::quote(server),
                since.as_secs(),
            ))
        }
        CallError::Timeout { server, .. } => failed(Code::Timeout, message, server, true),
        CallError::Broken { server, .. } | CallError::Unusable { server, .. } => {
            failed(Code::ExecutionError, message, server, false)
        }
        CallError::Busy { server, .. } => failed(Code::ExecutionError, message, server, true),
        CallError::NoSuchMethod { server, .. } => failed(Code::MethodNotFound, message, server, false),
    }
}

/// The gateway has more to do than it may.
pub fn full(full: Full) -> ErrorReply {
    ErrorReply::new(Code::ExecutionError, full.to_string())
        .with_data(r#"{"details":{"stage":"capacity"},"retryable":true,"retry_after":1}"#)
}

/// The server needed something that the client did not say it can do.
pub fn lacking(capability: &str) -> ErrorReply {
    ErrorReply::new(
        Code::MissingClientCapability,
        format!("the server needs the client capability '{capability}'"),
    )
    .with_data(format!(r#"{{"requiredCapabilities":{{"{capability}":{{}}}}}}"#))
}

/// The client did not declare an extension that it uses.
pub fn lacking_extension(name: &str) -> ErrorReply {
    ErrorReply::new(
        Code::MissingClientCapability,
        format!("the client must declare the extension '{name}' to use it"),
    )
    .with_data(format!(r#"{{"requiredCapabilities":{{"extensions":{{"{name}":{{}}}}}}}}"#))
}

/// A modern server asked a legacy client again and again.
pub fn too_many_rounds(rounds: u32) -> ErrorReply {
    ErrorReply::new(Code::ExecutionError, format!("the server asked for input more than {rounds} times"))
}

/// A resource is longer than what is passed on.
pub fn overlong(limit: usize) -> ErrorReply {
    let what = format!("the resource is longer than the {limit} bytes that are passed on; read a part of it");
    ErrorReply::new(Code::ExecutionError, what)
        .with_data(r#"{"details":{"stage":"output"},"retryable":false}"#)
}

/// A server's list of tasks cannot be read, so nobody can say whose they are.
pub fn unreadable_tasks() -> ErrorReply {
    ErrorReply::new(Code::ExecutionError, "the server's list of tasks cannot be read")
}

/// The request cannot carry the client's answers. Its `params` were checked before, so this is ours to mend.
pub fn unrepeatable() -> ErrorReply {
    ErrorReply::new(Code::InternalError, "the request could not be repeated with the client's answers")
}

fn failed(code: Code, message: String, server: &str, retryable: bool) -> ErrorReply {
    let retry = if retryable { r#","retry_after":1"# } else { "" };
    ErrorReply::new(code, message).with_data(format!(
        r#"{{"details":{{"server":{}}},"retryable":{retryable}{retry}}}"#,
        text::quote(server)
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_server_that_is_busy_may_be_asked_again_soon() {
        let reply = reply(&CallError::Busy { server: Arc::from("shop"), waiting: 9 });
        assert_eq!(reply.code, Code::ExecutionError);
        assert!(reply.message.contains("9 calls waiting"), "{}", reply.message);
        let data: Value = serde_json::from_str(reply.data.as_deref().unwrap()).unwrap();
        assert_eq!(data, json!({"details": {"server": "shop"}, "retryable": true, "retry_after": 1}));
    }
}
