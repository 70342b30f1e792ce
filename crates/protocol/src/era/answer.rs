//! A server's answer on its way to the client: under the client's id, in the client's era.

use bytes::Bytes;

use crate::era::Era;
use crate::message::{Field, Kind, Message};
use crate::method::Method;
use crate::object::Object;
use crate::splice::Splice;

/// The answer as the client shall see it. `method` is what the client asked.
pub fn write(message: &Message, id: &[u8], method: Method, from: Era, to: Era) -> Bytes {
    let Some(id_place) = message.id_place() else { return message.bytes().clone() };
    let mut body = match (message.kind(), from, to) {
        (Kind::Result, Era::Legacy, Era::Modern) => to_modern(message, method),
        (Kind::Result, Era::Modern, Era::Legacy) => to_legacy(message),
        (Kind::Error, Era::Legacy, Era::Modern) => error_to_modern(message),
        _ => None,
    };
    let mut splice = Splice::new(message.bytes(), id.len() + body.as_ref().map_or(0, Vec::len));
    match (message.body_place(), body.take()) {
        (Some(place), Some(new)) if place.start() < id_place.start() => {
            splice.replace(place, &new).replace(id_place, id);
        }
        (Some(place), Some(new)) => {
            splice.replace(id_place, id).replace(place, &new);
        }
        _ => {
            splice.replace(id_place, id);
        }
    }
    Bytes::from(splice.finish())
}

/// A result of a legacy server as a modern client wants it, given its JSON: with `resultType`, and with how long it may
/// be kept where the method's result says so.
pub fn result_to_modern(result: &[u8], method: Method) -> Vec<u8> {
    let Ok(object) = Object::parse(result) else { return result.to_vec() };
    let mut members = Vec::new();
    if object.place("resultType").is_none() {
        members.push(r#""resultType":"complete""#);
    }
    if method == Method::ResourcesRead && object.place("ttlMs").is_none() {
        members.push(r#""ttlMs":0"#);
    }
    if method == Method::ResourcesRead && object.place("cacheScope").is_none() {
        members.push(r#""cacheScope":"private""#);
    }
    if members.is_empty() {
        return result.to_vec();
    }
    let mut splice = Splice::new(result, 64);
    splice.insert_members(crate::span::Span::new(0, result.len()), members.join(",").as_bytes());
    splice.finish()
}

fn to_modern(message: &Message, method: Method) -> Option<Vec<u8>> {
    let complete = message.place(Field::ResultType).is_some();
    if complete && method != Method::ResourcesRead {
        return None;
    }
    message.body().map(|result| result_to_modern(result, method))
}

/// Members of a modern result that only tell how to read or keep it.
const MODERN_ONLY: [(Field, &str); 3] =
    [(Field::ResultType, "resultType"), (Field::TtlMs, "ttlMs"), (Field::CacheScope, "cacheScope")];

fn to_legacy(message: &Message) -> Option<Vec<u8>> {
    if MODERN_ONLY.iter().all(|(field, _)| message.place(*field).is_none()) {
        return None;
    }
    let result = message.body()?;
    let object = Object::parse(result).ok()?;
    let mut splice = Splice::new(result, 0);
    for member in object.places() {
        let key = member.key.of(result);
        if MODERN_ONLY.iter().any(|(_, name)| name.as_bytes() == key) {
            splice.remove_member(member.whole);
        }
    }
    Some(splice.finish())
}

/// -32002 (resource not found) must not be sent in the modern era, where it is -32602.
fn error_to_modern(message: &Message) -> Option<Vec<u8>> {
    let code = message.place(Field::Code)?;
    if code.of(message.bytes()) != b"-32002" {
        return None;
    }
    let body = message.body_place()?;
    let mut splice = Splice::new(body.of(message.bytes()), 0);
    splice.replace(code.within(body), b"-32602");
    Some(splice.finish())
}
