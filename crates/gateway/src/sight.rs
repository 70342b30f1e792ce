//! Which servers are there for a caller: those of which it sees anything at all. What is said outside of calls, in
//! greetings, logs and reports, goes by this, or it would name servers whose every tool is hidden.

use std::sync::Arc;

use toolgate_governance::{Standing, Subject};

use crate::catalog::{Catalog, Kind, Listing};
use crate::greeting::Greeting;
use crate::pipeline::lists::subject;

/// What a class of callers sees of the servers.
#[derive(Debug)]
pub struct Sight {
    /// In the order of the catalogue's listings.
    servers: Vec<bool>,
    /// What is said to them of the servers that are there.
    pub greeting: Greeting,
}

impl Sight {
    /// What callers of this standing see.
    pub fn of(catalog: &Catalog, standing: &Standing) -> Sight {
        let listings = catalog.listings();
        // Nothing while no item of the server was met.
        let mut servers: Vec<Option<bool>> = vec![None; listings.len()];
        for kind in Kind::ALL {
            for item in catalog.items(kind) {
                if let Some(seen) = servers.get_mut(item.server())
                    && *seen != Some(true)
                {
                    *seen = Some(standing.is_visible(&subject(kind, item), None));
                }
            }
        }
        // A server that lists nothing is there for those who would see a tool of it.
        let would = |listing: &Arc<Listing>| standing.is_visible(&Subject::tool(listing.server(), ""), None);
        let servers: Vec<bool> = servers
            .into_iter()
            .zip(listings)
            .map(|(seen, listing)| seen.unwrap_or_else(|| would(listing)))
            .collect();
        let shown = listings.iter().zip(&servers).filter(|(_, seen)| **seen);
        let shown: Vec<_> = shown.map(|(listing, _)| Arc::clone(listing)).collect();
        Sight { servers, greeting: Greeting::of(&shown) }
    }

    /// Whether the server at a place among the listings is there.
    pub fn has(&self, place: usize) -> bool {
        self.servers.get(place).copied().unwrap_or(false)
    }
}
