//! From the listings of all servers to one catalogue.

use std::sync::Arc;

use foldhash::HashMap;

use super::digest::Digest;
use super::entry::Entry;
use super::kind::Kind;
use super::links::Links;
use super::listing::Listing;
use super::naming::{self, Naming};
use super::templates::Template;
use super::{Catalog, Clash, Item, Shelf, uris};

impl Catalog {
    /// Merges the listings of all servers.
    ///
    /// `listings` has every configured server in its order: one that is down with the last listing it gave, one that has
    /// never answered with an empty one. So no name depends on which servers are up. `is_ours` tells which of them run in
    /// this process: no other server can take their URIs from them.
    pub fn merge(listings: Vec<Arc<Listing>>, naming: Naming, is_ours: &dyn Fn(usize) -> bool) -> Catalog {
        let namespaces: Vec<_> = listings.iter().map(|listing| Arc::clone(listing.server())).collect();
        Catalog::merge_under(listings, &namespaces, naming, is_ours)
    }

    /// The same with what stands for each server in names.
    pub fn merge_under(
        listings: Vec<Arc<Listing>>,
        namespaces: &[Arc<str>],
        naming: Naming,
        is_ours: &dyn Fn(usize) -> bool,
    ) -> Catalog {
        let shelves = Kind::ALL.map(|kind| shelf(&listings, namespaces, kind, naming, is_ours));
        let [tools, prompts, resources, templates, skills] = &shelves;
        let clashes = [
            clashes_of(tools, Kind::Tool),
            clashes_of(prompts, Kind::Prompt),
            overruled(&listings, resources, Kind::Resource),
            overruled(&listings, skills, Kind::Skill),
        ];
        let clashes = clashes.concat();
        let templates = templates.items.iter().map(|item| Template::parse(item.native())).collect();
        let first_holders = first_holders(resources);
        let links = Links::between(&tools.items, &resources.items, is_ours);
        let mut with_resources = listings
            .iter()
            .enumerate()
            .filter(|(_, listing)| listing.has_resources())
            .map(|(place, _)| place);
        let only_with_resources = match (with_resources.next(), with_resources.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        };
        let mut revision = Digest::new("catalogue");
        for shelf in &shelves {
            revision.add(&shelf.digest.to_be_bytes());
        }
        Catalog {
            revision: revision.short(),
            listings,
            shelves,
            templates,
            first_holders,
            links,
            only_with_resources,
            clashes,
        }
    }
}

/// All entries of one kind under their exposed names.
fn shelf(
    listings: &[Arc<Listing>],
    namespaces: &[Arc<str>],
    kind: Kind,
    naming: Naming,
    is_ours: &dyn Fn(usize) -> bool,
) -> Shelf {
    let servers: Vec<&str> = listings.iter().map(|listing| listing.server().as_ref()).collect();
    let entries: Vec<(usize, &Arc<Entry>)> = listings
        .iter()
        .enumerate()
        .flat_map(|(server, listing)| listing.entries(kind).iter().map(move |entry| (server, entry)))
        .collect();
    let mut items = Vec::with_capacity(entries.len());
    let mut clashed = Vec::new();
    let mut place = |exposed: Arc<str>, server: usize, entry: &Arc<Entry>| {
        let server_name = listings[server].server().clone();
        items.push(Item { server, server_name, exposed, entry: entry.clone() });
    };
    match kind {
        Kind::Tool | Kind::Prompt => {
            let natives: Vec<(usize, &str)> =
                entries.iter().map(|(at, entry)| (*at, entry.native().as_ref())).collect();
            let namespaces: Vec<&str> = namespaces.iter().map(AsRef::as_ref).collect();
            let given = naming::give(naming, &servers, &namespaces, &natives);
            for (at, ((server, entry), given)) in entries.into_iter().zip(given).enumerate() {
                if given.clashed {
                    clashed.push(at);
                }
                place(given.name, server, entry);
            }
        }
        Kind::Resource | Kind::Template => {
            let natives: Vec<(usize, &Arc<str>)> =
                entries.iter().map(|(at, entry)| (*at, entry.native())).collect();
            for ((server, entry), exposed) in entries.into_iter().zip(uris::give(&servers, &natives, is_ours))
            {
                place(exposed, server, entry);
            }
        }
        Kind::Skill => {
            // An entry names the files of its skill, so it cannot get another URI: ours counts, then the first server's.
            let mut holders: HashMap<&Arc<str>, usize> = HashMap::default();
            let (ours, others): (Vec<_>, Vec<_>) =
                entries.iter().copied().partition(|(server, _)| is_ours(*server));
            for (server, entry) in ours.into_iter().chain(others) {
                holders.entry(entry.native()).or_insert(server);
            }
            for (server, entry) in &entries {
                if holders.get(entry.native()) == Some(server) {
                    place(Arc::clone(entry.native()), *server, entry);
                }
            }
        }
    }
    let by_exposed = items.iter().enumerate().map(|(at, item)| (item.exposed.clone(), at)).collect();
    let digest = digest_of(&items, listings, kind);
    Shelf { items, by_exposed, clashed, digest }
}

/// Everything that a client can see of a list: names, servers, bytes, and how long it may be kept.
fn digest_of(items: &[Item], listings: &[Arc<Listing>], kind: Kind) -> u64 {
    let mut digest = Digest::new(kind.list_key());
    for item in items {
        digest.add(item.server_name.as_bytes());
        digest.add(item.exposed.as_bytes());
        digest.add(&item.entry.digest().to_be_bytes());
    }
    for freshness in listings.iter().filter_map(|listing| listing.freshness(kind)) {
        digest.add(&freshness.ttl_ms.to_be_bytes());
        digest.add(&[u8::from(freshness.public)]);
    }
    digest.short()
}

fn clashes_of(shelf: &Shelf, kind: Kind) -> Vec<Clash> {
    let items = shelf.clashed.iter().filter_map(|at| shelf.items.get(*at));
    items
        .map(|item| Clash {
            kind,
            server: item.server_name.clone(),
            native: item.native().clone(),
            exposed: item.exposed.clone(),
        })
        .collect()
}

/// Entries whose URI another server keeps as it is, so that they are not found there.
fn overruled(listings: &[Arc<Listing>], shelf: &Shelf, kind: Kind) -> Vec<Clash> {
    let holder = |native: &Arc<str>| shelf.by_exposed.get(native).and_then(|at| shelf.items.get(*at));
    let entries = listings
        .iter()
        .enumerate()
        .flat_map(|(server, listing)| listing.entries(kind).iter().map(move |entry| (server, entry)));
    entries
        .filter(|(server, entry)| holder(entry.native()).is_some_and(|holder| holder.server != *server))
        .map(|(server, entry)| Clash {
            kind,
            server: listings[server].server().clone(),
            native: entry.native().clone(),
            exposed: uris::of_server(listings[server].server(), entry.native()),
        })
        .collect()
}

/// Which server answers for a URI that several have and that therefore is exposed by none: the first of them.
fn first_holders(resources: &Shelf) -> HashMap<Arc<str>, usize> {
    let mut holders = HashMap::default();
    for (at, item) in resources.items.iter().enumerate().filter(|(_, item)| item.exposed != *item.native()) {
        holders.entry(item.native().clone()).or_insert(at);
    }
    holders
}
