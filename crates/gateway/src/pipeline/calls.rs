//! Requests that go to a server: calls, reads, prompts, completions, tasks.

use std::sync::Arc;

use toolgate_client::{Call, Server};
use toolgate_governance::Narrowing;
use toolgate_ledger::Status;
use toolgate_protocol::era::Envelope;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, Era, ErrorReply, Message, Method, Version, object};

use crate::downstream::headers::Headers;
use crate::enforce::arguments::ToolCheck;
use crate::enforce::closing::Ended;
use crate::enforce::{self, Wanted, denial, refuse};
use crate::fleet::Member;
use crate::gateway::Gateway;
use crate::pipeline::{Outcome, has_member, kept, stand_in};
use crate::published::Regard;
use crate::relay::overlong::Keeping;
use crate::relay::passage::{Cleared, Way};
use crate::relay::{Asked, Passage, failure};
use crate::router::{self, Routed, Target};
use crate::session::Client;
use crate::session::inflight::Underway;

/// The extension by which modern servers run calls as tasks.
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Sends a request on its way to its server.
pub async fn begin(
    gateway: &Arc<Gateway>,
    client: &Client,
    narrowing: Option<&Narrowing>,
    message: &Message,
    headers: Option<Headers<'_>>,
) -> Result<Outcome, ErrorReply> {
    let asked = asked(message)?;
    // Before anything depends on what is there.
    let underway = underway(gateway, client, &asked)?;
    if client.era() == Era::Modern
        && let Some(passage) = gateway.traffic.parked.resume(message, client, &asked)?
    {
        return Ok(Outcome::Passage(passage));
    }
    if let Some(outcome) = kept::read(gateway, client, narrowing, message).await {
        return outcome;
    }
    let mut published = gateway.published();
    let routed = match router::resolve(&published, message) {
        // A server that is still starting may have what is not known yet.
        Err(_) if !gateway.fleet.members().is_empty() => {
            gateway.fleet.settle(gateway.settings.start_patience).await;
            published = gateway.published();
            router::resolve(&published, message)
        }
        routed => routed,
    };
    let routed = routed.map_err(|reply| denial::unrouted(&gateway.gate, client, message, reply))?;
    let rewritten;
    let (message, routed) = match stand_in::prepare(gateway, client, narrowing, &published, message, &routed)
    {
        Ok(Some(prepared)) => {
            rewritten = prepared.message;
            (&rewritten, prepared.routed)
        }
        Ok(None) => (message, routed),
        Err(stopped) => return Stop::from(stopped).outcome(message, client),
    };
    let tool = message.field_text(Field::Name).and_then(|name| published.tool(&name));
    let check = tool.and_then(|tool| tool.check.as_ref());
    let relayed =
        relay(gateway, client, message, narrowing, Going { asked, underway, routed, check, headers });
    if let Err(Stop::Hidden(_)) = relayed {
        // As long as something missing would have been waited for.
        gateway.fleet.settle(gateway.settings.start_patience).await;
    }
    relayed.or_else(|stop| stop.outcome(message, client))
}

/// Sends a request about a task to the server that has it, if the task is the client's own.
pub fn begin_task(gateway: &Arc<Gateway>, client: &Client, message: &Message) -> Result<Outcome, ErrorReply> {
    let asked = asked(message)?;
    if let Client::Modern { caller, .. } = client {
        check_modern_task(asked.method, &caller.envelope)?;
    }
    let unknown = || ErrorReply::new(Code::InvalidParams, "there is no such task");
    let published = gateway.published();
    let standing = gateway.gate.standing(client.principal());
    let member = match message.field_text(Field::TaskId) {
        Some(task) => {
            let held = gateway.traffic.tasks.of_caller(&task, &client.principal().id).ok_or_else(unknown)?;
            // A tool that is hidden by now takes its tasks along.
            if !enforce::is_visible(&gateway.gate, client.principal(), None, &held.tool) {
                denial::hidden(&gateway.gate, client, None, &held.tool, message);
                return Err(unknown());
            }
            let member = published.member(&held.server).cloned();
            (member, Some(held.tool))
        }
        None if asked.method == Method::TasksList => {
            let shown = |member: &&Arc<Member>| published.shows_server(&standing, member.server.name());
            (only_with_tasks(published.members.iter().filter(shown)), None)
        }
        None => (None, None),
    };
    let (Some(member), tool) = member else { return Err(unknown()) };
    let underway = underway(gateway, client, &asked)?;
    let target = tool.filter(|_| asked.method == Method::TasksResult);
    let regard = Regard::Anything;
    let routed = Routed { member, target, skill: None, native: None, parameters: Vec::new(), regard };
    relay(gateway, client, message, None, Going { asked, underway, routed, check: None, headers: None })
        .or_else(|stop| stop.outcome(message, client))
}

/// In the modern era tasks are an extension, which a client must declare, and results are got with the task.
fn check_modern_task(method: Method, client: &Envelope) -> Result<(), ErrorReply> {
    if matches!(method, Method::TasksResult | Method::TasksList) {
        return Err(ErrorReply::new(Code::MethodNotFound, format!("Method not found: {}", method.name())));
    }
    let extensions = object::value_of(&client.capabilities, "extensions");
    match extensions.and_then(|extensions| object::value_of(extensions, TASKS)) {
        Some(_) => Ok(()),
        None => Err(failure::lacking_extension(TASKS)),
    }
}

/// A request with all that is known of it before it is judged.
struct Going<'a> {
    asked: Asked,
    underway: Option<Underway>,
    routed: Routed,
    check: Option<&'a ToolCheck>,
    /// The head of the HTTP request that it came by.
    headers: Option<Headers<'a>>,
}

/// Why a request does not reach its server.
enum Stop {
    /// What it names is hidden, and must be as if it were not there.
    Hidden(ErrorReply),
    /// It was refused, or cannot be sent.
    Refused(refuse::Stopped),
}

impl From<refuse::Stopped> for Stop {
    fn from(stopped: refuse::Stopped) -> Stop {
        if stopped.hidden { Stop::Hidden(stopped.reply) } else { Stop::Refused(stopped) }
    }
}

impl Stop {
    fn outcome(self, message: &Message, client: &Client) -> Result<Outcome, ErrorReply> {
        match self {
            Stop::Hidden(reply) => Err(reply),
            Stop::Refused(stopped) => Ok(Outcome::Answer(stopped.answer(message.id(), client.era()))),
        }
    }
}

fn relay(
    gateway: &Arc<Gateway>,
    client: &Client,
    message: &Message,
    narrowing: Option<&Narrowing>,
    going: Going<'_>,
) -> Result<Outcome, Stop> {
    let Going { asked, underway, routed, check, headers } = going;
    let Routed { member, target, skill, native, parameters, regard } = routed;
    if let Some(skill) = &skill
        && !enforce::is_visible(&gateway.gate, client.principal(), narrowing, skill)
    {
        return Err(match &target {
            Some(file) if denial::recorded(message.method()).is_some() => {
                denial::hidden_with(&gateway.gate, client, narrowing, skill, file, message).into()
            }
            _ => Stop::Hidden(refuse::unknown(skill.kind, &skill.exposed)),
        });
    }
    let timeout = target.as_ref().and_then(|target| member.timeout(&target.native));
    let call = Call {
        message: message.clone(),
        native,
        caller: client.caller(),
        line: client.principal().number,
        told: (regard == Regard::Caller).then(|| stand_in::told_of(client)),
        in_short: match regard {
            Regard::Arguments(mark) if check.is_some_and(ToolCheck::is_of_use) => Some(mark),
            _ => None,
        },
        parameters,
        timeout,
    };
    let mut cleared = match (asked.method, &target) {
        (Method::ToolsCall | Method::ResourcesRead | Method::PromptsGet, Some(target)) => {
            let check = check.filter(|_| asked.method == Method::ToolsCall);
            let wanted = Wanted { target, skill: skill.as_ref(), check, headers };
            let (admitted, closing) = enforce::request(&gateway.gate, client, narrowing, wanted, call)?;
            Cleared::Governed(admitted, closing)
        }
        // The call has paid; what came of it is on record all the same.
        (Method::TasksResult, Some(tool)) => {
            let closing = enforce::task_result(&gateway.gate, client, tool, message)?;
            Cleared::Recorded(call, closing)
        }
        // Completions are of use only for what can be seen.
        (_, Some(target)) if !enforce::is_visible(&gateway.gate, client.principal(), narrowing, target) => {
            return Err(denial::hidden(&gateway.gate, client, narrowing, target, message).into());
        }
        _ => Cleared::Free(call),
    };
    // Only now may anything be told that depends on the server.
    let server = match server(gateway, client, message, &member) {
        Ok(server) => server,
        Err(reply) => return Err(Stop::Refused(unsent(&mut cleared, reply, client.era()))),
    };
    let keeping = target.filter(|_| member.desired.keeps_long_output && asked.method == Method::ToolsCall);
    let way = Way {
        server,
        caller: client.principal().number,
        traffic: Arc::clone(&gateway.traffic),
        max_output_bytes: member.desired.max_output_bytes,
        keeping: keeping.map(|tool| keep(gateway, client, tool)),
        progress_after: gateway.settings.progress_after,
    };
    Ok(Outcome::Passage(Passage::begin(asked, client.clone(), way, cleared, underway)))
}

/// Enters the request among those that its client can cancel.
fn underway(gateway: &Gateway, client: &Client, asked: &Asked) -> Result<Option<Underway>, ErrorReply> {
    let Client::Legacy(session) = client else { return Ok(None) };
    session.seen(gateway.tick());
    let begun = session.inflight.begin(asked.id.clone());
    begun.map(Some).map_err(|refused| ErrorReply::new(Code::InvalidRequest, refused.to_string()))
}

/// The server that a request goes to: the client's own, where each has one.
fn server(
    gateway: &Arc<Gateway>,
    client: &Client,
    message: &Message,
    member: &Arc<Member>,
) -> Result<Server, ErrorReply> {
    // A legacy server gives no state, so a state that is not ours either was forged.
    if message.field(Field::RequestState).is_some() && is_legacy(member) {
        let what = "'requestState' is not one that was given out here";
        return Err(ErrorReply::new(Code::InvalidParams, what));
    }
    if !member.desired.isolated {
        return Ok(member.answering());
    }
    let own = gateway.isolated.server(member, client, &gateway.tracker);
    own.map_err(|error| ErrorReply::new(Code::ExecutionError, error.to_string()))
}

/// A request that was permitted and cannot be sent, on record as one that failed.
fn unsent(cleared: &mut Cleared, reply: ErrorReply, era: Era) -> refuse::Stopped {
    let (Cleared::Governed(_, closing) | Cleared::Recorded(_, closing)) = cleared else {
        return reply.into();
    };
    let body = reply.object(era);
    let code = Some(reply.code.number(era));
    match closing.close(Ended { status: Status::Error, error_code: code, body: Some(body.as_bytes()) }) {
        Ok(_) => reply.into(),
        Err(unrecorded) => refuse::withheld(unrecorded).into(),
    }
}

fn keep(gateway: &Gateway, client: &Client, tool: Arc<Target>) -> Keeping {
    let links = match client {
        Client::Legacy(session) => session.version() >= Version::V2025_06_18,
        Client::Modern { .. } => true,
    };
    Keeping {
        results: Arc::clone(&gateway.results),
        seal: Arc::clone(&gateway.seal),
        owner: Arc::clone(&client.principal().id),
        tool,
        links,
    }
}

fn asked(message: &Message) -> Result<Asked, ErrorReply> {
    Asked::of(message).ok_or_else(|| ErrorReply::new(Code::InvalidRequest, "a request must have an 'id'"))
}

fn is_legacy(member: &Member) -> bool {
    member.answering().status().greeting.is_some_and(|greeting| greeting.era == Era::Legacy)
}

/// The server that can have tasks, where there is just one.
fn only_with_tasks<'a>(members: impl Iterator<Item = &'a Arc<Member>>) -> Option<Arc<Member>> {
    let mut able = members.filter(|member| {
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
