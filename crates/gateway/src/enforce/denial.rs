//! Denials that are found on the way to the gate, written down like those that it finds itself.
//!
//! A request may name nothing that is there, be unreadable, or come for something that stands for something else. Each of
//! them is on record, or a search for what is hidden would leave no trace.

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use toolgate_governance::{Denied, Kind, Narrowing};
use toolgate_protocol::message::Field;
use toolgate_protocol::{ErrorReply, Message, Method};

use super::refuse::Stopped;
use super::{draft, record_denial, stopped, subject};
use crate::gate::Gate;
use crate::router::Target;
use crate::session::Client;

/// Whether a client may use something, where the request goes on as one for something else.
pub fn permission(
    gate: &Gate,
    client: &Client,
    narrowing: Option<&Narrowing>,
    target: &Arc<Target>,
    message: &Message,
) -> Result<(), Stopped> {
    let arguments = message.field(Field::Arguments);
    let standing = gate.standing(client.principal());
    let decision = standing.decide_use(&subject(target), narrowing, arguments, Timestamp::now());
    match decision.denied() {
        None => Ok(()),
        Some(denied) => Err(deny(gate, client, target, message, &denied)),
    }
}

/// Something is hidden from a client that asks for it otherwise than by using it: that is on record as well.
pub fn hidden(
    gate: &Gate,
    client: &Client,
    narrowing: Option<&Narrowing>,
    target: &Arc<Target>,
    message: &Message,
) -> Stopped {
    hidden_with(gate, client, narrowing, target, target, message)
}

/// Something is not there for a client because `keeper`, which it belongs to, is hidden.
pub fn hidden_with(
    gate: &Gate,
    client: &Client,
    narrowing: Option<&Narrowing>,
    keeper: &Target,
    target: &Arc<Target>,
    message: &Message,
) -> Stopped {
    let decision = gate.standing(client.principal()).decide_listing(&subject(keeper), narrowing);
    deny(gate, client, target, message, &Denied::Unknown { rule: decision.rule })
}

/// A request is denied for a cause that was found elsewhere.
pub fn deny(
    gate: &Gate,
    client: &Client,
    target: &Arc<Target>,
    message: &Message,
    denied: &Denied,
) -> Stopped {
    let standing = gate.standing(client.principal());
    let draft = draft(client, target, message, Timestamp::now());
    stopped(gate, &standing, target, &draft, denied, Instant::now())
}

/// A request ends with this reply before it is known what it is for.
pub fn unrouted(gate: &Gate, client: &Client, message: &Message, reply: ErrorReply) -> ErrorReply {
    let Some((kind, field)) = recorded(message.method()) else { return reply };
    // What is no text, such as the reference of a completion, stands there as it came.
    let as_it_came = || message.field(field).map(String::from_utf8_lossy);
    let name = message.field_text(field).or_else(as_it_came).unwrap_or_default();
    missing(gate, client, (kind, &name), message, &reply);
    reply
}

/// Something is not there for anybody.
pub fn missing(
    gate: &Gate,
    client: &Client,
    (kind, name): (Kind, &str),
    message: &Message,
    reply: &ErrorReply,
) {
    if gate.recorder.is_none() {
        return;
    }
    let name: Arc<str> = name.into();
    let server = Arc::from("");
    let target =
        Arc::new(Target { kind, server, exposed: Arc::clone(&name), native: name, declared_price: None });
    let draft = draft(client, &target, message, Timestamp::now());
    let revision = gate.policy().revision();
    // What is not there is not there, whether or not that can be written down.
    let _ = record_denial(gate, &draft, &reply.message, reply, Instant::now(), revision);
}

/// What requests of a method are about and where they name it, for methods whose requests are on record.
pub fn recorded(method: Option<Method>) -> Option<(Kind, Field)> {
    match method? {
        Method::ToolsCall => Some((Kind::Tool, Field::Name)),
        Method::PromptsGet => Some((Kind::Prompt, Field::Name)),
        Method::ResourcesRead => Some((Kind::Resource, Field::Uri)),
        // Whoever completes wants to use what the reference names.
        Method::Complete => Some((Kind::Prompt, Field::Ref)),
        _ => None,
    }
}
