//! The members of `params`, `result` and `error` that decisions are made on.

use crate::message::Kind;
use crate::scan::{Malformed, Scanner, Shape};
use crate::span::Span;
use crate::text;

/// A member of `params`, `result` or `error` whose place is noted in passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Field {
    Name,
    Uri,
    Arguments,
    Meta,
    Cursor,
    Ref,
    Level,
    RequestId,
    ProgressToken,
    TaskId,
    Task,
    Notifications,
    ProtocolVersion,
    Capabilities,
    ClientInfo,
    InputResponses,
    InputRequests,
    RequestState,
    ResultType,
    IsError,
    Content,
    StructuredContent,
    TtlMs,
    CacheScope,
    NextCursor,
    Code,
    Message,
    Data,
}

const FIELDS: [(&[u8], Field); 28] = [
    (b"name", Field::Name),
    (b"uri", Field::Uri),
    (b"arguments", Field::Arguments),
    (b"_meta", Field::Meta),
    (b"cursor", Field::Cursor),
    (b"ref", Field::Ref),
    (b"level", Field::Level),
    (b"requestId", Field::RequestId),
    (b"progressToken", Field::ProgressToken),
    (b"taskId", Field::TaskId),
    (b"task", Field::Task),
    (b"notifications", Field::Notifications),
    (b"protocolVersion", Field::ProtocolVersion),
    (b"capabilities", Field::Capabilities),
    (b"clientInfo", Field::ClientInfo),
    (b"inputResponses", Field::InputResponses),
    (b"inputRequests", Field::InputRequests),
    (b"requestState", Field::RequestState),
    (b"resultType", Field::ResultType),
    (b"isError", Field::IsError),
    (b"content", Field::Content),
    (b"structuredContent", Field::StructuredContent),
    (b"ttlMs", Field::TtlMs),
    (b"cacheScope", Field::CacheScope),
    (b"nextCursor", Field::NextCursor),
    (b"code", Field::Code),
    (b"message", Field::Message),
    (b"data", Field::Data),
];

/// A member of `_meta` whose place is noted in passing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum MetaField {
    ProgressToken,
    ProtocolVersion,
    ClientInfo,
    ClientCapabilities,
    LogLevel,
    SubscriptionId,
    ServerInfo,
    TraceParent,
}

const META_FIELDS: [(&str, MetaField); 8] = [
    ("progressToken", MetaField::ProgressToken),
    ("io.modelcontextprotocol/protocolVersion", MetaField::ProtocolVersion),
    ("io.modelcontextprotocol/clientInfo", MetaField::ClientInfo),
    ("io.modelcontextprotocol/clientCapabilities", MetaField::ClientCapabilities),
    ("io.modelcontextprotocol/logLevel", MetaField::LogLevel),
    ("io.modelcontextprotocol/subscriptionId", MetaField::SubscriptionId),
    ("io.modelcontextprotocol/serverInfo", MetaField::ServerInfo),
    ("traceparent", MetaField::TraceParent),
];

impl MetaField {
    /// The key under which it stands in `_meta`.
    pub fn key(self) -> &'static str {
        META_FIELDS[self as usize].0
    }
}

/// The places of all noted members of one message.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    body: [Option<Span>; FIELDS.len()],
    meta: [Option<Span>; META_FIELDS.len()],
}

impl Fields {
    /// Where a member stands.
    pub fn place(&self, field: Field) -> Option<Span> {
        self.body[field as usize]
    }

    /// Where a member of `_meta` stands.
    pub fn meta_place(&self, field: MetaField) -> Option<Span> {
        self.meta[field as usize]
    }

    /// Moves over the object the scanner stands at and notes its members, and those of its `_meta`.
    pub(super) fn scan(
        &mut self,
        bytes: &[u8],
        scanner: &mut Scanner<'_>,
        repeated: &mut Option<&'static str>,
    ) -> Result<(), Malformed> {
        let Fields { body, meta } = self;
        scanner.members(|scanner, key, escaped| {
            let known = with_key(bytes, key, escaped, |key| {
                FIELDS.iter().find(|(name, _)| *name == key).map(|(_, field)| *field)
            });
            let Some(field) = known else { return scanner.value().map(drop) };
            if body[field as usize].is_some() {
                *repeated = Some(std::str::from_utf8(FIELDS[field as usize].0).unwrap_or_default());
            }
            let is_meta = field == Field::Meta && scanner.peek() == Some(b'{');
            body[field as usize] = Some(if is_meta {
                let start = scanner.place();
                scan_meta(meta, bytes, scanner, repeated)?;
                Span::new(start, scanner.place())
            } else {
                scanner.value()?
            });
            Ok(())
        })
    }

    /// A noted member whose value has a shape that no revision allows; in words.
    pub(super) fn wrong_shape(&self, bytes: &[u8], kind: Kind) -> Option<&'static str> {
        let shape = |field| self.place(field).and_then(|place| Shape::of(place.of(bytes)));
        let other = |field, allowed| shape(field).is_some_and(|shape| shape != allowed);
        match kind {
            Kind::Request | Kind::Notification if other(Field::Meta, Shape::Object) => {
                Some("'params._meta' must be an object")
            }
            Kind::Result if other(Field::Meta, Shape::Object) => Some("'result._meta' must be an object"),
            Kind::Error if shape(Field::Code) != Some(Shape::Number) => Some("'error.code' must be a number"),
            _ => None,
        }
    }
}

fn scan_meta(
    meta: &mut [Option<Span>; META_FIELDS.len()],
    bytes: &[u8],
    scanner: &mut Scanner<'_>,
    repeated: &mut Option<&'static str>,
) -> Result<(), Malformed> {
    scanner.members(|scanner, key, escaped| {
        let known = with_key(bytes, key, escaped, |key| {
            META_FIELDS.iter().find(|(name, _)| name.as_bytes() == key).map(|(_, field)| *field)
        });
        let value = scanner.value()?;
        if let Some(field) = known {
            if meta[field as usize].is_some() {
                *repeated = Some(field.key());
            }
            meta[field as usize] = Some(value);
        }
        Ok(())
    })
}

fn with_key<T>(bytes: &[u8], key: Span, escaped: bool, look_up: impl FnOnce(&[u8]) -> T) -> T {
    let raw = key.of(bytes);
    match if escaped { text::unescape(raw) } else { None } {
        Some(resolved) => look_up(resolved.as_bytes()),
        None => look_up(raw),
    }
}
