//! Error codes, and errors as bytes.

use bytes::Bytes;

use crate::era::Era;
use crate::text;

/// The codes that Toolgate itself gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    InternalError,
    /// A resource that is not there: -32002 in the legacy era, -32602 in the modern one.
    ResourceNotFound,
    /// Refused by policy, budget or limit.
    Denied,
    /// The server took longer than its time.
    Timeout,
    /// The server, or the way to it, failed.
    ExecutionError,
    HeaderMismatch,
    MissingClientCapability,
    UnsupportedVersion,
}

impl Code {
    /// The number that a client of this era understands.
    pub fn number(self, era: Era) -> i32 {
        match self {
            Code::ParseError => -32700,
            Code::InvalidRequest => -32600,
            Code::MethodNotFound => -32601,
            Code::InvalidParams => -32602,
            Code::InternalError => -32603,
            Code::ResourceNotFound => match era {
                Era::Legacy => -32002,
                Era::Modern => -32602,
            },
            Code::Denied => -32003,
            Code::Timeout => -32004,
            Code::ExecutionError => -32005,
            Code::HeaderMismatch => -32020,
            Code::MissingClientCapability => -32021,
            Code::UnsupportedVersion => -32022,
        }
    }
}

/// An error on its way to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReply {
    pub code: Code,
    pub message: String,
    /// The JSON of `data`, where there is more to say.
    pub data: Option<String>,
}

impl ErrorReply {
    /// An error with a message.
    pub fn new(code: Code, message: impl Into<String>) -> ErrorReply {
        ErrorReply { code, message: message.into(), data: None }
    }

    /// The same with `data`, which must be JSON.
    pub fn with_data(mut self, data: impl Into<String>) -> ErrorReply {
        self.data = Some(data.into());
        self
    }

    /// The `error` member as a client of this era reads it.
    pub fn object(&self, era: Era) -> String {
        let data = self.data.as_ref().map(|data| format!(r#","data":{data}"#)).unwrap_or_default();
        format!(r#"{{"code":{},"message":{}{data}}}"#, self.code.number(era), text::quote(&self.message))
    }

    /// The whole answer to the request with this id, or to one whose id could not be read.
    pub fn answer(&self, id: Option<&[u8]>, era: Era) -> Bytes {
        let id = id.map_or("null".into(), String::from_utf8_lossy);
        Bytes::from(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, self.object(era)))
    }
}

/// The answer `{"jsonrpc":"2.0","id":…,"result":…}`.
pub fn result_answer(id: &[u8], result: &[u8]) -> Bytes {
    answer(id, b"result", result)
}

/// The answer `{"jsonrpc":"2.0","id":…,"error":…}` with an error as it came from elsewhere.
pub fn error_answer(id: &[u8], error: &[u8]) -> Bytes {
    answer(id, b"error", error)
}

fn answer(id: &[u8], key: &[u8], body: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(id.len() + body.len() + 36);
    for part in [br#"{"jsonrpc":"2.0","id":"#, id, b",\"", key, b"\":", body, b"}"] {
        out.extend_from_slice(part);
    }
    Bytes::from(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_numbers_of_their_era() {
        let check = |code: Code, legacy, modern| {
            assert_eq!((code.number(Era::Legacy), code.number(Era::Modern)), (legacy, modern), "{code:?}");
        };
        check(Code::ParseError, -32700, -32700);
        check(Code::InvalidRequest, -32600, -32600);
        check(Code::MethodNotFound, -32601, -32601);
        check(Code::InvalidParams, -32602, -32602);
        check(Code::InternalError, -32603, -32603);
        check(Code::ResourceNotFound, -32002, -32602);
        check(Code::Denied, -32003, -32003);
        check(Code::Timeout, -32004, -32004);
        check(Code::ExecutionError, -32005, -32005);
        check(Code::HeaderMismatch, -32020, -32020);
        check(Code::MissingClientCapability, -32021, -32021);
        check(Code::UnsupportedVersion, -32022, -32022);
    }

    #[test]
    fn answers_are_written_with_the_id_as_it_came() {
        let reply = ErrorReply::new(Code::Denied, "no \"way\"\n").with_data(r#"{"retryable":false}"#);
        assert_eq!(
            reply.answer(Some(br#""a\u0062""#), Era::Legacy),
            r#"{"jsonrpc":"2.0","id":"a\u0062","error":{"code":-32003,"message":"no \"way\"\n","data":{"retryable":false}}}"#
        );
        assert_eq!(
            ErrorReply::new(Code::ParseError, "?").answer(None, Era::Modern),
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#
        );
        assert_eq!(result_answer(b"1", b"{}"), r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        assert_eq!(error_answer(b"1", b"{}"), r#"{"jsonrpc":"2.0","id":1,"error":{}}"#);
    }
}
