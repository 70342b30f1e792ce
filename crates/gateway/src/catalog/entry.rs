//! One entry of a server's list: its bytes and the places that matter in them.
//!
//! Lists are long and read again whenever a server says that they changed, so an entry is found, checked and taken
//! apart in the same single pass that checks the grammar of the page around it.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use toolgate_governance::Micros;
use toolgate_protocol::header::parameter::{self, Annotation};
use toolgate_protocol::scan::{Malformed, Scanner, Shape};
use toolgate_protocol::{Span, object, text};

use super::digest::Digest;
use super::kind::Kind;

/// A tool, prompt, resource or template as its server wrote it.
#[derive(Clone, Debug)]
pub struct Entry {
    raw: Bytes,
    native: Arc<str>,
    identity: Span,
    meta: Option<Span>,
    input_schema: Option<Span>,
    annotations: Vec<Annotation>,
    price: Option<Micros>,
    digest: u64,
}

/// Something that a server listed and that is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// What: its kind and, where it has one, its name.
    pub what: String,
    /// Why not.
    pub why: String,
}

impl Entry {
    /// The JSON object, byte for byte as the server sent it.
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// The name, URI or URI template by which the server knows it.
    pub fn native(&self) -> &Arc<str> {
        &self.native
    }

    /// The JSON of a tool's input schema; nothing for other kinds.
    pub fn input_schema(&self) -> Option<Bytes> {
        self.input_schema.map(|place| self.raw.slice(place.start()..place.end()))
    }

    /// The arguments of a tool that are repeated in `Mcp-Param-…` headers.
    pub fn annotations(&self) -> &[Annotation] {
        &self.annotations
    }

    /// What it says it costs, in its `_meta`.
    pub fn price(&self) -> Option<Micros> {
        self.price
    }

    /// The text under a key of its `_meta`.
    pub fn meta_text(&self, key: &str) -> Option<Cow<'_, str>> {
        text::string(object::value_of(self.meta?.of(&self.raw), key)?)
    }

    /// Whether its `_meta` has a key.
    pub fn has_meta(&self, key: &str) -> bool {
        self.meta.is_some_and(|meta| object::value_of(meta.of(&self.raw), key).is_some())
    }

    /// Where the name or URI stands, with its quotation marks.
    pub(super) fn identity_place(&self) -> Span {
        self.identity
    }

    /// Where `_meta` stands.
    pub(super) fn meta_place(&self) -> Option<Span> {
        self.meta
    }

    /// A digest of its bytes.
    pub(super) fn digest(&self) -> u64 {
        self.digest
    }
}

/// How strictly a tool's `x-mcp-header` annotations are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Annotations {
    /// The server wants the headers: a tool whose annotations are invalid must not be offered.
    Binding,
    /// The server reads no headers: invalid annotations are as good as none.
    Advisory,
}

/// The price that a `_meta` names: decimal text, which can be read exactly.
fn price_in(meta: &[u8]) -> Option<Micros> {
    let price = text::string(object::value_of(meta, "io.toolgate/price")?)?;
    Micros::from_units(price.parse().ok()?)
}

/// What one element of a list turned out to be.
pub(super) struct Found {
    whole: Span,
    object: bool,
    identity: Option<Span>,
    schema: Option<Span>,
    meta: Option<Span>,
    repeated: Option<&'static str>,
}

impl Found {
    /// Moves over one element of a page and notes what stands where.
    pub(super) fn scan(page: &[u8], scanner: &mut Scanner<'_>, kind: Kind) -> Result<Found, Malformed> {
        let object = scanner.peek() == Some(b'{');
        let start = scanner.place();
        let mut found = Found {
            whole: Span::new(start, start),
            object,
            identity: None,
            schema: None,
            meta: None,
            repeated: None,
        };
        if object {
            scanner.members(|scanner, key, escaped| {
                let raw = key.of(page);
                let resolved = if escaped { text::unescape(raw) } else { None };
                let value = scanner.value()?;
                found.member(kind, resolved.as_deref().map_or(raw, str::as_bytes), value);
                Ok(())
            })?;
        } else {
            scanner.value()?;
        }
        found.whole = Span::new(start, scanner.place());
        Ok(found)
    }

    /// The entry, or why it cannot be offered.
    pub(super) fn judge(self, page: &Bytes, kind: Kind, annotations: Annotations) -> Result<Entry, Dropped> {
        let identity_key = kind.identity_key();
        let nameless = |why: String| Dropped { what: format!("a {}", kind.noun()), why };
        if !self.object {
            return Err(nameless("is not an object".into()));
        }
        let Some(identity) = self.identity else { return Err(nameless(format!("has no '{identity_key}'"))) };
        let Some(native) = text::string(identity.of(page)).filter(|native| !native.is_empty()) else {
            return Err(nameless(format!(
                "has a '{identity_key}' that is not a text of at least one character"
            )));
        };
        let named = |why: String| Dropped { what: format!("{} '{native}'", kind.noun()), why };
        if let Some(key) = self.repeated {
            return Err(named(format!("has '{key}' twice, which readers understand differently")));
        }
        if kind == Kind::Tool
            && self.schema.is_none_or(|place| Shape::of(place.of(page)) != Some(Shape::Object))
        {
            return Err(named("has no 'inputSchema' that is an object".into()));
        }
        let annotated = match self.schema.map(|place| parameter::annotations(place.of(page))) {
            Some(Ok(annotated)) => annotated,
            Some(Err(invalid)) if annotations == Annotations::Binding => {
                return Err(named(invalid.to_string()));
            }
            Some(Err(_)) | None => Vec::new(),
        };
        let raw = page.slice(self.whole.start()..self.whole.end());
        Ok(Entry {
            native: Arc::from(native.as_ref()),
            identity: identity.within(self.whole),
            meta: self.meta.map(|place| place.within(self.whole)),
            input_schema: self.schema.map(|place| place.within(self.whole)),
            annotations: annotated,
            price: self.meta.and_then(|place| price_in(place.of(page))),
            digest: Digest::new("entry").part(&raw).short(),
            raw,
        })
    }

    fn member(&mut self, kind: Kind, key: &[u8], value: Span) {
        let (slot, name) = match key {
            b"_meta" => (&mut self.meta, "_meta"),
            b"inputSchema" if kind == Kind::Tool => (&mut self.schema, "inputSchema"),
            key if key == kind.identity_key().as_bytes() => (&mut self.identity, kind.identity_key()),
            _ => return,
        };
        if slot.replace(value).is_some() {
            self.repeated = Some(name);
        }
    }
}
