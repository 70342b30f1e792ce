//! May this request go on, and what becomes of it when it ends?

pub mod arguments;
pub mod closing;
pub mod consent;
pub mod denial;
pub mod quota_headers;
pub mod refuse;

use std::sync::Arc;
use std::time::Instant;

use http::HeaderName;
use jiff::Timestamp;
use toolgate_client::Call;
use toolgate_governance::{Admitted, Denied, Kind, Narrowing, Request, Standing, Subject};
use toolgate_ledger::Status;
use toolgate_protocol::message::{Field, MetaField};
use toolgate_protocol::{ErrorReply, Message};

use crate::downstream::headers::Headers;
use crate::enforce::arguments::ToolCheck;
use crate::enforce::closing::Closing;
use crate::enforce::refuse::Stopped;
use crate::gate::Gate;
use crate::principal::Principal;
use crate::recorder::{Draft, End, Recorder};
use crate::router::Target;
use crate::session::Client;

/// What a request wants to use, with what is known of it.
#[derive(Debug)]
pub struct Wanted<'a> {
    pub target: &'a Arc<Target>,
    /// The document of the skill that the target is a file of: what rules say of it holds for the file too.
    pub skill: Option<&'a Target>,
    pub check: Option<&'a ToolCheck>,
    /// The head of the HTTP request that it came by.
    pub headers: Option<Headers<'a>>,
}

/// Asks every question about a request. What comes back is the only thing that reaches a server, with what must be done
/// when it ends.
pub fn request(
    gate: &Arc<Gate>,
    client: &Client,
    narrowing: Option<&Narrowing>,
    wanted: Wanted<'_>,
    call: Call,
) -> Result<(Admitted<Call>, Closing), Stopped> {
    let Wanted { target, skill, check, headers } = wanted;
    let now = Timestamp::now();
    let begun = Instant::now();
    let standing = gate.standing(client.principal());
    // A second handle to the message, because the call itself moves on.
    let message = call.message.clone();
    let asked = Request {
        subject: subject(target),
        whole: skill.map(subject),
        narrowing,
        arguments: message.field(Field::Arguments),
        argument_check: check.map(|check| check as _),
        declared_price: target.declared_price,
        now,
    };
    let mut draft = draft(client, target, &message, now);
    draft.trace_id = draft.trace_id.or_else(|| traced(headers?));
    let revision = standing.policy().revision();
    if gate.recorder.as_ref().is_some_and(Recorder::refuses) {
        // What is hidden stays unknown, whatever the state of the ledger.
        let decision = standing.decide_use(&asked.subject, narrowing, asked.arguments, now);
        if let Some(denied @ Denied::Unknown { .. }) = decision.denied() {
            return Err(stopped(gate, &standing, target, &draft, &denied, begun));
        }
        refuse_unrecorded(gate, &draft, begun, revision)?;
    }
    match toolgate_governance::admit(&standing, &gate.meters, &asked, call) {
        Ok(admitted) => Ok((admitted, Closing::new(Arc::clone(gate), draft, begun, revision))),
        Err(denied) => Err(stopped(gate, &standing, target, &draft, &denied, begun)),
    }
}

/// Asks what limits say of a client that reads what is its own already. What comes back is to be closed when it has.
pub fn owner(
    gate: &Arc<Gate>,
    client: &Client,
    target: &Arc<Target>,
    message: &Message,
) -> Result<Closing, Stopped> {
    let now = Timestamp::now();
    let begun = Instant::now();
    let standing = gate.standing(client.principal());
    let draft = draft(client, target, message, now);
    let revision = standing.policy().revision();
    refuse_unrecorded(gate, &draft, begun, revision)?;
    match toolgate_governance::admit_owner(&standing, &gate.meters, &Request::new(subject(target), now)) {
        Ok(terms) => {
            let mut closing = Closing::new(Arc::clone(gate), draft, begun, revision);
            closing.runs_under(terms);
            Ok(closing)
        }
        Err(refusal) => Err(stopped(gate, &standing, target, &draft, &refusal.into(), begun)),
    }
}

/// The end of a request for the result of a task, which is to be on record. The call that made the task has passed the
/// gate and was counted there.
pub fn task_result(
    gate: &Arc<Gate>,
    client: &Client,
    tool: &Arc<Target>,
    message: &Message,
) -> Result<Closing, Stopped> {
    let begun = Instant::now();
    let kind = toolgate_ledger::Kind::TaskResult;
    let draft = Draft { kind, ..draft(client, tool, message, Timestamp::now()) };
    let revision = gate.policy().revision();
    refuse_unrecorded(gate, &draft, begun, revision)?;
    Ok(Closing::new(Arc::clone(gate), draft, begun, revision))
}

/// Whether something exists for a client at all. What is hidden must look like what is not there.
pub fn is_visible(
    gate: &Gate,
    principal: &Principal,
    narrowing: Option<&Narrowing>,
    target: &Target,
) -> bool {
    gate.standing(principal).is_visible(&subject(target), narrowing)
}

fn draft(client: &Client, target: &Arc<Target>, message: &Message, now: Timestamp) -> Draft {
    Draft {
        time_us: now.as_microsecond(),
        principal: Arc::clone(client.principal()),
        kind: match target.kind {
            Kind::Tool => toolgate_ledger::Kind::ToolCall,
            Kind::Resource => toolgate_ledger::Kind::ResourceRead,
            Kind::Prompt => toolgate_ledger::Kind::PromptGet,
        },
        target: Arc::clone(target),
        era: client.era(),
        arguments: message.field_bytes(Field::Arguments),
        trace_id: trace_id(message),
    }
}

fn refuse_unrecorded(gate: &Gate, draft: &Draft, begun: Instant, revision: u64) -> Result<(), ErrorReply> {
    if !gate.recorder.as_ref().is_some_and(Recorder::refuses) {
        return Ok(());
    }
    let reply = refuse::unrecorded();
    // Whether this refusal can be written down decides about the next call; for this one it changes nothing.
    let _ = record_denial(gate, draft, &reply.message, &reply, begun, revision);
    Err(reply)
}

/// A denial, written down.
fn stopped(
    gate: &Gate,
    standing: &Standing,
    target: &Target,
    draft: &Draft,
    denied: &Denied,
    begun: Instant,
) -> Stopped {
    let remaining = match denied {
        Denied::Unknown { .. } => Vec::new(),
        _ => gate.meters.remaining(standing, &subject(target), Timestamp::now()),
    };
    let reply = refuse::reply(denied, target);
    let hidden = matches!(denied, Denied::Unknown { .. });
    match record_denial(gate, draft, &words(denied), &reply, begun, standing.policy().revision()) {
        Err(unrecorded) if !hidden => unrecorded.into(),
        _ => Stopped { reply, remaining, hidden },
    }
}

fn subject(target: &Target) -> Subject<'_> {
    Subject { kind: target.kind, server: &target.server, name: &target.native, exposed: &target.exposed }
}

fn record_denial(
    gate: &Gate,
    draft: &Draft,
    words: &str,
    reply: &ErrorReply,
    begun: Instant,
    policy_revision: u64,
) -> Result<(), ErrorReply> {
    let Some(recorder) = &gate.recorder else { return Ok(()) };
    let words = toolgate_protocol::text::quote(words);
    let end = End {
        status: Status::Denied,
        error_code: Some(reply.code.number(draft.era)),
        result: Some(words.as_bytes()),
        duration_us: u64::try_from(begun.elapsed().as_micros()).unwrap_or(u64::MAX),
        price_reserved: 0,
        price_settled: 0,
        policy_revision,
    };
    // Nothing has run, so it may be tried again.
    recorder.write(draft, &end).map_err(|_| refuse::unrecorded())
}

/// Why a request was denied, for the record; a client must not learn all of it.
fn words(denied: &Denied) -> String {
    match denied {
        Denied::Unknown { rule } => format!("hidden by rule {rule}"),
        Denied::Refused(refusal) => refusal.words.clone(),
        // The client may see its own value again; the record of it may be read by others.
        Denied::Arguments(problem) => problem.for_record(),
    }
}

/// The trace that a request says it belongs to.
fn trace_id(message: &Message) -> Option<[u8; 16]> {
    trace_in(&message.meta_text(MetaField::TraceParent)?)
}

/// The trace that the HTTP request of a client belongs to, which says nothing of it in the message.
fn traced(headers: Headers<'_>) -> Option<[u8; 16]> {
    static TRACE_PARENT: HeaderName = HeaderName::from_static("traceparent");
    trace_in(headers.text(&TRACE_PARENT)?)
}

fn trace_in(parent: &str) -> Option<[u8; 16]> {
    let digits = parent.split('-').nth(1).filter(|digits| digits.len() == 32 && digits.is_ascii())?;
    let mut id = [0; 16];
    for (place, byte) in id.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(id)
}
