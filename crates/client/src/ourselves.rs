//! How we introduce ourselves, and the messages that are our own and not a client's.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use toolgate_protocol::era::{Envelope, Outgoing};
use toolgate_protocol::message::MetaField;
use toolgate_protocol::{Era, Message, Method, Version, text};

use crate::call::Caller;

/// What a legacy server may ask of us: everything, since some client behind us may be able to answer.
const CAPABILITIES: &str = r#"{"roots":{"listChanged":true},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

const CLIENT_INFO: &str = concat!(r#"{"name":"toolgate","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// The same in the form of the modern era. What a server lists may depend on it, and lists are for all clients.
const MODERN_CAPABILITIES: &str =
    r#"{"roots":{},"sampling":{"context":{},"tools":{}},"elicitation":{"form":{},"url":{}}}"#;

/// The caller of our own requests, which are such that no server may answer them with a question.
pub(crate) fn caller() -> &'static Arc<Caller> {
    static CALLER: OnceLock<Arc<Caller>> = OnceLock::new();
    CALLER.get_or_init(|| {
        let all = Bytes::from_static(MODERN_CAPABILITIES.as_bytes());
        let info = Bytes::from_static(CLIENT_INFO.as_bytes());
        Arc::new(Caller { key: 0, envelope: Envelope::new(Era::Legacy, all, Some(info)), log_level: None })
    })
}

/// A request of our own, before it has an id and an era. Nothing where `params` is no JSON object.
pub(crate) fn request(method: Method, params: &[u8]) -> Option<Message> {
    let head = format!(r#"{{"jsonrpc":"2.0","id":0,"method":{},"params":"#, text::quote(method.name()));
    Message::parse(Bytes::from([head.as_bytes(), params, b"}"].concat())).ok()
}

/// The same as it is sent.
pub(crate) fn written(message: &Message, id: u64, era: Era) -> Bytes {
    let outgoing =
        Outgoing { id, native: None, era, envelope: &caller().envelope, log_level: None, told: None };
    Bytes::from(outgoing.write(message))
}

/// A notification as it is sent.
pub(crate) fn notification(method: Method, params: Option<&[u8]>) -> Bytes {
    let head = format!(r#"{{"jsonrpc":"2.0","method":{}"#, text::quote(method.name()));
    let parts = match params {
        Some(params) => [head.as_bytes(), br#","params":"#, params, b"}"].concat(),
        None => [head.as_bytes(), b"}"].concat(),
    };
    Bytes::from(parts)
}

/// The request `initialize`.
pub(crate) fn introduction(id: u64, version: Version) -> Bytes {
    let date = version.date();
    Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"{date}","capabilities":{CAPABILITIES},"clientInfo":{CLIENT_INFO}}}}}"#,
    ))
}

/// The request `server/discover`.
pub(crate) fn discovery(id: u64) -> Bytes {
    let meta = format!(
        r#""{}":"{}","{}":{MODERN_CAPABILITIES},"{}":{CLIENT_INFO}"#,
        MetaField::ProtocolVersion.key(),
        Version::NEWEST.date(),
        MetaField::ClientCapabilities.key(),
        MetaField::ClientInfo.key(),
    );
    Bytes::from(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"server/discover","params":{{"_meta":{{{meta}}}}}}}"#
    ))
}
