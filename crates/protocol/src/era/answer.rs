//! A server's answer on its way to the client: under the client's id, in the client's era.
//!
//! Errors change only where the client's revision forbids the code. Two codes are left alone on purpose: -32042 of
//! 2025-11-25 (go to the URLs in `data.elicitations`, then ask again) has no modern form that a finished call could
//! take, and a modern client that shows message and data still tells its user what to do; and -32602 of a modern server
//! may mean a missing resource or a wrong argument, so it does not become -32002.

use bytes::Bytes;

use crate::era::Era;
use crate::message::{Field, Kind, Message};
use crate::method::Method;
use crate::object::Object;
use crate::span::Span;
use crate::splice::Splice;

/// The answer as the client shall see it. `method` is what the client asked.
pub fn write(message: &Message, id: &[u8], method: Method, from: Era, to: Era) -> Bytes {
    let Some(id_place) = message.id_place() else { return message.bytes().clone() };
    let body = match (message.kind(), from, to) {
        (Kind::Result, Era::Legacy, Era::Modern) => to_modern(message, method),
        (Kind::Result, Era::Modern, Era::Legacy) => return to_legacy(message, id_place, id, method),
        (Kind::Error, Era::Legacy, Era::Modern) => error_to_modern(message),
        _ => None,
    };
    let mut splice = Splice::new(message.bytes(), id.len() + body.as_ref().map_or(0, Vec::len));
    match (message.body_place(), body) {
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
    if object.place(Field::ResultType.key()).is_none() {
        members.push(r#""resultType":"complete""#);
    }
    if method.is_cacheable() && object.place(Field::TtlMs.key()).is_none() {
        members.push(r#""ttlMs":0"#);
    }
    if method.is_cacheable() && object.place(Field::CacheScope.key()).is_none() {
        members.push(r#""cacheScope":"private""#);
    }
    if members.is_empty() {
        return result.to_vec();
    }
    let mut splice = Splice::new(result, 64);
    splice.insert_members(Span::new(0, result.len()), members.join(",").as_bytes());
    splice.finish()
}

fn to_modern(message: &Message, method: Method) -> Option<Vec<u8>> {
    let complete = message.place(Field::ResultType).is_some();
    if complete && !method.is_cacheable() {
        return None;
    }
    message.body().map(|result| result_to_modern(result, method))
}

/// Takes out what only tells a modern client how to read and keep a result. Where a method's result has no lifetime by
/// the specification, members of that name are the server's own (a task has a `ttlMs`) and stay.
fn to_legacy(message: &Message, id_place: Span, id: &[u8], method: Method) -> Bytes {
    let modern: &[Field] = if method.is_cacheable() {
        &[Field::ResultType, Field::TtlMs, Field::CacheScope]
    } else {
        &[Field::ResultType]
    };
    let mut removed = Vec::new();
    if modern.iter().any(|field| message.place(*field).is_some())
        && let Some(result) = message.body_place()
        && let Ok(object) = Object::parse(result.of(message.bytes()))
    {
        let keys = modern.iter().map(|field| field.key()).collect::<Vec<_>>();
        removed.extend(object.places_of(&keys).map(|member| member.whole.shifted(result.start())));
    }
    let is_after_body = message.body_place().is_some_and(|body| body.start() < id_place.start());
    let mut splice = Splice::new(message.bytes(), id.len());
    if !is_after_body {
        splice.replace(id_place, id);
    }
    for member in removed {
        splice.remove_member(member);
    }
    if is_after_body {
        splice.replace(id_place, id);
    }
    Bytes::from(splice.finish())
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

#[cfg(test)]
mod tests;
