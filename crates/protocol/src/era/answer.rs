//! A server's answer on its way to the client: under the client's id, in the client's era.
//!
//! Errors change only where the client's revision forbids the code. Two codes are left alone on purpose: -32042 of
//! 2025-11-25 (go to the URLs in `data.elicitations`, then ask again) has no modern form that a finished call could
//! take, and a modern client that shows message and data still tells its user what to do; and -32602 of a modern server
//! may mean a missing resource or a wrong argument, so it does not become -32002.

use bytes::Bytes;

use crate::era::Era;
use crate::message::{Field, Kind, Message, MetaField};
use crate::method::Method;
use crate::object::Object;
use crate::scan::Shape;
use crate::span::Span;
use crate::splice::Splice;

/// Room for what an answer may gain on its way.
const ADDED: usize = 160;

/// The answer as the client shall see it. `method` is what the client asked; `identity` is who answers it, as JSON: a
/// modern client is told with the results of legacy servers.
pub fn write(message: &Message, id: &[u8], method: Method, from: Era, to: Era, identity: &str) -> Bytes {
    let Some(id_place) = message.id_place() else { return message.bytes().clone() };
    let is_id_first = message.body_place().is_none_or(|body| id_place.start() < body.start());
    let mut splice = Splice::new(message.bytes(), id.len() + ADDED);
    if is_id_first {
        splice.replace(id_place, id);
    }
    match (message.kind(), from, to) {
        (Kind::Result, Era::Legacy, Era::Modern) => {
            result_made_modern(&mut splice, message, method, identity);
        }
        (Kind::Result, Era::Modern, Era::Legacy) => result_made_legacy(&mut splice, message, method),
        (Kind::Error, Era::Legacy, Era::Modern) => error_made_modern(&mut splice, message),
        _ => {}
    }
    if !is_id_first {
        splice.replace(id_place, id);
    }
    Bytes::from(splice.finish())
}

/// An answer of our own, written as a legacy server would, as a client of this era shall see it.
pub fn own(answer: Bytes, method: Method, to: Era, identity: &str) -> Bytes {
    match Message::parse(answer.clone()) {
        Ok(message) => {
            let id = message.id().unwrap_or(b"null").to_vec();
            write(&message, &id, method, Era::Legacy, to, identity)
        }
        Err(_) => answer,
    }
}

/// A result of a legacy server as a modern client wants it: with `resultType`, with who answers, and with how long it may
/// be kept where the method's result says so.
fn result_made_modern(splice: &mut Splice<'_>, message: &Message, method: Method, identity: &str) {
    let Some(result) = message.body_place() else { return };
    let meta = message.place(Field::Meta);
    let mut members = lacking(method, |field| message.place(field).is_some());
    let is_named = message.meta_place(MetaField::ServerInfo).is_some();
    let named = if is_named { String::new() } else { named(identity) };
    if meta.is_none() {
        push_member(&mut members, &format!(r#""_meta":{{{named}}}"#));
    }
    if !members.is_empty() {
        splice.insert_members(result, members.as_bytes());
    }
    let is_object = |meta: &Span| Shape::of(meta.of(message.bytes())) == Some(Shape::Object);
    if let (false, Some(meta)) = (is_named, meta.filter(is_object)) {
        splice.insert_members(meta, named.as_bytes());
    }
}

/// The members that a modern client wants and that a result does not have.
fn lacking(method: Method, has: impl Fn(Field) -> bool) -> String {
    let wanted = [
        (Field::ResultType, r#""resultType":"complete""#, true),
        (Field::TtlMs, r#""ttlMs":0"#, method.is_cacheable()),
        (Field::CacheScope, r#""cacheScope":"private""#, method.is_cacheable()),
    ];
    let mut lacking = String::new();
    for (_, member, _) in wanted.into_iter().filter(|(field, _, is_wanted)| *is_wanted && !has(*field)) {
        push_member(&mut lacking, member);
    }
    lacking
}

/// Who answers, as a member of `_meta`.
fn named(identity: &str) -> String {
    format!(r#""{}":{identity}"#, MetaField::ServerInfo.key())
}

fn push_member(members: &mut String, member: &str) {
    if !members.is_empty() {
        members.push(',');
    }
    members.push_str(member);
}

/// Takes out what only tells a modern client how to read and keep a result. Where a method's result has no lifetime by
/// the specification, members of that name are the server's own (a task has a `ttlMs`) and stay.
fn result_made_legacy(splice: &mut Splice<'_>, message: &Message, method: Method) {
    let modern: &[Field] = if method.is_cacheable() {
        &[Field::ResultType, Field::TtlMs, Field::CacheScope]
    } else {
        &[Field::ResultType]
    };
    for member in members(message, modern) {
        splice.remove_member(member);
    }
}

/// Where those of some members of the body stand that it has, key to value, in the order of their places.
fn members(message: &Message, fields: &[Field]) -> Vec<Span> {
    let there = fields.iter().filter(|field| message.place(**field).is_some());
    let mut members = match there.map(|field| plain_member(message, *field)).collect::<Option<Vec<_>>>() {
        Some(members) => members,
        None => escaped_members(message, fields),
    };
    members.sort_unstable_by_key(|member| member.start());
    members
}

/// A member whose key is written without escapes: found by looking back from its value.
fn plain_member(message: &Message, field: Field) -> Option<Span> {
    let value = message.place(field)?;
    let before = message.bytes().get(..value.start())?.trim_ascii_end().strip_suffix(b":")?;
    let key = before.trim_ascii_end().strip_suffix(b"\"")?.strip_suffix(field.key().as_bytes())?;
    let start = key.strip_suffix(b"\"")?.len();
    Some(Span::new(start, value.end()))
}

/// The same however the keys are written.
fn escaped_members(message: &Message, fields: &[Field]) -> Vec<Span> {
    let Some(body) = message.body_place() else { return Vec::new() };
    let Ok(object) = Object::parse(body.of(message.bytes())) else { return Vec::new() };
    let keys = fields.iter().map(|field| field.key()).collect::<Vec<_>>();
    object.places_of(&keys).map(|member| member.whole.shifted(body.start())).collect()
}

/// -32002 (resource not found) must not be sent in the modern era, where it is -32602.
fn error_made_modern(splice: &mut Splice<'_>, message: &Message) {
    if let Some(code) = message.place(Field::Code).filter(|code| code.of(message.bytes()) == b"-32002") {
        splice.replace(code, b"-32602");
    }
}

#[cfg(test)]
mod tests;
