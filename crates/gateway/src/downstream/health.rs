//! `GET /health`: how we and the servers are, without secrets.

use bytes::Bytes;
use http::{Response, StatusCode};
use serde_json::{Value, json};
use toolgate_client::State;

use crate::catalog::Kind;
use crate::downstream::body::Body;
use crate::downstream::respond;
use crate::gateway::Gateway;

/// The answer. It is 200 as long as we answer at all: a server that is down is not our own failure.
pub fn answer(gateway: &Gateway) -> Response<Body> {
    respond::json(StatusCode::OK, Bytes::from(report(gateway).to_string()))
}

/// How everything is.
pub fn report(gateway: &Gateway) -> Value {
    let members = gateway.fleet.members();
    let servers: Vec<Value> = members
        .iter()
        .map(|member| {
            let status = member.status();
            let listing = member.listing.load();
            let count = |kind| listing.as_ref().map_or(0, |listing| listing.entries(kind).len());
            json!({
                "name": &**member.server.name(),
                "state": status.state.to_string(),
                "cause": status.cause,
                "since_seconds": status.since.elapsed().as_secs(),
                "version": status.greeting.as_ref().map(|greeting| greeting.version.date()),
                "tools": count(Kind::Tool),
                "prompts": count(Kind::Prompt),
                "resources": count(Kind::Resource),
                "skills": count(Kind::Skill),
            })
        })
        .collect();
    let well = members
        .iter()
        .all(|member| matches!(member.status().state, State::Ready | State::Asleep | State::Connecting));
    let reload = gateway.reload_problem.load_full();
    json!({
        "status": if well && reload.is_none() { "ok" } else { "degraded" },
        "version": env!("CARGO_PKG_VERSION"),
        "uptime_seconds": gateway.started.elapsed().as_secs(),
        "sessions": gateway.sessions.count(),
        "servers": servers,
        "reload_problem": reload.as_deref(),
        "needs_restart": &**gateway.needs_restart.load(),
    })
}
