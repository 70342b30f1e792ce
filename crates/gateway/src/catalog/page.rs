//! One page of a list, ready to be sent: an answer is its request's id and three pieces of prepared bytes.

use bytes::Bytes;
use toolgate_protocol::{Era, text};

use super::kind::Kind;
use super::listing::Freshness;

/// A page of a list. Cloning it copies no bytes; the entries are shared with the whole list.
#[derive(Clone, Debug)]
pub struct Page {
    head: &'static [u8],
    entries: Bytes,
    legacy_tail: Bytes,
    modern_tail: Bytes,
}

/// What is the same on all pages of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Closing<'a> {
    pub(super) freshness: Freshness,
    /// The JSON of what the gateway says of itself in results.
    pub(super) server_info: Option<&'a str>,
}

impl Page {
    /// The page with these entries (without brackets), followed by the page at `next`.
    pub(super) fn new(kind: Kind, entries: Bytes, next: Option<&str>, closing: Closing<'_>) -> Page {
        let next = next.map(|next| format!(r#","nextCursor":{}"#, text::quote(next))).unwrap_or_default();
        let info = closing
            .server_info
            .map(|info| format!(r#","_meta":{{"io.modelcontextprotocol/serverInfo":{info}}}"#))
            .unwrap_or_default();
        let Freshness { ttl_ms, public } = closing.freshness;
        let scope = if public { "public" } else { "private" };
        let modern =
            format!(r#"]{next},"resultType":"complete","ttlMs":{ttl_ms},"cacheScope":"{scope}"{info}}}"#);
        Page {
            head: head(kind),
            entries,
            legacy_tail: Bytes::from(format!("]{next}}}")),
            modern_tail: Bytes::from(modern),
        }
    }

    /// The whole answer to the request with this id.
    pub fn answer(&self, id: &[u8], era: Era) -> Bytes {
        let tail = self.tail(era);
        let parts: [&[u8]; 7] =
            [br#"{"jsonrpc":"2.0","id":"#, id, br#","result":"#, self.head, &self.entries, tail, b"}"];
        joined(&parts)
    }

    /// The JSON of the result alone.
    pub fn result(&self, era: Era) -> Bytes {
        joined(&[self.head, &self.entries, self.tail(era)])
    }

    fn tail(&self, era: Era) -> &[u8] {
        match era {
            Era::Legacy => &self.legacy_tail,
            Era::Modern => &self.modern_tail,
        }
    }
}

fn head(kind: Kind) -> &'static [u8] {
    match kind {
        Kind::Tool => br#"{"tools":["#,
        Kind::Prompt => br#"{"prompts":["#,
        Kind::Resource => br#"{"resources":["#,
        Kind::Template => br#"{"resourceTemplates":["#,
        Kind::Skill => br#"{"skills":["#,
    }
}

fn joined(parts: &[&[u8]]) -> Bytes {
    Bytes::from(parts.concat())
}
