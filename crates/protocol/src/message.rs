//! One JSON-RPC message: its bytes and the places of the parts that decisions are made on.

mod fields;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;

pub use fields::{Field, Fields, MetaField};

use crate::error::{Code, ErrorReply};
use crate::method::Method;
use crate::scan::{Malformed, Scanner, Shape};
use crate::span::Span;
use crate::text;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It wants an answer: `method` and `id`.
    Request,
    /// It wants none: `method` without `id`.
    Notification,
    /// An answer that went well.
    Result,
    /// An answer that says what went wrong.
    Error,
}

/// A message that has been looked through once. Cloning it copies no bytes, and it is small: a message is handed from
/// stage to stage, and the table of its places would be copied each time.
#[derive(Clone, Debug)]
pub struct Message {
    bytes: Bytes,
    places: Arc<Places>,
}

/// What a message is, and where its parts stand.
#[derive(Debug)]
struct Places {
    kind: Kind,
    id: Option<Span>,
    method: Option<(Method, Span)>,
    body: Option<Span>,
    fields: Fields,
}

/// Why bytes are not a message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not JSON (-32700).
    #[error("{0}")]
    NotJson(#[from] Malformed),
    /// JSON, but not a JSON-RPC message (-32600). The id is told where one could be read.
    #[error("{what}")]
    NotAMessage { what: String, id: Option<Bytes> },
    /// An array of messages, which only one revision allows; see [`split_batch`].
    #[error("a batch of messages is not allowed here: send each message by itself")]
    Batch,
}

impl Unreadable {
    /// The id of the message, where one could be read.
    pub fn id(&self) -> Option<&[u8]> {
        match self {
            Unreadable::NotAMessage { id, .. } => id.as_deref(),
            Unreadable::NotJson(_) | Unreadable::Batch => None,
        }
    }

    /// What the sender is told.
    pub fn reply(&self) -> ErrorReply {
        match self {
            Unreadable::NotJson(_) => ErrorReply::new(Code::ParseError, format!("Parse error: {self}")),
            Unreadable::NotAMessage { .. } | Unreadable::Batch => {
                ErrorReply::new(Code::InvalidRequest, format!("Invalid request: {self}"))
            }
        }
    }
}

impl Message {
    /// Looks through `bytes` once.
    pub fn parse(bytes: Bytes) -> Result<Message, Unreadable> {
        let mut scanner = Scanner::new(&bytes)?;
        match scanner.peek() {
            Some(b'[') => {
                scanner.value()?;
                scanner.end()?;
                return Err(Unreadable::Batch);
            }
            Some(b'{') => {}
            None => return Err(Malformed::new("the text is empty", 0).into()),
            Some(_) => {
                scanner.value()?;
                scanner.end()?;
                return Err(not_a_message("a message must be a JSON object", None));
            }
        }
        let mut found = Found::default();
        scanner.members(|scanner, key, escaped| found.member(&bytes, scanner, key, escaped))?;
        scanner.end()?;
        found.judge(bytes)
    }

    /// What it is.
    pub fn kind(&self) -> Kind {
        self.places.kind
    }

    /// All of it, as it came.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The id as it was written: a number or a string with its quotation marks.
    pub fn id(&self) -> Option<&[u8]> {
        self.places.id.map(|place| place.of(&self.bytes))
    }

    /// Where the id stands.
    pub fn id_place(&self) -> Option<Span> {
        self.places.id
    }

    /// The method of a request or notification. A name that no text can hold is unknown, like any other odd name.
    pub fn method(&self) -> Option<Method> {
        self.places.method.map(|(method, _)| method)
    }

    /// The method as it was written, escapes resolved; nothing where it has half a surrogate pair.
    pub fn method_name(&self) -> Option<Cow<'_, str>> {
        self.places.method.and_then(|(_, place)| text::unescape(place.inside().of(&self.bytes)))
    }

    /// Where `params`, `result` or `error` stands.
    pub fn body_place(&self) -> Option<Span> {
        self.places.body
    }

    /// `params`, `result` or `error` as it came.
    pub fn body(&self) -> Option<&[u8]> {
        self.places.body.map(|place| place.of(&self.bytes))
    }

    /// The same without copying.
    pub fn body_bytes(&self) -> Option<Bytes> {
        self.places.body.map(|place| self.bytes.slice(place.start()..place.end()))
    }

    /// Where a member of `params`, `result` or `error` stands.
    pub fn place(&self, field: Field) -> Option<Span> {
        self.places.fields.place(field)
    }

    /// A member of `params`, `result` or `error` as it came.
    pub fn field(&self, field: Field) -> Option<&[u8]> {
        self.place(field).map(|place| place.of(&self.bytes))
    }

    /// The same without copying.
    pub fn field_bytes(&self, field: Field) -> Option<Bytes> {
        self.place(field).map(|place| self.bytes.slice(place.start()..place.end()))
    }

    /// Whether this is an answer by which a modern server asks for input.
    pub fn wants_input(&self) -> bool {
        self.field(Field::ResultType) == Some(br#""input_required""#.as_slice())
    }

    /// A member that is a string, as text.
    pub fn field_text(&self, field: Field) -> Option<Cow<'_, str>> {
        self.field(field).and_then(text::string)
    }

    /// Where a member of `_meta` stands.
    pub fn meta_place(&self, field: MetaField) -> Option<Span> {
        self.places.fields.meta_place(field)
    }

    /// A member of `_meta` as it came.
    pub fn meta(&self, field: MetaField) -> Option<&[u8]> {
        self.meta_place(field).map(|place| place.of(&self.bytes))
    }

    /// A member of `_meta` that is a string, as text.
    pub fn meta_text(&self, field: MetaField) -> Option<Cow<'_, str>> {
        self.meta(field).and_then(text::string)
    }
}

/// The messages of a batch, each looked through by itself. `limit` bounds how many are taken.
pub fn split_batch(bytes: &Bytes, limit: usize) -> Result<Vec<Result<Message, Unreadable>>, Unreadable> {
    let mut places = Vec::new();
    let mut scanner = Scanner::new(bytes)?;
    scanner.elements(|scanner| {
        places.push(scanner.value()?);
        Ok(())
    })?;
    scanner.end()?;
    if places.is_empty() {
        return Err(not_a_message("a batch must have at least one message", None));
    }
    if places.len() > limit {
        return Err(not_a_message(format!("a batch may have at most {limit} messages"), None));
    }
    Ok(places.into_iter().map(|place| Message::parse(bytes.slice(place.start()..place.end()))).collect())
}

fn not_a_message(what: impl Into<String>, id: Option<Bytes>) -> Unreadable {
    Unreadable::NotAMessage { what: what.into(), id }
}

/// What the pass has met so far at the top of a message.
#[derive(Default)]
struct Found {
    version: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    params: Option<Span>,
    result: Option<Span>,
    error: Option<Span>,
    fields: Fields,
    repeated: Option<&'static str>,
}

impl Found {
    fn member(
        &mut self,
        bytes: &[u8],
        scanner: &mut Scanner<'_>,
        key: Span,
        escaped: bool,
    ) -> Result<(), Malformed> {
        let raw = key.of(bytes);
        let resolved = if escaped { text::unescape(raw) } else { None };
        let key = resolved.as_deref().map_or(raw, str::as_bytes);
        let (slot, name, object) = match key {
            b"jsonrpc" => (&mut self.version, "jsonrpc", false),
            b"id" => (&mut self.id, "id", false),
            b"method" => (&mut self.method, "method", false),
            b"params" => (&mut self.params, "params", true),
            b"result" => (&mut self.result, "result", true),
            b"error" => (&mut self.error, "error", true),
            _ => return scanner.value().map(drop),
        };
        if slot.is_some() {
            self.repeated = Some(name);
        }
        *slot = Some(if object && scanner.peek() == Some(b'{') {
            let start = scanner.place();
            self.fields.scan(bytes, scanner, &mut self.repeated)?;
            Span::new(start, scanner.place())
        } else {
            scanner.value()?
        });
        Ok(())
    }

    fn judge(self, bytes: Bytes) -> Result<Message, Unreadable> {
        let shape = |place: Option<Span>| place.and_then(|place| Shape::of(place.of(&bytes)));
        // An id that no message may have is not repeated either: the refusal would be no message itself.
        let id = self.id.filter(|place| is_id(place.of(&bytes)));
        let refuse =
            |what: &str| Err(not_a_message(what, id.map(|place| bytes.slice(place.start()..place.end()))));
        // Nobody writes it with escapes, but one may.
        let is_version = |text: &[u8]| text == br#""2.0""# || text::string(text).as_deref() == Some("2.0");
        if !self.version.is_some_and(|place| is_version(place.of(&bytes))) {
            return refuse(r#"'jsonrpc' must be "2.0""#);
        }
        if let Some(name) = self.repeated {
            return refuse(&format!("'{name}' is written twice"));
        }
        if let (Some(place), None) = (self.id, id) {
            let may_be_null = self.error.is_some() && self.method.is_none();
            match Shape::of(place.of(&bytes)) {
                Some(Shape::Null) if may_be_null => {}
                Some(Shape::Null) => return refuse("'id' must not be null"),
                Some(Shape::Number) => {
                    return refuse("'id' must be a string or a whole number, not a fraction");
                }
                _ => return refuse("'id' must be a string or a whole number"),
            }
        }
        let (kind, body) = match (self.method, self.result, self.error) {
            (Some(_), None, None) => {
                if shape(self.method) != Some(Shape::String) {
                    return refuse("'method' must be a string");
                }
                if self.params.is_some() && shape(self.params) != Some(Shape::Object) {
                    return refuse("'params' must be an object");
                }
                let kind = if self.id.is_some() { Kind::Request } else { Kind::Notification };
                (kind, self.params)
            }
            (None, Some(_), None) if self.id.is_some() => {
                if shape(self.result) != Some(Shape::Object) {
                    return refuse("'result' must be an object");
                }
                (Kind::Result, self.result)
            }
            (None, Some(_), None) => return refuse("an answer must have an 'id'"),
            (None, None, Some(_)) => {
                if shape(self.error) != Some(Shape::Object) {
                    return refuse("'error' must be an object");
                }
                (Kind::Error, self.error)
            }
            (None, None, None) => return refuse("'method' is missing"),
            _ => return refuse("a message has one of 'method', 'result' and 'error'"),
        };
        if self.params.is_some() && self.method.is_none() {
            // The places of its members would be taken for those of the answer.
            return refuse("an answer must not have 'params'");
        }
        if let Some(field) = self.fields.wrong_shape(&bytes, kind) {
            return refuse(field);
        }
        let method = self.method.map(|place| (Method::written(place.inside().of(&bytes)), place));
        let places = Places { kind, id, method, body, fields: self.fields };
        Ok(Message { bytes, places: Arc::new(places) })
    }
}

/// An id is a string or a whole number, however that is written: `1e3` is one. (`null` stands where an error could not tell
/// which request it is for.)
fn is_id(value: &[u8]) -> bool {
    match Shape::of(value) {
        Some(Shape::String) => true,
        Some(Shape::Number) => {
            let digits = |byte: &u8| byte.is_ascii_digit() || *byte == b'-';
            let by_value = || std::str::from_utf8(value).ok()?.parse::<f64>().ok();
            value.iter().all(digits) || by_value().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
