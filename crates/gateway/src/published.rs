//! What clients see at one moment: a snapshot that a request keeps from its begin to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use foldhash::{HashMap, HashMapExt};
use toolgate_governance::VisibilityClass;

use crate::catalog::{Catalog, Kind, Lens, Listing, Naming, View};
use crate::enforce::arguments::ToolCheck;
use crate::fleet::Member;
use crate::greeting::Greeting;

/// How many classes of clients have their lists ready. Beyond it all are made anew when they are asked for.
const MAX_VIEWS: usize = 1024;

/// The catalogue and the servers it was made of.
#[derive(Debug)]
pub struct Published {
    pub catalog: Catalog,
    /// The servers, in the order of the catalogue's listings.
    pub members: Vec<Arc<Member>>,
    by_name: HashMap<Arc<str>, usize>,
    views: ArcSwap<HashMap<VisibilityClass, Arc<View>>>,
    checks: HashMap<Arc<str>, ToolCheck>,
    /// Whether results may be kept here, so that clients should know how they are read.
    pub keeps_results: bool,
    pub greeting: Greeting,
}

impl Published {
    /// The snapshot of these servers as they are now. `skills` are the skills of tools by their exposed names, besides
    /// those that the servers name themselves.
    pub fn of(members: &[Arc<Member>], naming: Naming, skills: &BTreeMap<String, String>) -> Published {
        let listings = members
            .iter()
            .map(|member| {
                member.listing.load_full().unwrap_or_else(|| {
                    let name = Arc::clone(member.server.name());
                    Arc::new(Listing::new(name, None, member.over_http()))
                })
            })
            .collect::<Vec<_>>();
        let greeting = Greeting::of(&listings);
        let by_name =
            members.iter().enumerate().map(|(at, member)| (Arc::clone(member.server.name()), at)).collect();
        let catalog = Catalog::merge(listings, naming).with_skills(skills);
        let checks = catalog
            .items(Kind::Tool)
            .iter()
            .filter_map(|item| {
                let schema = item.entry().input_schema()?;
                Some((Arc::clone(item.exposed_name()), ToolCheck::new(schema)))
            })
            .collect();
        Published {
            catalog,
            members: members.to_vec(),
            by_name,
            views: ArcSwap::default(),
            checks,
            keeps_results: members.iter().any(|member| member.desired.keeps_long_output),
            greeting,
        }
    }

    /// The lists of a class of clients, made by `lens` when they are first asked for.
    pub fn view(&self, class: VisibilityClass, lens: &Lens<'_>) -> Arc<View> {
        if let Some(view) = self.views.load().get(&class) {
            return Arc::clone(view);
        }
        let view = Arc::new(self.catalog.view(lens));
        self.views.rcu(|views| {
            let mut views = if views.len() < MAX_VIEWS { HashMap::clone(views) } else { HashMap::new() };
            views.insert(class, Arc::clone(&view));
            views
        });
        view
    }

    /// The check of a tool's arguments.
    pub fn check(&self, exposed: &str) -> Option<&ToolCheck> {
        self.checks.get(exposed)
    }

    /// One server by its name.
    pub fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.by_name.get(name).and_then(|at| self.members.get(*at))
    }
}
