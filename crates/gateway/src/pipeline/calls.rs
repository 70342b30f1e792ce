//! Requests that go to a server: calls, reads, prompts, completions, tasks.

use std::sync::Arc;

use toolgate_client::Call;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, Era, ErrorReply, Message, Method};

use crate::enforce;
use crate::enforce::arguments::ToolCheck;
use crate::fleet::Member;
use crate::gateway::Gateway;
use crate::pipeline::{Outcome, has_member, stand_in};
use crate::relay::passage::{Cleared, Way};
use crate::relay::{Asked, Passage};
use crate::router::{self, Routed};
use crate::session::Client;

/// Sends a request on its way to its server.
pub async fn begin(
    gateway: &Arc<Gateway>,
    client: &Client,
    message: &Message,
) -> Result<Outcome, ErrorReply> {
    let asked = asked(message)?;
    if client.era() == Era::Modern
        && let Some(passage) = gateway.parked.resume(message, client, &asked)?
    {
        return Ok(Outcome::Passage(passage));
    }
    let mut published = gateway.published();
    let routed = match router::resolve(&published, message) {
        // A server that is still starting may have what is not known yet.
        Err(_) if !gateway.fleet.members().is_empty() => {
            gateway.fleet.settle(gateway.settings.start_patience).await;
            published = gateway.published();
            router::resolve(&published, message)?
        }
        routed => routed?,
    };
    if let Some(prepared) = stand_in::prepare(gateway, client, &published, message, &routed)? {
        let check = prepared.message.field_text(Field::Name).and_then(|name| published.check(&name));
        return relay(gateway, client, &prepared.message, asked, prepared.routed, check);
    }
    let check = message.field_text(Field::Name).and_then(|name| published.check(&name));
    relay(gateway, client, message, asked, routed, check)
}

/// Sends a request about a task to the server that has it.
pub fn begin_task(gateway: &Arc<Gateway>, client: &Client, message: &Message) -> Result<Outcome, ErrorReply> {
    let asked = asked(message)?;
    let unknown = || ErrorReply::new(Code::InvalidParams, "there is no such task");
    let published = gateway.published();
    let owner = message.field_text(Field::TaskId).and_then(|task| gateway.tasks.owner(&task));
    let member = match owner {
        Some(server) => published.member(&server).cloned(),
        None => only_with_tasks(&published.members),
    };
    let member = member.ok_or_else(unknown)?;
    let routed = Routed { member, target: None, skill: None, native: None, parameters: Vec::new() };
    relay(gateway, client, message, asked, routed, None)
}

fn relay(
    gateway: &Arc<Gateway>,
    client: &Client,
    message: &Message,
    asked: Asked,
    routed: Routed,
    check: Option<&ToolCheck>,
) -> Result<Outcome, ErrorReply> {
    let underway = match client {
        Client::Legacy(session) => {
            session.seen(gateway.tick());
            let begun = session.inflight.begin(asked.id.clone());
            Some(begun.map_err(|refused| ErrorReply::new(Code::InvalidRequest, refused.to_string()))?)
        }
        Client::Modern { .. } => None,
    };
    // A legacy server gives no state, so a state that is not ours either was forged.
    if message.field(Field::RequestState).is_some() && is_legacy(&routed.member) {
        return Err(ErrorReply::new(
            Code::InvalidParams,
            "'requestState' is not one that was given out here",
        ));
    }
    if let Some(skill) = &routed.skill
        && !enforce::is_visible(&gateway.gate, client.principal(), skill)
    {
        return Err(enforce::refuse::unknown(skill.kind, &skill.exposed));
    }
    let call = Call {
        message: message.clone(),
        native: routed.native,
        caller: client.caller(),
        parameters: routed.parameters,
        timeout: routed.target.as_ref().and_then(|target| routed.member.timeout(&target.native)),
    };
    let server = if routed.member.desired.isolated {
        let own = gateway.isolated.server(&routed.member, client, &gateway.tracker);
        own.map_err(|error| ErrorReply::new(Code::ExecutionError, error.to_string()))?
    } else {
        routed.member.server.clone()
    };
    let cleared = match (asked.method, &routed.target) {
        (Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet, Some(target)) => {
            let check = check.filter(|_| asked.method == Method::ToolsCall);
            let (admitted, closing) = enforce::request(&gateway.gate, client, None, target, check, call)?;
            Cleared::Governed(admitted, closing)
        }
        // Completions are of use only for what can be seen.
        (_, Some(target)) if !enforce::is_visible(&gateway.gate, client.principal(), target) => {
            return Err(enforce::refuse::unknown(target.kind, &target.exposed));
        }
        _ => Cleared::Free(call),
    };
    let way = Way {
        server,
        capacity: Arc::clone(&gateway.capacity),
        parked: Arc::clone(&gateway.parked),
        tasks: Arc::clone(&gateway.tasks),
        max_output_bytes: routed.member.desired.max_output_bytes,
        progress_after: gateway.settings.progress_after,
    };
    Ok(Outcome::Passage(Passage::begin(asked, client.clone(), way, cleared, underway)))
}

fn asked(message: &Message) -> Result<Asked, ErrorReply> {
    Asked::of(message).ok_or_else(|| ErrorReply::new(Code::InvalidRequest, "a request must have an 'id'"))
}

fn is_legacy(member: &Member) -> bool {
    member.server.status().greeting.is_some_and(|greeting| greeting.era == Era::Legacy)
}

/// The server that can have tasks, where there is just one.
fn only_with_tasks(members: &[Arc<Member>]) -> Option<Arc<Member>> {
    let mut able = members.iter().filter(|member| {
        let listing = member.listing.load();
        let greeting = listing.as_ref().and_then(|listing| listing.greeting());
        greeting.is_some_and(|greeting| {
            has_member(&greeting.capabilities, "tasks") || has_member(&greeting.capabilities, "extensions")
        })
    });
    match (able.next(), able.next()) {
        (Some(only), None) => Some(Arc::clone(only)),
        _ => None,
    }
}
