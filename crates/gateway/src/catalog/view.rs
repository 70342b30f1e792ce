//! The lists as those see them who may see the same.
//!
//! Clients that may see the same things share a view, whose pages are prepared once for each revision of the catalogue.
//! The entries of a list stand in one piece of memory, of which every page, prepared or cut where an old cursor points,
//! is a slice; both eras differ only in how a page ends. So a view takes little more than the bytes of its entries.

mod write;

use std::sync::Arc;

use bytes::Bytes;

use super::cursor::{Cursor, InvalidCursor, mark};
use super::kind::Kind;
use super::listing::Freshness;
use super::page::{Closing, Page};
use super::{Catalog, Item, links};

/// Through what a view sees the catalogue.
pub struct Lens<'a> {
    /// Whether an item is there at all.
    pub visible: &'a dyn Fn(Kind, &Item) -> bool,
    /// Members for the `_meta` of a tool (`"key":value,…`), such as its limits. They take the place of members with the
    /// same keys.
    pub decorate: &'a dyn Fn(&Item) -> Option<String>,
    /// Whether every client has this lens. Only then may a list be kept for all.
    pub for_everyone: bool,
    /// The JSON of what the gateway says of itself in modern results.
    pub server_info: Option<&'a str>,
    /// A template of the gateway's own, and its JSON; it stands last.
    pub own_template: Option<(&'a str, &'a str)>,
}

/// The lists as one class of clients sees them.
#[derive(Debug)]
pub struct View {
    lists: [List; 5],
}

/// One list.
#[derive(Debug)]
struct List {
    kind: Kind,
    /// All entries, each followed by a comma.
    entries: Bytes,
    /// Where each entry begins, and at last where the next one would.
    starts: Vec<usize>,
    exposed: Vec<Arc<str>>,
    freshness: Freshness,
    server_info: Option<String>,
    pages: Vec<Page>,
}

impl std::fmt::Debug for Lens<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Lens").field("for_everyone", &self.for_everyone).finish_non_exhaustive()
    }
}

impl Catalog {
    /// Prepares the lists for all who look through this lens.
    pub fn view(&self, lens: &Lens<'_>) -> View {
        View { lists: Kind::ALL.map(|kind| List::prepare(self, kind, lens)) }
    }

    /// One page for somebody who alone looks through this lens. Nothing of it is kept.
    pub fn page(&self, kind: Kind, cursor: Option<&str>, lens: &Lens<'_>) -> Result<Page, InvalidCursor> {
        List::prepare(self, kind, lens).page(cursor)
    }

    /// The least that all servers promise of this list. One that has never answered may do so at any moment.
    fn freshness(&self, kind: Kind) -> Freshness {
        let promised = self.listings().iter().filter_map(|listing| listing.freshness(kind));
        let mut least = promised.reduce(Freshness::least).unwrap_or(Freshness { ttl_ms: 0, public: false });
        if self.listings().iter().any(|listing| listing.greeting().is_none()) {
            least.ttl_ms = 0;
        }
        least
    }
}

impl View {
    /// The page at a cursor, or the first one.
    pub fn page(&self, kind: Kind, cursor: Option<&str>) -> Result<Page, InvalidCursor> {
        self.lists[kind.index()].page(cursor)
    }

    /// Whether a list is the same in another view, word for word.
    pub fn is_same(&self, other: &View, kind: Kind) -> bool {
        self.lists[kind.index()].entries == other.lists[kind.index()].entries
    }

    /// How many entries a list has.
    pub fn len(&self, kind: Kind) -> usize {
        self.lists[kind.index()].exposed.len()
    }

    /// Whether a list has no entries.
    pub fn is_empty(&self, kind: Kind) -> bool {
        self.len(kind) == 0
    }
}

impl List {
    fn prepare(catalog: &Catalog, kind: Kind, lens: &Lens<'_>) -> List {
        let items = catalog.items(kind);
        let seen: Vec<&Item> = items.iter().filter(|item| (lens.visible)(kind, item)).collect();
        let size: usize = seen.iter().map(|item| item.entry.raw().len() + item.exposed.len() + 1).sum();
        let mut entries = Vec::with_capacity(size);
        let mut starts = Vec::with_capacity(seen.len() + 1);
        for item in &seen {
            starts.push(entries.len());
            let decoration = if kind == Kind::Tool { (lens.decorate)(item) } else { None };
            match linked_skill(catalog, kind, item).filter(|skill| (lens.visible)(Kind::Resource, skill)) {
                None => write::entry(&mut entries, item, decoration.as_deref()),
                Some(skill) => {
                    let mut plain = Vec::new();
                    write::entry(&mut plain, item, decoration.as_deref());
                    entries.extend_from_slice(&links::described(&plain, &links::words(skill)));
                }
            }
            entries.push(b',');
        }
        let mut exposed: Vec<Arc<str>> = seen.iter().map(|item| item.exposed.clone()).collect();
        if let Some((own, json)) = lens.own_template.filter(|_| kind == Kind::Template) {
            starts.push(entries.len());
            entries.extend_from_slice(json.as_bytes());
            entries.push(b',');
            exposed.push(own.into());
        }
        starts.push(entries.len());
        let mut freshness = catalog.freshness(kind);
        freshness.public &= lens.for_everyone;
        let mut list = List {
            kind,
            entries: Bytes::from(entries),
            starts,
            exposed,
            freshness,
            server_info: lens.server_info.map(str::to_owned),
            pages: Vec::new(),
        };
        // An empty list has one page, too.
        let pages = (0..list.exposed.len().max(1)).step_by(kind.page_size());
        list.pages = pages.map(|start| list.cut(start)).collect();
        list
    }

    /// The page at a cursor, or the first one.
    fn page(&self, cursor: Option<&str>) -> Result<Page, InvalidCursor> {
        let start = match cursor {
            Some(cursor) => self.find(Cursor::read(cursor, self.kind)?),
            None => 0,
        };
        Ok(self.page_from(start))
    }

    /// Where the page begins that a cursor means. What an older catalogue had before it may be gone or elsewhere by now.
    fn find(&self, cursor: Cursor) -> usize {
        let position = cursor.position as usize;
        let is_behind =
            |at: usize| self.exposed.get(at).is_some_and(|exposed| mark(exposed) == cursor.behind);
        if position.checked_sub(1).is_some_and(is_behind) {
            return position;
        }
        match (0..self.exposed.len()).find(|at| is_behind(*at)) {
            Some(at) => at + 1,
            None => position.min(self.exposed.len()),
        }
    }

    fn page_from(&self, start: usize) -> Page {
        let prepared = start
            .is_multiple_of(self.kind.page_size())
            .then(|| self.pages.get(start / self.kind.page_size()));
        prepared.flatten().cloned().unwrap_or_else(|| self.cut(start))
    }

    /// Cuts the page that begins with an entry.
    fn cut(&self, start: usize) -> Page {
        let end = (start + self.kind.page_size()).min(self.exposed.len());
        let bytes = match (self.starts.get(start), self.starts.get(end)) {
            (Some(first), Some(behind)) if first < behind => self.entries.slice(*first..behind - 1),
            _ => Bytes::new(),
        };
        let more = end < self.exposed.len();
        let last = end.checked_sub(1).and_then(|last| self.exposed.get(last)).filter(|_| more);
        let next = last.map(|last| {
            let position = u32::try_from(end).unwrap_or(u32::MAX);
            Cursor { position, behind: mark(last) }.write(self.kind)
        });
        let closing = Closing { freshness: self.freshness, server_info: self.server_info.as_deref() };
        Page::new(self.kind, bytes, next.as_deref(), closing)
    }
}

/// The skill that says how a tool is used.
fn linked_skill<'a>(catalog: &'a Catalog, kind: Kind, item: &Item) -> Option<&'a Item> {
    let at = catalog.links.skill_of(&item.exposed).filter(|_| kind == Kind::Tool)?;
    catalog.items(Kind::Resource).get(at)
}

#[cfg(test)]
mod tests;
