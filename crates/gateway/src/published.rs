//! What clients see at one moment: a snapshot that a request keeps from its begin to its end.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::catalog::{Catalog, Lens, Naming, View};
use crate::fleet::Member;
use crate::greeting::Greeting;

/// The catalogue and the servers it was made of.
#[derive(Debug)]
pub struct Published {
    pub catalog: Catalog,
    /// The servers, in the order of the catalogue's listings.
    pub members: Vec<Arc<Member>>,
    by_name: HashMap<Arc<str>, usize>,
    view: OnceLock<View>,
    pub greeting: Greeting,
}

impl Published {
    /// The snapshot of these servers as they are now.
    pub fn of(members: &[Arc<Member>], naming: Naming) -> Published {
        let listings = members
            .iter()
            .map(|member| {
                member.listing.load_full().unwrap_or_else(|| {
                    let name = Arc::clone(member.server.name());
                    Arc::new(crate::catalog::Listing::new(name, None, member.over_http()))
                })
            })
            .collect::<Vec<_>>();
        let greeting = Greeting::of(&listings);
        let by_name =
            members.iter().enumerate().map(|(at, member)| (Arc::clone(member.server.name()), at)).collect();
        Published {
            catalog: Catalog::merge(listings, naming),
            members: members.to_vec(),
            by_name,
            view: OnceLock::new(),
            greeting,
        }
    }

    /// The lists.
    pub fn view(&self) -> &View {
        self.view.get_or_init(|| {
            self.catalog.view(&Lens {
                visible: &|_, _| true,
                decorate: &|_| None,
                for_everyone: true,
                server_info: None,
            })
        })
    }

    /// One server by its name.
    pub fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.by_name.get(name).and_then(|at| self.members.get(*at))
    }
}
