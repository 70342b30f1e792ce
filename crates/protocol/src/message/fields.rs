//! The members of `params`, `result` and `error` that decisions are made on.

use crate::message::Kind;
use crate::scan::{Malformed, Scanner, Shape};
use crate::span::Span;
use crate::text;

/// A closed set of member names, each written once. Looking a key up compares lengths that are known to the compiler,
/// and bytes only where the length is right; a search through a table of slices must load each of them.
macro_rules! member_names {
    ($(#[$about:meta])* $set:ident { $($member:ident = $name:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $set {
            $(#[doc = concat!("`", $name, "`")] $member,)+
        }

        impl $set {
            /// All of them, in the order of their declaration.
            pub const ALL: [$set; [$($name),+].len()] = [$($set::$member),+];

            /// The key under which it stands.
            pub const fn key(self) -> &'static str {
                match self {
                    $($set::$member => $name,)+
                }
            }

            fn named(key: &[u8]) -> Option<$set> {
                $(if key == $name.as_bytes() {
                    return Some($set::$member);
                })+
                None
            }
        }
    };
}

member_names! {
    /// A member of `params`, `result` or `error` whose place is noted in passing.
    Field {
        Name = "name",
        Uri = "uri",
        Arguments = "arguments",
        Meta = "_meta",
        Cursor = "cursor",
        Ref = "ref",
        Level = "level",
        RequestId = "requestId",
        ProgressToken = "progressToken",
        TaskId = "taskId",
        Task = "task",
        Notifications = "notifications",
        ProtocolVersion = "protocolVersion",
        Capabilities = "capabilities",
        ClientInfo = "clientInfo",
        InputResponses = "inputResponses",
        InputRequests = "inputRequests",
        RequestState = "requestState",
        ResultType = "resultType",
        IsError = "isError",
        Content = "content",
        StructuredContent = "structuredContent",
        TtlMs = "ttlMs",
        CacheScope = "cacheScope",
        NextCursor = "nextCursor",
        Code = "code",
        Message = "message",
        Data = "data",
    }
}

member_names! {
    /// A member of `_meta` whose place is noted in passing.
    MetaField {
        ProgressToken = "progressToken",
        ProtocolVersion = "io.modelcontextprotocol/protocolVersion",
        ClientInfo = "io.modelcontextprotocol/clientInfo",
        ClientCapabilities = "io.modelcontextprotocol/clientCapabilities",
        LogLevel = "io.modelcontextprotocol/logLevel",
        SubscriptionId = "io.modelcontextprotocol/subscriptionId",
        ServerInfo = "io.modelcontextprotocol/serverInfo",
        TraceParent = "traceparent",
        Narrow = "io.toolgate/narrow",
    }
}

/// The places of all noted members of one message.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    body: [Option<Span>; Field::ALL.len()],
    meta: [Option<Span>; MetaField::ALL.len()],
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
            let known = with_key(bytes, key, escaped, Field::named);
            let Some(field) = known else { return scanner.value().map(drop) };
            if body[field as usize].is_some() {
                *repeated = Some(field.key());
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
        let meta = shape(Field::Meta).unwrap_or(Shape::Object);
        match kind {
            Kind::Request | Kind::Notification if meta != Shape::Object => {
                Some("'params._meta' must be an object")
            }
            // `null` is wrong too, but nothing here reads it, and the client would lose the whole answer.
            Kind::Result if !matches!(meta, Shape::Object | Shape::Null) => {
                Some("'result._meta' must be an object")
            }
            Kind::Error if shape(Field::Code) != Some(Shape::Number) => Some("'error.code' must be a number"),
            _ => None,
        }
    }
}

fn scan_meta(
    meta: &mut [Option<Span>; MetaField::ALL.len()],
    bytes: &[u8],
    scanner: &mut Scanner<'_>,
    repeated: &mut Option<&'static str>,
) -> Result<(), Malformed> {
    scanner.members(|scanner, key, escaped| {
        let known = with_key(bytes, key, escaped, MetaField::named);
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
