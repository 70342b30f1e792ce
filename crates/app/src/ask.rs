//! One request to the gateway in this process, from a person instead of a client.

use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toolgate_gateway::downstream::admit;
use toolgate_gateway::pipeline::{self, Outcome};
use toolgate_gateway::relay::Piece;
use toolgate_gateway::{Gateway, Principal};
use toolgate_protocol::message::MetaField;
use toolgate_protocol::{Message, Version};

/// Under which name policies and the ledger know the person at the command line.
const OPERATOR: &str = "operator";
/// What a refusal of our own is coded as.
const INVALID_REQUEST: i64 = -32600;

/// What was answered instead of a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub(crate) struct ErrorAnswer {
    pub(crate) code: i64,
    pub(crate) message: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(crate) data: Value,
}

impl ErrorAnswer {
    fn refused(message: impl Into<String>) -> Self {
        Self { code: INVALID_REQUEST, message: message.into(), data: Value::Null }
    }
}

/// The result of a request, sent the way a modern client sends it.
pub(crate) async fn ask(gateway: &Arc<Gateway>, method: &str, params: Value) -> Result<Value, ErrorAnswer> {
    let message = Message::parse(request(method, params))
        .map_err(|error| ErrorAnswer::refused(format!("this is no request: {error}")))?;
    let principal = Arc::new(Principal::named(OPERATOR));
    let client = admit::admit_modern(&message, &principal)
        .map_err(|refusal| ErrorAnswer::refused(refusal.reply.message))?;
    match pipeline::handle(gateway, &client, &message, None).await {
        Outcome::Answer(last) => read(&last.bytes),
        Outcome::Passage(mut passage) => loop {
            match passage.next().await {
                // Progress and logs: nobody here looks at them.
                Piece::Message(_) => {}
                Piece::Last(last) => return read(&last.bytes),
                Piece::Cancelled => return Err(ErrorAnswer::refused("the request was cancelled")),
            }
        },
        Outcome::Listening(_) => {
            Err(ErrorAnswer::refused(format!("{method} is a stream, which has no result")))
        }
        Outcome::Taken => Err(ErrorAnswer::refused(format!("{method} has no result"))),
    }
}

fn request(method: &str, params: Value) -> Bytes {
    let mut params = match params {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let meta = json!({
        MetaField::ProtocolVersion.key(): Version::NEWEST.date(),
        MetaField::ClientCapabilities.key(): {},
        MetaField::ClientInfo.key(): {"name": "toolgate", "version": env!("CARGO_PKG_VERSION")},
    });
    params.insert("_meta".into(), meta);
    Bytes::from(json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string())
}

fn read(answer: &[u8]) -> Result<Value, ErrorAnswer> {
    #[derive(Deserialize)]
    struct Answer {
        result: Option<Value>,
        error: Option<ErrorAnswer>,
    }
    match serde_json::from_slice(answer) {
        Ok(Answer { error: Some(error), .. }) => Err(error),
        Ok(Answer { result: Some(result), .. }) => Ok(result),
        _ => Err(ErrorAnswer::refused("the answer cannot be read")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_says_who_asks() {
        let message = Message::parse(request("tools/list", json!({"cursor": "a"}))).unwrap();
        assert_eq!(message.meta_text(MetaField::ProtocolVersion).as_deref(), Some(Version::NEWEST.date()));
        assert!(admit::admit_modern(&message, &Arc::new(Principal::named(OPERATOR))).is_ok());
    }

    #[test]
    fn answers_are_results_or_errors() {
        let check = |answer: &str, expected: Result<Value, i64>| {
            assert_eq!(read(answer.as_bytes()).map_err(|error| error.code), expected, "{answer}");
        };
        check(r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#, Ok(json!({"a": 1})));
        check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32003,"message":"no"}}"#, Err(-32003));
        check(r#"{"jsonrpc":"2.0","id":1}"#, Err(INVALID_REQUEST));
        check("x", Err(INVALID_REQUEST));
    }
}
