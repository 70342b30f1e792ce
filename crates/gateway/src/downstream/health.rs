//! `GET /health`: how we and the servers are, without secrets.
//!
//! Balancers and probes ask without credentials and need a word only. Names, states and causes are for callers that the
//! door lets in, and of servers that are there for them.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use toolgate_client::State;

use crate::catalog::Kind;
use crate::downstream::body::Body;
use crate::downstream::respond;
use crate::fleet::Member;
use crate::gateway::Gateway;
use crate::principal::Principal;
use crate::recorder::Recorder;

/// The answer. It is 200 as long as we answer at all: a server that is down is not our own failure.
pub fn answer(gateway: &Gateway, caller: Option<&Principal>) -> Response<Body> {
    let report = match caller {
        Some(caller) => {
            let (published, standing) = (gateway.published(), gateway.gate.standing(caller));
            report_on(gateway, |server| published.shows_server(&standing, server))
        }
        None => in_a_word(gateway),
    };
    respond::json(StatusCode::OK, Bytes::from(report.to_string()))
}

/// How everything is, for operators.
pub fn report(gateway: &Gateway) -> Value {
    report_on(gateway, |_| true)
}

fn report_on(gateway: &Gateway, is_shown: impl Fn(&str) -> bool) -> Value {
    let members = gateway.fleet.members();
    let shown: Vec<_> = members.iter().filter(|member| is_shown(member.server.name())).collect();
    let reload = gateway.reload_problem.load_full();
    let shows_all = shown.len() == members.len();
    let disabled = gateway.disabled.load_full();
    let display_names = gateway.display_names.load();
    json!({
        "status": status(gateway),
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_seconds": gateway.started.elapsed().as_secs(),
        "sessions": gateway.sessions.count(),
        "servers": shown.iter().map(|member| of_server(member, &display_names)).collect::<Vec<_>>(),
        // These may name what is not shown.
        "disabled": Some(&*disabled).filter(|_| shows_all),
        "reload_problem": reload.as_deref().filter(|_| shows_all),
        "needs_restart": &**gateway.needs_restart.load(),
        "ledger": gateway.gate.recorder.as_ref().map(Recorder::report),
    })
}

/// For those whom nobody knows.
fn in_a_word(gateway: &Gateway) -> Value {
    let members = gateway.fleet.members();
    let ready = members.iter().filter(|member| is_well(member)).count();
    json!({"status": status(gateway), "servers_total": members.len(), "servers_well": ready})
}

fn of_server(member: &Member, display_names: &BTreeMap<String, String>) -> Value {
    let status = member.status();
    let listing = member.listing.load();
    let count = |kind| listing.as_ref().map_or(0, |listing| listing.entries(kind).len());
    json!({
        "name": &**member.server.name(),
        "display_name": display_names.get(&**member.server.name()),
        "state": status.state.to_string(),
        "cause": status.cause,
        "since_seconds": status.since.elapsed().as_secs(),
        "version": status.greeting.as_ref().map(|greeting| greeting.version.date()),
        "tools": count(Kind::Tool),
        "prompts": count(Kind::Prompt),
        "resources": count(Kind::Resource),
        "skills": count(Kind::Skill),
    })
}

fn status(gateway: &Gateway) -> &'static str {
    let is_well = gateway.fleet.members().iter().all(|member| is_well(member))
        && gateway.gate.recorder.as_ref().is_none_or(Recorder::is_well);
    if is_well && gateway.reload_problem.load().is_none() { "ok" } else { "degraded" }
}

fn is_well(member: &Member) -> bool {
    matches!(member.status().state, State::Ready | State::Asleep | State::Connecting)
}
