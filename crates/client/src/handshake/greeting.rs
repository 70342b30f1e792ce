//! What a server's first answer says: its era, and what it tells of itself.

use bytes::Bytes;
use toolgate_protocol::message::{Field, MetaField};
use toolgate_protocol::object::elements;
use toolgate_protocol::{Era, Kind, Message, Object, Version, short_call, text};

use crate::status::Greeting;

/// What the answer to `server/discover` says of a server.
#[derive(Debug)]
pub(super) enum Judgement {
    Modern(Greeting),
    /// To be sent `initialize` with this version.
    Legacy(Version),
    /// It refused the very version that it says it supports: worth asking once more.
    Wavering(String),
    /// It understood us and cannot be spoken with.
    Unfit(String),
}

/// Judges the answer to `server/discover`.
pub(super) fn judge(answer: &Message) -> Judgement {
    let body = answer.body().unwrap_or(b"{}");
    let Ok(object) = Object::parse(body) else { return Judgement::Legacy(Version::NEWEST_LEGACY) };
    if answer.kind() == Kind::Result {
        return match object.get("supportedVersions") {
            Some(versions) => among(versions, || modern(answer, &object)),
            None => Judgement::Legacy(Version::NEWEST_LEGACY),
        };
    }
    let message = answer.field_text(Field::Message).unwrap_or_default().into_owned();
    match answer.field(Field::Code) {
        Some(b"-32022") => {
            let data = answer.field(Field::Data).and_then(|data| Object::parse(data).ok());
            let supported = data.as_ref().and_then(|data| data.get("supported")).unwrap_or(b"[]");
            among(supported, || {
                Judgement::Wavering(format!("it refuses the version that it supports: {message}"))
            })
        }
        Some(b"-32020" | b"-32021") => Judgement::Unfit(format!("it refuses 'server/discover': {message}")),
        _ => Judgement::Legacy(Version::NEWEST_LEGACY),
    }
}

/// What a server told of itself in its answer to `initialize`; otherwise why it cannot be spoken with.
pub(super) fn of_initialize(answer: &Message) -> Result<Greeting, String> {
    if answer.kind() != Kind::Result {
        let message = answer.field_text(Field::Message).unwrap_or_default();
        let code = String::from_utf8_lossy(answer.field(Field::Code).unwrap_or_default());
        return Err(format!("it refused 'initialize': {message} ({code})"));
    }
    let date = answer.field_text(Field::ProtocolVersion).unwrap_or_default();
    let version = Version::dated(&date).filter(|version| version.era() == Era::Legacy);
    let Some(version) = version else {
        return Err(format!("it answered 'initialize' with the unknown protocol version '{date}'"));
    };
    let result = answer.body_bytes().unwrap_or_default();
    let object = Object::parse(&result).map_err(|error| error.to_string())?;
    let part = |key: &str| object.get(key).map(|part| result.slice_ref(part));
    Ok(Greeting {
        era: Era::Legacy,
        version,
        capabilities: answer.field_bytes(Field::Capabilities).unwrap_or_else(|| Bytes::from_static(b"{}")),
        server_info: part("serverInfo"),
        instructions: part("instructions"),
        reads_short_calls: short_call::is_understood(answer),
    })
}

fn modern(answer: &Message, object: &Object<'_>) -> Judgement {
    let own = |part: &[u8]| answer.bytes().slice_ref(part);
    Judgement::Modern(Greeting {
        era: Era::Modern,
        version: Version::NEWEST,
        capabilities: answer.field_bytes(Field::Capabilities).unwrap_or_else(|| Bytes::from_static(b"{}")),
        server_info: answer.meta(MetaField::ServerInfo).or_else(|| object.get("serverInfo")).map(own),
        instructions: object.get("instructions").map(own),
        reads_short_calls: short_call::is_understood(answer),
    })
}

/// The newest version that both sides have: `modern` where it is the modern one.
fn among(versions: &[u8], modern: impl FnOnce() -> Judgement) -> Judgement {
    let dates: Vec<_> = elements(versions).unwrap_or_default().into_iter().filter_map(text::string).collect();
    let shared = Version::ALL.into_iter().find(|version| dates.iter().any(|date| date == version.date()));
    match shared {
        Some(Version::V2026_07_28) => modern(),
        Some(version) => Judgement::Legacy(version),
        None => Judgement::Unfit(format!("it speaks only versions that are not known: {}", dates.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &'static str) -> Message {
        Message::parse(Bytes::from_static(text.as_bytes())).unwrap()
    }

    #[test]
    fn the_first_answer_tells_the_era() {
        let check = |text: &'static str, expected: &str| {
            let found = match judge(&answer(text)) {
                Judgement::Modern(_) => "modern".to_owned(),
                Judgement::Legacy(version) => version.date().to_owned(),
                Judgement::Wavering(_) => "wavering".to_owned(),
                Judgement::Unfit(_) => "unfit".to_owned(),
            };
            assert_eq!(found, expected, "{text}");
        };
        check(
            r#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2025-11-25","2026-07-28"]}}"#,
            "modern",
        );
        check(r#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2025-06-18"]}}"#, "2025-06-18");
        check(r#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2030-01-01"]}}"#, "unfit");
        check(r#"{"jsonrpc":"2.0","id":0,"result":{}}"#, "2025-11-25");
        check(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"?"}}"#, "2025-11-25");
        check(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32000,"message":"no session"}}"#, "2025-11-25");
        check(
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"?","data":{"supported":["2025-06-18"]}}}"#,
            "2025-06-18",
        );
        check(
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"?","data":{"supported":["2026-07-28"]}}}"#,
            "wavering",
        );
        check(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"?"}}"#, "unfit");
        check(r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32020,"message":"?"}}"#, "unfit");
    }

    #[test]
    fn a_greeting_holds_what_the_server_said() {
        let greeting = of_initialize(&answer(
            r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x"},"instructions":"do"}}"#,
        ))
        .unwrap();
        assert_eq!(greeting.version, Version::V2025_06_18);
        assert_eq!(greeting.capabilities, r#"{"tools":{}}"#);
        assert_eq!(greeting.server_info.unwrap(), r#"{"name":"x"}"#);
        assert_eq!(greeting.instructions.unwrap(), r#""do""#);
        let refused = answer(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"go away"}}"#);
        assert!(of_initialize(&refused).unwrap_err().contains("go away"));
        let unknown = answer(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"1999-01-01"}}"#);
        assert!(of_initialize(&unknown).unwrap_err().contains("1999-01-01"));
    }
}
