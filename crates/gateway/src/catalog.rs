//! What all servers offer, as clients see it.
//!
//! A [`Catalog`] is an immutable snapshot: made from the [`Listing`]s of all servers whenever one changes, swapped as a
//! whole, shared by everyone who reads it. It answers two questions without work that grows with its size: what is
//! behind a name or URI, and, through a [`View`], what are the bytes of a page for those who may see this much.
//! Entries stay the bytes that their servers sent; only the exposed name is put in.

mod cursor;
mod digest;
mod entry;
mod folders;
mod kind;
mod links;
mod listing;
mod memory;
mod merge;
mod naming;
mod page;
mod templates;
mod uris;
mod view;

use std::collections::BTreeMap;
use std::sync::Arc;

use foldhash::HashMap;

pub use cursor::InvalidCursor;
pub use entry::{Dropped, Entry};
pub use kind::Kind;
pub use listing::{Added, Freshness, Listing, UnusablePage};
pub use memory::{Memory, MemoryError};
pub use naming::Naming;
pub use page::Page;
pub use view::{Lens, View};

use links::Links;
use templates::Template;

/// Everything that is offered, by all servers, under the names that clients use.
#[derive(Debug)]
pub struct Catalog {
    revision: u64,
    listings: Vec<Arc<Listing>>,
    shelves: [Shelf; 5],
    /// In the order of the items of [`Kind::Template`].
    templates: Vec<Template>,
    first_holders: HashMap<Arc<str>, usize>,
    links: Links,
    only_with_resources: Option<usize>,
    clashes: Vec<Clash>,
}

/// One entry under its exposed name.
#[derive(Clone, Debug)]
pub struct Item {
    server: usize,
    server_name: Arc<str>,
    exposed: Arc<str>,
    entry: Arc<Entry>,
}

/// Where a request for a URI goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The place of the server among the merged listings.
    pub server: usize,
    /// Its name.
    pub server_name: Arc<str>,
    /// The URI as the server knows it.
    pub native: Arc<str>,
    /// The document of the skill that it is a file or folder of, where it is one.
    pub skill: Option<Arc<str>>,
}

/// An entry that could not have the name it would have had alone. Worth a warning: the name is less telling now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clash {
    /// What it is.
    pub kind: Kind,
    /// Whose it is.
    pub server: Arc<str>,
    /// The name that its server gave it.
    pub native: Arc<str>,
    /// The name it has instead.
    pub exposed: Arc<str>,
}

/// Which lists differ between two catalogues, as the `list_changed` notifications group them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changed {
    /// Tools.
    pub tools: bool,
    /// Prompts.
    pub prompts: bool,
    /// Resources or templates.
    pub resources: bool,
}

/// All items of one kind.
#[derive(Debug)]
struct Shelf {
    items: Vec<Item>,
    by_exposed: HashMap<Arc<str>, usize>,
    clashed: Vec<usize>,
    digest: u64,
}

impl Catalog {
    /// Tells catalogues with different content apart; the same after a restart.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The listings it was made from, in the order of the servers.
    pub fn listings(&self) -> &[Arc<Listing>] {
        &self.listings
    }

    /// All items of a kind: servers in their order, entries in the server's order.
    pub fn items(&self, kind: Kind) -> &[Item] {
        &self.shelf(kind).items
    }

    /// Entries whose names clashed with others.
    pub fn clashes(&self) -> &[Clash] {
        &self.clashes
    }

    /// The tool with this exposed name.
    pub fn tool(&self, exposed: &str) -> Option<&Item> {
        self.item(Kind::Tool, exposed)
    }

    /// The prompt with this exposed name.
    pub fn prompt(&self, exposed: &str) -> Option<&Item> {
        self.item(Kind::Prompt, exposed)
    }

    /// Where a URI is read or subscribed to: at the server that lists it, that has the best fitting template, or that is
    /// the only one with resources at all.
    pub fn resource(&self, uri: &str) -> Option<Route> {
        self.known_resource(uri).or_else(|| self.only_server(uri))
    }

    /// The same with more skills of tools: their URIs by the exposed names of the tools. They count more than what the
    /// servers of the tools say.
    pub fn with_skills(mut self, skills: &BTreeMap<String, String>) -> Catalog {
        let mut links = std::mem::take(&mut self.links);
        links.add_skills(
            self.items(Kind::Resource),
            skills.iter().map(|(tool, uri)| (tool.as_str(), uri.as_str())),
        );
        self.links = links;
        self
    }

    /// Where a skill is asked about: at the server that lists it.
    pub fn skill(&self, uri: &str) -> Option<Route> {
        self.item(Kind::Skill, uri).map(Item::route)
    }

    /// Whether a URI that nobody lists has a server all the same.
    pub fn takes_unlisted_resources(&self) -> bool {
        self.only_with_resources.is_some()
    }

    /// Where a template, or a resource, is completed that a client refers to by its exposed URI.
    pub fn template(&self, exposed: &str) -> Option<Route> {
        let same = |item: &&Item| **item.native() == *exposed;
        let listed =
            self.item(Kind::Template, exposed).or_else(|| self.items(Kind::Template).iter().find(same));
        listed.map(Item::route).or_else(|| self.known_resource(exposed))
    }

    /// Which lists are not what they were.
    pub fn changed_from(&self, before: &Catalog) -> Changed {
        let differs = |kind: Kind| self.shelf(kind).digest != before.shelf(kind).digest;
        Changed {
            tools: differs(Kind::Tool),
            prompts: differs(Kind::Prompt),
            resources: differs(Kind::Resource) || differs(Kind::Template) || differs(Kind::Skill),
        }
    }

    fn shelf(&self, kind: Kind) -> &Shelf {
        &self.shelves[kind.index()]
    }

    fn item(&self, kind: Kind, exposed: &str) -> Option<&Item> {
        let shelf = self.shelf(kind);
        shelf.by_exposed.get(exposed).and_then(|at| shelf.items.get(*at))
    }

    fn known_resource(&self, uri: &str) -> Option<Route> {
        let resources = self.items(Kind::Resource);
        if let Some(item) = self.links.alias(uri).and_then(|at| resources.get(at)) {
            return Some(item.route());
        }
        let listed = self.item(Kind::Resource, uri);
        if let Some(inside) = self.within_own_skill(uri, listed) {
            return Some(inside);
        }
        if let Some(item) = listed.or_else(|| resources.get(*self.first_holders.get(uri)?)) {
            return Some(item.route());
        }
        self.within_skill(uri).or_else(|| self.within_category(uri)).or_else(|| self.by_template(uri))
    }

    fn by_template(&self, uri: &str) -> Option<Route> {
        let mut best: Option<(usize, &Item, &str)> = None;
        for (item, template) in self.items(Kind::Template).iter().zip(&self.templates) {
            // A template that several servers have is exposed as `{server}+{template}`: what precedes it is ours.
            let ours = item.exposed.strip_suffix(item.native().as_ref()).unwrap_or_default();
            let addressed = uri.strip_prefix(ours).filter(|_| !ours.is_empty());
            let candidates = [addressed.map(|native| (native, ours.len())), Some((uri, 0))];
            for (native, bonus) in candidates.into_iter().flatten() {
                let Some(fit) = template.fit(native).map(|fit| fit + bonus) else { continue };
                if best.is_none_or(|(best_fit, ..)| fit > best_fit) {
                    best = Some((fit, item, native));
                }
            }
        }
        best.map(|(_, item, native)| Route { native: Arc::from(native), ..item.route() })
    }

    fn only_server(&self, uri: &str) -> Option<Route> {
        let server = self.only_with_resources?;
        let server_name = self.listings.get(server)?.server().clone();
        Some(Route { server, server_name, native: Arc::from(uri), skill: None })
    }
}

impl Item {
    /// The place of its server among the merged listings.
    pub fn server(&self) -> usize {
        self.server
    }

    /// The name of its server.
    pub fn server_name(&self) -> &Arc<str> {
        &self.server_name
    }

    /// The name or URI under which clients know it.
    pub fn exposed(&self) -> &str {
        &self.exposed
    }

    /// The same, shared.
    pub fn exposed_name(&self) -> &Arc<str> {
        &self.exposed
    }

    /// The name or URI under which its server knows it.
    pub fn native(&self) -> &Arc<str> {
        self.entry.native()
    }

    /// What its server wrote.
    pub fn entry(&self) -> &Arc<Entry> {
        &self.entry
    }

    fn route(&self) -> Route {
        Route {
            server: self.server,
            server_name: self.server_name.clone(),
            native: self.native().clone(),
            skill: None,
        }
    }
}

impl Changed {
    /// Whether lists of a kind differ.
    pub fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Tool => self.tools,
            Kind::Prompt => self.prompts,
            Kind::Resource | Kind::Template | Kind::Skill => self.resources,
        }
    }

    /// Whether anything is new.
    pub fn any(self) -> bool {
        self.tools || self.prompts || self.resources
    }
}

#[cfg(test)]
mod tests;
