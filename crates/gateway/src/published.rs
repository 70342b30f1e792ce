//! What clients see at one moment: a snapshot that a request keeps from its begin to its end.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use foldhash::{HashMap, HashMapExt};
use toolgate_governance::{Standing, VisibilityClass};

use crate::catalog::{Catalog, Item, Kind, Lens, Listing, Naming, View};
use crate::enforce::arguments::ToolCheck;
use crate::fleet::Member;
use crate::router::Target;
use crate::sight::Sight;

/// How many classes of clients have their lists ready. Beyond it all are made anew when they are asked for.
const MAX_VIEWS: usize = 1024;

/// In the `_meta` of a tool: it wants to know who calls.
const WANTS_CALLER: &str = "io.toolgate/wants-caller";

/// In the `_meta` of a tool: it looks at nothing but its arguments, and its schema has this mark.
const SHORT_CALL: &str = "io.toolgate/short-call";

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
    sights: ArcSwap<HashMap<VisibilityClass, Arc<Sight>>>,
}

/// What each call of a tool needs of it.
#[derive(Debug)]
pub struct Tool {
    pub target: Arc<Target>,
    /// What its arguments must be, where it says so.
    pub check: Option<ToolCheck>,
    pub regard: Regard,
}

/// What a tool looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Regard {
    /// Not known: it is somebody else's.
    Anything,
    /// A handler that also wants to know who calls.
    Caller,
    /// A handler that gets its arguments and nothing else. Its schema has this mark.
    Arguments(Arc<str>),
}

impl Regard {
    fn of_handler(item: &Item) -> Regard {
        if item.entry().has_meta(WANTS_CALLER) {
            return Regard::Caller;
        }
        let mark = item.entry().meta_text(SHORT_CALL);
        mark.map_or(Regard::Anything, |mark| Regard::Arguments(mark.into()))
    }
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
        let by_name =
            members.iter().enumerate().map(|(at, member)| (Arc::clone(member.server.name()), at)).collect();
        let is_ours = |at: usize| members.get(at).is_some_and(|member| member.is_in_process());
        let namespaces: Vec<_> = members.iter().map(|member| member.namespace()).collect();
        let catalog = Catalog::merge_under(listings, &namespaces, naming, &is_ours).with_skills(skills);
        let tools = catalog
            .items(Kind::Tool)
            .iter()
            .map(|item| {
                let member = members.get(item.server());
                let price = member.and_then(|member| member.declared_price(item.entry()));
                let is_handler = member.is_some_and(|member| member.desired.is_worker);
                let tool = Tool {
                    regard: if is_handler { Regard::of_handler(item) } else { Regard::Anything },
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
            sights: ArcSwap::default(),
        }
    }

    /// The lists of a class of clients, made by `lens` when they are first asked for.
    pub fn view(&self, class: VisibilityClass, lens: &Lens<'_>) -> Arc<View> {
        of_class(&self.views, class, || self.catalog.view(lens))
    }

    /// Which servers are there for a class of clients, and what is said to it of them.
    pub fn sight(&self, standing: &Standing) -> Arc<Sight> {
        of_class(&self.sights, standing.visibility_class(), || Sight::of(&self.catalog, standing))
    }

    /// Whether a server is there for a caller.
    pub fn shows_server(&self, standing: &Standing, server: &str) -> bool {
        self.by_name.get(server).is_some_and(|at| self.sight(standing).has(*at))
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

/// What is ready for a class of clients, made when it is first asked for.
fn of_class<T>(
    ready: &ArcSwap<HashMap<VisibilityClass, Arc<T>>>,
    class: VisibilityClass,
    make: impl FnOnce() -> T,
) -> Arc<T> {
    if let Some(known) = ready.load().get(&class) {
        return Arc::clone(known);
    }
    let made = Arc::new(make());
    ready.rcu(|known| {
        let mut known = if known.len() < MAX_VIEWS { HashMap::clone(known) } else { HashMap::new() };
        known.insert(class, Arc::clone(&made));
        known
    });
    made
}
