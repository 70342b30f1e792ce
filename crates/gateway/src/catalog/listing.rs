//! What one server lists, taken in page by page.
//!
//! A server's answers are outside data: one bad entry must cost only itself, and no answer may make the list grow
//! without end. What is left out is told, never silently lost.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use toolgate_client::status::Greeting;
use toolgate_protocol::scan::{Malformed, Scanner};
use toolgate_protocol::{Era, Object, text};

use super::entry::{Annotations, Dropped, Entry, Found};
use super::kind::Kind;

/// How many entries of one kind are taken from one server.
const MAX_ENTRIES: usize = 10_000;
/// How many bytes of pages of one kind are taken from one server.
const MAX_BYTES: usize = 64 << 20;
/// How many pages of one kind are asked of one server, so that one that always promises another page comes to an end.
const MAX_PAGES: usize = 1_000;

/// All that one server lists, and what it said of itself. Cloning it copies no entries.
#[derive(Clone, Debug)]
pub struct Listing {
    server: Arc<str>,
    greeting: Option<Greeting>,
    over_http: bool,
    lists: [List; 5],
}

/// What became of a page.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// The cursor of the next page, where there is one and it should be asked for.
    pub next: Option<String>,
    /// What was left out of this page.
    pub dropped: Vec<Dropped>,
}

/// Why a page was not taken at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnusablePage {
    /// The result is not a JSON object.
    #[error("the list of server '{server}' is not valid: {cause}")]
    Malformed {
        /// Whose list it is.
        server: Arc<str>,
        /// What is wrong, and where.
        cause: Malformed,
    },
    /// The result has no list in it.
    #[error("the answer of server '{server}' has no '{key}'")]
    NoList {
        /// Whose answer it is.
        server: Arc<str>,
        /// The member that should hold the list.
        key: &'static str,
    },
}

/// How long, and by whom, a list may be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// For how many milliseconds.
    pub ttl_ms: u64,
    /// Whether it is the same for every user.
    pub public: bool,
}

#[derive(Clone, Debug, Default)]
struct List {
    entries: Vec<Arc<Entry>>,
    known: HashSet<Arc<str>>,
    freshness: Option<Freshness>,
    pages: usize,
    bytes: usize,
}

impl Listing {
    /// A listing without entries. `over_http` tells whether the server is reached by HTTP, where arguments may have to be
    /// repeated in headers.
    pub fn new(server: Arc<str>, greeting: Option<Greeting>, over_http: bool) -> Listing {
        Listing { server, greeting, over_http, lists: Default::default() }
    }

    /// The server's name.
    pub fn server(&self) -> &Arc<str> {
        &self.server
    }

    /// What the server said of itself when these lists were fetched.
    pub fn greeting(&self) -> Option<&Greeting> {
        self.greeting.as_ref()
    }

    /// The entries of one kind, in the server's order.
    pub fn entries(&self, kind: Kind) -> &[Arc<Entry>] {
        &self.lists[kind.index()].entries
    }

    /// How long the list of a kind may be kept; nothing where the server has given no such list.
    pub fn freshness(&self, kind: Kind) -> Option<Freshness> {
        self.lists[kind.index()].freshness
    }

    /// Whether the server gives resources, listed or not.
    pub fn has_resources(&self) -> bool {
        let declared = self.greeting.as_ref().is_some_and(|greeting| {
            Object::parse(&greeting.capabilities).is_ok_and(|object| object.get("resources").is_some())
        });
        declared || [Kind::Resource, Kind::Template].iter().any(|kind| !self.entries(*kind).is_empty())
    }

    /// Takes over the list of one kind from an earlier listing, where it has not changed since.
    pub fn keep(&mut self, kind: Kind, before: &Listing) {
        self.lists[kind.index()] = before.lists[kind.index()].clone();
    }

    /// Drops what has been taken in of one kind, as if nothing had been listed.
    pub fn forget(&mut self, kind: Kind) {
        self.lists[kind.index()] = List::default();
    }

    /// Takes in the `result` of one page.
    pub fn add_page(&mut self, kind: Kind, result: &Bytes) -> Result<Added, UnusablePage> {
        let page = match ScannedPage::scan(result, kind) {
            Ok(Some(page)) => page,
            Ok(None) => {
                return Err(UnusablePage::NoList { server: self.server.clone(), key: kind.list_key() });
            }
            Err(cause) => return Err(UnusablePage::Malformed { server: self.server.clone(), cause }),
        };
        let annotations = self.annotations();
        let list = &mut self.lists[kind.index()];
        list.freshen(page.freshness());
        list.pages += 1;
        let mut added = Added { next: page.next, dropped: Vec::new() };
        if list.bytes + result.len() > MAX_BYTES {
            added.stop(kind, format!("the lists of one server may have at most {MAX_BYTES} bytes"));
            return Ok(added);
        }
        list.bytes += result.len();
        list.take(page.found, result, kind, annotations, &mut added);
        if page.cut {
            added.stop(kind, format!("a page may have at most {MAX_ENTRIES}"));
        }
        if added.next.is_some() && list.pages >= MAX_PAGES {
            added.stop(kind, format!("a server may give at most {MAX_PAGES} pages"));
        }
        Ok(added)
    }

    /// Whether the server is reached by HTTP.
    pub(super) fn over_http(&self) -> bool {
        self.over_http
    }

    fn annotations(&self) -> Annotations {
        let modern = self.greeting.as_ref().is_some_and(|greeting| greeting.era == Era::Modern);
        if modern && self.over_http { Annotations::Binding } else { Annotations::Advisory }
    }
}

impl List {
    fn take(
        &mut self,
        found: Vec<Found>,
        page: &Bytes,
        kind: Kind,
        annotations: Annotations,
        added: &mut Added,
    ) {
        let (elements, mut repeated) = (found.len(), 0);
        for found in found {
            if self.entries.len() == MAX_ENTRIES {
                return added.stop(kind, format!("a server may list at most {MAX_ENTRIES}"));
            }
            match found.judge(page, kind, annotations) {
                Ok(entry) if self.known.insert(entry.native().clone()) => self.entries.push(Arc::new(entry)),
                Ok(entry) => {
                    repeated += 1;
                    let what = format!("{} '{}'", kind.noun(), entry.native());
                    added.dropped.push(Dropped { what, why: "is listed twice; the first one counts".into() });
                }
                Err(dropped) => added.dropped.push(dropped),
            }
        }
        // A server that overlooks the cursor gives the same page for ever.
        if added.next.is_some() && repeated > 0 && repeated == elements {
            added.dropped.clear();
            added.stop(kind, "the server gave a page of nothing but what it had listed already".into());
        }
    }

    fn freshen(&mut self, page: Freshness) {
        let before = self.freshness.unwrap_or(page);
        self.freshness = Some(before.least(page));
    }
}

impl Added {
    fn stop(&mut self, kind: Kind, why: String) {
        self.next = None;
        self.dropped.push(Dropped { what: format!("every further {}", kind.noun()), why });
    }
}

impl Freshness {
    /// What holds for both.
    pub(super) fn least(self, other: Freshness) -> Freshness {
        Freshness { ttl_ms: self.ttl_ms.min(other.ttl_ms), public: self.public && other.public }
    }
}

/// A page after the one pass over it.
struct ScannedPage {
    found: Vec<Found>,
    /// Whether it had more elements than are looked at.
    cut: bool,
    next: Option<String>,
    ttl_ms: Option<u64>,
    public: bool,
}

impl ScannedPage {
    /// Nothing where the page has no list of this kind.
    fn scan(result: &[u8], kind: Kind) -> Result<Option<ScannedPage>, Malformed> {
        let mut page = ScannedPage { found: Vec::new(), cut: false, next: None, ttl_ms: None, public: false };
        let mut list_seen = false;
        let mut scanner = Scanner::new(result)?;
        scanner.members(|scanner, key, _| {
            let key = key.of(result);
            if key == kind.list_key().as_bytes() && scanner.peek() == Some(b'[') {
                list_seen = true;
                page.found.clear();
                return scanner.elements(|scanner| {
                    if page.found.len() == MAX_ENTRIES {
                        page.cut = true;
                        return scanner.value().map(drop);
                    }
                    page.found.push(Found::scan(result, scanner, kind)?);
                    Ok(())
                });
            }
            let value = scanner.value()?.of(result);
            match key {
                b"nextCursor" => page.next = text::string(value).map(String::from),
                b"ttlMs" => page.ttl_ms = whole_number(value),
                b"cacheScope" => page.public = value == b"\"public\"",
                _ => {}
            }
            Ok(())
        })?;
        scanner.end()?;
        Ok(list_seen.then_some(page))
    }

    /// A server that says nothing promises nothing: its list is stale at once and nobody else's.
    fn freshness(&self) -> Freshness {
        Freshness { ttl_ms: self.ttl_ms.unwrap_or(0), public: self.public }
    }
}

fn whole_number(value: &[u8]) -> Option<u64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
