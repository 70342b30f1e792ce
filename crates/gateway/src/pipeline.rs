//! The path of one message, from the client that sent it to what it is answered. Read top to bottom.

pub mod calls;
pub mod kept;
pub mod lists;
pub mod narrow;
mod stand_in;
pub mod watching;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use toolgate_protocol::era::Envelope;
use toolgate_protocol::header::{self, parameter};
use toolgate_protocol::message::{Field, Unreadable};
use toolgate_protocol::{Code, Era, ErrorReply, Kind, Message, Method, Object, Version, error};

use crate::downstream::headers::{self, Headers};
use crate::downstream::respond::Refusal;
use crate::enforce;
use crate::gateway::Gateway;
use crate::listen::Listener;
use crate::principal::Principal;
use crate::relay::{Last, Passage};
use crate::session::{Client, Session, introduction};

/// How long `server/discover` waits for servers that are starting.
const DISCOVER_PATIENCE: Duration = Duration::from_millis(500);

/// What a message leads to.
#[derive(Debug)]
pub enum Outcome {
    /// An answer at once.
    Answer(Last),
    /// A request on its way to a server.
    Passage(Passage),
    /// A stream of changes.
    Listening(Arc<Listener>),
    /// Nothing to say: it was a notification or an answer.
    Taken,
}

/// Handles a message of a client that is known, with the head of the HTTP request that it came by, if it did.
pub async fn handle(
    gateway: &Arc<Gateway>,
    client: &Client,
    message: &Message,
    headers: Option<Headers<'_>>,
) -> Outcome {
    match message.kind() {
        Kind::Request => match request(gateway, client, message, headers).await {
            Ok(outcome) => outcome,
            Err(reply) => Outcome::Answer(Last::error(&reply, message.id(), client.era(), &[])),
        },
        Kind::Notification => {
            notification(gateway, client, message).await;
            Outcome::Taken
        }
        Kind::Result | Kind::Error => {
            if let Client::Legacy(session) = client
                && !session.questions.answer(message)
            {
                tracing::debug!("an answer to a question that is not open was ignored");
            }
            Outcome::Taken
        }
    }
}

async fn request(
    gateway: &Arc<Gateway>,
    client: &Client,
    message: &Message,
    headers: Option<Headers<'_>>,
) -> Result<Outcome, ErrorReply> {
    let method = message.method().unwrap_or(Method::Unknown);
    let narrowing = narrow::of(message, headers)
        .map_err(|reply| enforce::denial::unrouted(&gateway.gate, client, message, reply))?;
    let narrowing = narrowing.as_ref();
    match (method, client) {
        (
            Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
            | Method::SkillsList,
            _,
        ) => lists::page(gateway, client, narrowing, message, method).await,
        (
            Method::ToolsCall
            | Method::PromptsGet
            | Method::ResourcesRead
            | Method::SkillsGet
            | Method::DirectoryRead
            | Method::Complete,
            _,
        ) => calls::begin(gateway, client, narrowing, message, headers).await,
        (
            Method::TasksGet
            | Method::TasksResult
            | Method::TasksCancel
            | Method::TasksUpdate
            | Method::TasksList,
            _,
        ) => calls::begin_task(gateway, client, message),
        (Method::Discover, Client::Modern { .. }) => {
            // Clients probe with this and take a slow answer for none.
            gateway.fleet.settle(gateway.settings.start_patience.min(DISCOVER_PATIENCE)).await;
            let sight = gateway.published().sight(&gateway.gate.standing(client.principal()));
            Ok(result(message, sight.greeting.discover().to_string().as_bytes()))
        }
        (Method::Listen, Client::Modern { .. }) => {
            watching::listen(gateway, client, narrowing, message).await
        }
        (Method::Ping, Client::Legacy(_)) => Ok(result(message, b"{}")),
        (Method::SetLevel, Client::Legacy(session)) => watching::set_level(gateway, session, message),
        (Method::ResourcesSubscribe, Client::Legacy(session)) => {
            watching::subscribe(gateway, session, narrowing, message).await
        }
        (Method::ResourcesUnsubscribe, Client::Legacy(session)) => {
            watching::unsubscribe(gateway, session, narrowing, message)
        }
        (Method::Initialize, Client::Legacy(_)) => {
            Err(ErrorReply::new(Code::InvalidRequest, "this session has been initialized already"))
        }
        _ => {
            let name = message.method_name().unwrap_or_default();
            Err(ErrorReply::new(Code::MethodNotFound, format!("Method not found: {name}")))
        }
    }
}

async fn notification(gateway: &Arc<Gateway>, client: &Client, message: &Message) {
    let Client::Legacy(session) = client else { return };
    match message.method() {
        Some(Method::Cancelled) => {
            if let Some(id) = message.field(Field::RequestId) {
                session.inflight.cancel(id);
            }
        }
        Some(Method::Progress) => {
            let params = message.body_bytes().unwrap_or_default();
            if let Some((server, params)) = session.questions.progress(&params) {
                server.notify(Method::Progress, Some(params)).await;
            }
        }
        Some(Method::RootsChanged) => {
            for member in gateway.fleet.members().iter().filter(|member| !member.desired.isolated) {
                member.server.notify(Method::RootsChanged, None).await;
            }
            for own in gateway.isolated.of_session(session.key) {
                own.notify(Method::RootsChanged, None).await;
            }
        }
        _ => {}
    }
}

/// Begins the session of a legacy client: the session and the answer to its `initialize`.
pub async fn begin_session(
    gateway: &Arc<Gateway>,
    message: &Message,
    principal: &Arc<Principal>,
) -> Result<(Arc<Session>, Bytes), ErrorReply> {
    let invalid = |what: &str| ErrorReply::new(Code::InvalidParams, what);
    let requested = message
        .field_text(Field::ProtocolVersion)
        .ok_or_else(|| invalid("'params.protocolVersion' must be a string"))?;
    let version = Version::negotiate_legacy(&requested);
    let object = |field, name: &str| match message.field_bytes(field) {
        Some(bytes) if bytes.starts_with(b"{") => Ok(Some(bytes)),
        Some(_) => Err(invalid(&format!("'params.{name}' must be an object"))),
        None => Ok(None),
    };
    let capabilities = object(Field::Capabilities, "capabilities")?
        .ok_or_else(|| invalid("'params.capabilities' is missing"))?;
    let info = object(Field::ClientInfo, "clientInfo")?;
    let key = gateway
        .seal
        .random_number()
        .map_err(|error| ErrorReply::new(Code::InternalError, error.to_string()))?;
    let capabilities =
        introduction::capabilities(&capabilities).map_err(|error| invalid(&error.to_string()))?;
    let info = info.map(|info| introduction::client_info(&info));
    let envelope = Envelope::new(Era::Legacy, capabilities, info);
    let session = Arc::new(Session::new(key, version, Arc::clone(principal), envelope));
    gateway.fleet.settle(gateway.settings.start_patience).await;
    let sight = gateway.published().sight(&gateway.gate.standing(principal));
    let greeting = sight.greeting.initialize(version).to_string();
    let answer = error::result_answer(message.id().unwrap_or(b"null"), greeting.as_bytes());
    Ok((session, answer))
}

/// What a client is told of bytes that are no message, and the id where it could be read.
pub fn unreadable(error: &Unreadable) -> (ErrorReply, Option<Bytes>) {
    match error {
        Unreadable::NotJson(malformed) => {
            (ErrorReply::new(Code::ParseError, format!("Parse error: {malformed}")), None)
        }
        Unreadable::NotAMessage { what, id } => {
            (ErrorReply::new(Code::InvalidRequest, format!("Invalid request: {what}")), id.clone())
        }
        Unreadable::Batch => (
            ErrorReply::new(
                Code::InvalidRequest,
                "Invalid request: the negotiated revision has no batches; send one message at a time",
            ),
            None,
        ),
    }
}

/// The arguments that a tool wants repeated in headers must be there and must agree with the body.
pub fn check_parameters(
    gateway: &Gateway,
    client: &Client,
    message: &Message,
    headers: Headers<'_>,
) -> Result<(), Refusal> {
    if client.era() != Era::Modern || message.method() != Some(Method::ToolsCall) {
        return Ok(());
    }
    let published = gateway.published();
    let Some(item) = message.field_text(Field::Name).and_then(|name| published.catalog.tool(&name)) else {
        return Ok(());
    };
    // What is hidden wants no headers, or they would tell that it is there.
    if !item.entry().annotations().is_empty() && !lists::is_visible(gateway, client, item) {
        return Ok(());
    }
    let arguments = message.field(Field::Arguments).unwrap_or(b"{}");
    for annotation in item.entry().annotations() {
        let name = format!("{}{}", header::PARAMETER_PREFIX, annotation.header.to_ascii_lowercase());
        let stated = headers.named(&name);
        let readable = stated.and_then(headers::plain);
        let is_readable = stated.is_some() == readable.is_some();
        if !is_readable || !parameter::repeats(readable, arguments, &annotation.path) {
            let path = annotation.path.join(".");
            let what = format!("Header mismatch: {name} does not say what argument '{path}' says");
            let reply = ErrorReply::new(Code::HeaderMismatch, what);
            return Err(Refusal::new(StatusCode::BAD_REQUEST, reply, Era::Modern).to(message.id()));
        }
    }
    Ok(())
}

/// An answer with this result.
fn result(message: &Message, result: &[u8]) -> Outcome {
    Outcome::Answer(Last::plain(error::result_answer(message.id().unwrap_or(b"null"), result), None))
}

/// Whether an object has a member, without more ado.
fn has_member(object: &[u8], key: &str) -> bool {
    Object::parse(object).is_ok_and(|object| object.get(key).is_some())
}
