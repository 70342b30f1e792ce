//! What the rules say of a caller: would this call happen, and what is left of its limits?
//!
//! Nothing is counted here: a question of the operator must not use up what it asks about.

use std::sync::Arc;

use jiff::Timestamp;
use toolgate_gateway::Gateway;
use toolgate_gateway::catalog;
use toolgate_gateway::pipeline::narrow;
use toolgate_gateway::published::Published;
use toolgate_governance::{Explanation, Kind, Micros, Remaining, Request, Standing, Subject};

use crate::answers::LimitState;
use crate::problem::Problem;
use crate::questions::ExplainQuery;

/// More tools than this are not gone through one by one.
const MOST_TOOLS: usize = 20_000;

/// A caller as the rules of now see it.
pub(crate) fn standing(gateway: &Gateway, caller: &str, groups: Vec<String>) -> Standing {
    let groups: Vec<Arc<str>> = groups.into_iter().map(Arc::from).collect();
    gateway.gate.policy().standing(caller.into(), groups.into())
}

/// Every question that a call has to pass, and its answer.
pub(crate) fn explain(
    gateway: &Gateway,
    standing: &Standing,
    query: &ExplainQuery,
) -> Result<Explanation, Problem> {
    let published = gateway.published();
    let thing = Thing::named(&published, query)?;
    if let Some(arguments) = &query.arguments
        && let Err(error) = serde_json::from_str::<serde::de::IgnoredAny>(arguments)
    {
        return Err(Problem::invalid(format!("'arguments' is not JSON: {error}")));
    }
    let narrowing = query.narrow.as_deref().map(narrow::patterns).transpose();
    let narrowing = narrowing.map_err(|error| Problem::invalid(error.to_string()))?;
    let tool = published.tool(&thing.exposed).filter(|_| thing.kind == Kind::Tool);
    let check = tool.and_then(|tool| tool.check.as_ref());
    let request = Request {
        subject: thing.subject(),
        whole: thing.skill.as_ref().map(|document| Subject { name: document, ..thing.subject() }),
        narrowing: narrowing.as_ref(),
        arguments: query.arguments.as_deref().map(str::as_bytes),
        // Without arguments it is asked about the tool, not about a call that lacks them.
        argument_check: check.filter(|_| query.arguments.is_some()).map(|check| check as _),
        declared_price: declared_price(&published, &thing),
        now: Timestamp::now(),
    };
    Ok(toolgate_governance::explain(standing, &gateway.gate.meters, &request))
}

/// What a tool says it costs, where its server is believed.
fn declared_price(published: &Published, thing: &Thing) -> Option<Micros> {
    let item = published.catalog.tool(&thing.exposed).filter(|_| thing.kind == Kind::Tool)?;
    published.members.get(item.server())?.declared_price(item.entry())
}

/// The limits that count a caller's calls, each state once with the tools it is the same for.
pub(crate) fn limits(
    gateway: &Gateway,
    standing: &Standing,
    only: Option<&str>,
) -> Result<Vec<LimitState>, Problem> {
    let published = gateway.published();
    let now = Timestamp::now();
    let tools = published.catalog.items(catalog::Kind::Tool).iter();
    let mut limits: Vec<LimitState> = Vec::new();
    let mut found = false;
    for item in tools.filter(|item| only.is_none_or(|only| item.exposed() == only)).take(MOST_TOOLS) {
        found = true;
        let subject = Subject {
            kind: Kind::Tool,
            server: item.server_name(),
            name: item.native(),
            exposed: item.exposed(),
        };
        for state in gateway.gate.meters.remaining(standing, &subject, now) {
            add(&mut limits, state, item.exposed());
        }
    }
    match only {
        Some(only) if !found => Err(unknown("tool", only)),
        _ => Ok(limits),
    }
}

fn add(limits: &mut Vec<LimitState>, state: Remaining, tool: &str) {
    match limits.iter_mut().find(|known| known.limit == state) {
        Some(known) => known.tools.push(tool.to_owned()),
        None => limits.push(LimitState { limit: state, tools: vec![tool.to_owned()] }),
    }
}

/// Something that a call can be about.
struct Thing {
    kind: Kind,
    server: Arc<str>,
    exposed: Arc<str>,
    native: Arc<str>,
    /// The document of the skill that it is a file of.
    skill: Option<Arc<str>>,
}

impl Thing {
    fn named(published: &Published, query: &ExplainQuery) -> Result<Thing, Problem> {
        let catalog = &published.catalog;
        let from_item = |kind, item: &catalog::Item| Thing {
            kind,
            server: Arc::clone(item.server_name()),
            exposed: Arc::clone(item.exposed_name()),
            native: Arc::clone(item.native()),
            skill: None,
        };
        match (&query.tool, &query.resource, &query.prompt) {
            (Some(name), None, None) => catalog
                .tool(name)
                .map(|item| from_item(Kind::Tool, item))
                .ok_or_else(|| unknown("tool", name)),
            (None, None, Some(name)) => {
                let item = catalog.prompt(name).ok_or_else(|| unknown("prompt", name))?;
                Ok(from_item(Kind::Prompt, item))
            }
            (None, Some(uri), None) => {
                let route = catalog.resource(uri).ok_or_else(|| unknown("resource", uri))?;
                Ok(Thing {
                    kind: Kind::Resource,
                    server: Arc::clone(&route.server_name),
                    exposed: uri.as_str().into(),
                    native: route.native,
                    skill: route.skill,
                })
            }
            _ => Err(Problem::invalid("give exactly one of 'tool', 'resource' and 'prompt'")),
        }
    }

    fn subject(&self) -> Subject<'_> {
        Subject { kind: self.kind, server: &self.server, name: &self.native, exposed: &self.exposed }
    }
}

fn unknown(what: &str, name: &str) -> Problem {
    Problem::not_found(format!("no server lists the {what} '{name}'; rules are not even asked about it"))
}
