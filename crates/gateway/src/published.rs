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
use crate::router::Target;

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
    tools: HashMap<Arc<str>, Tool>,
    /// Whether results may be kept here, so that clients should know how they are read.
    pub keeps_results: bool,
    pub greeting: Greeting,
}

/// What each call of a tool needs of it.
#[derive(Debug)]
pub struct Tool {
    pub target: Arc<Target>,
    /// What its arguments must be, where it says so.
    pub check: Option<ToolCheck>,
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
        let namespaces: Vec<_> = members.iter().map(|member| member.namespace()).collect();
        let catalog = Catalog::merge_under(listings, &namespaces, naming).with_skills(skills);
        let tools = catalog
            .items(Kind::Tool)
            .iter()
            .map(|item| {
                let price = members.get(item.server()).and_then(|member| member.declared_price(item.entry()));
                let tool = Tool {
                    target: Arc::new(Target::of(item, toolgate_governance::Kind::Tool, price)),
                    check: item.entry().input_schema().map(ToolCheck::new),
                };
                (Arc::clone(item.exposed_name()), tool)
            })
            .collect();
        Published {
            catalog,
            members: members.to_vec(),
            by_name,
            views: ArcSwap::default(),
            tools,
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

    /// A tool by the name that clients know.
    pub fn tool(&self, exposed: &str) -> Option<&Tool> {
        self.tools.get(exposed)
    }

    /// One server by its name.
    pub fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.by_name.get(name).and_then(|at| self.members.get(*at))
    }
}
