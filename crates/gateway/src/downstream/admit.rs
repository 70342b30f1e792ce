//! Which client an HTTP request is of, and in which era it speaks.

use std::sync::Arc;

use http::{HeaderName, StatusCode};
use toolgate_client::Caller;
use toolgate_protocol::era::Envelope;
use toolgate_protocol::message::{Field, MetaField};
use toolgate_protocol::{Code, Era, ErrorReply, Kind, Message, Method, Version, header, text};

use crate::downstream::headers::Headers;
use crate::downstream::respond::Refusal;
use crate::gateway::Gateway;
use crate::principal::Principal;
use crate::session::{Client, Session};

// Made once: a name that is looked up as text is read and hashed anew each time.
static PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
static SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);
static METHOD: HeaderName = HeaderName::from_static(header::METHOD);
static NAME: HeaderName = HeaderName::from_static(header::NAME);

/// Who sent a message.
#[derive(Debug)]
pub enum Admitted {
    /// A client that is known.
    Client(Client),
    /// A legacy client that begins.
    Beginner,
}

/// Finds the client of a message that came by `POST /mcp`.
pub fn admit(
    gateway: &Gateway,
    message: &Message,
    headers: Headers<'_>,
    principal: &Arc<Principal>,
) -> Result<Admitted, Refusal> {
    let stated = message.meta_text(MetaField::ProtocolVersion);
    let header = headers.text(&PROTOCOL_VERSION);
    let modern = stated.is_some() || header.is_some_and(|date| Version::dated(date) == Some(Version::NEWEST));
    if modern {
        check_headers(message, headers).map_err(|refusal| refusal.to(message.id()))?;
        return admit_modern(message, principal).map(Admitted::Client);
    }
    if message.method() == Some(Method::Initialize) && message.kind() == Kind::Request {
        return Ok(Admitted::Beginner);
    }
    let session = session(gateway, headers, principal).map_err(|refusal| refusal.to(message.id()))?;
    Ok(Admitted::Client(Client::Legacy(session)))
}

/// A modern client, as it says of itself in the request.
pub fn admit_modern(message: &Message, principal: &Arc<Principal>) -> Result<Client, Refusal> {
    let refuse = |code, what: String| {
        Refusal::new(StatusCode::BAD_REQUEST, ErrorReply::new(code, what), Era::Modern).to(message.id())
    };
    // A notification says nothing of its client.
    if message.kind() != Kind::Request {
        let envelope = Envelope::new(Era::Modern, "{}".into(), None);
        return Ok(modern(envelope, principal));
    }
    let Some(date) = message.meta_text(MetaField::ProtocolVersion) else {
        let key = MetaField::ProtocolVersion.key();
        return Err(refuse(Code::InvalidParams, format!("'params._meta' must have '{key}'")));
    };
    if Version::dated(&date).map(Version::era) != Some(Era::Modern) {
        return Err(unsupported(&date, message.id()));
    }
    let Some(envelope) = Envelope::of_modern_request(message) else {
        let key = MetaField::ClientCapabilities.key();
        return Err(refuse(Code::InvalidParams, format!("'params._meta' must have '{key}'")));
    };
    if !envelope.capabilities.starts_with(b"{") {
        let key = MetaField::ClientCapabilities.key();
        return Err(refuse(Code::InvalidParams, format!("'{key}' must be an object")));
    }
    Ok(modern(envelope, principal))
}

/// A modern client that says this of itself.
pub fn modern(envelope: Envelope, principal: &Arc<Principal>) -> Client {
    // All requests of one caller count as one client: nothing else tells modern clients apart.
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    principal.id.hash(&mut hasher);
    let caller = Caller { key: hasher.finish(), envelope, log_level: None };
    Client::Modern { caller: Arc::new(caller), principal: Arc::clone(principal) }
}

/// The session that the headers name.
pub fn session(
    gateway: &Gateway,
    headers: Headers<'_>,
    principal: &Arc<Principal>,
) -> Result<Arc<Session>, Refusal> {
    let refuse = |status, what: &str| {
        Err(Refusal::new(status, ErrorReply::new(Code::InvalidRequest, what), Era::Legacy))
    };
    let Some(id) = headers.text(&SESSION_ID) else {
        return refuse(
            StatusCode::BAD_REQUEST,
            "the 'Mcp-Session-Id' header is missing; begin with 'initialize'",
        );
    };
    if let Some(date) = headers.text(&PROTOCOL_VERSION)
        && Version::dated(date).is_none()
    {
        return Err(unsupported(date, None));
    }
    match gateway.sessions.find(id, principal, &gateway.seal) {
        Some(session) => Ok(session),
        None => refuse(StatusCode::NOT_FOUND, "there is no such session; begin anew with 'initialize'"),
    }
}

/// The headers must say what the body says, so that nobody in between decides on something else.
fn check_headers(message: &Message, headers: Headers<'_>) -> Result<(), Refusal> {
    if message.kind() != Kind::Request {
        return Ok(());
    }
    if let Some(body) = message.meta_text(MetaField::ProtocolVersion) {
        let stated = headers.text(&PROTOCOL_VERSION);
        if stated != Some(&*body) {
            return Err(mismatch("MCP-Protocol-Version", stated, &body));
        }
    }
    let method = message.method_name().unwrap_or_default();
    let stated = headers.text(&METHOD);
    if stated != Some(&*method) {
        return Err(mismatch("Mcp-Method", stated, &method));
    }
    let named = match message.method() {
        Some(Method::ToolsCall | Method::PromptsGet) => message.field_text(Field::Name),
        Some(Method::ResourcesRead) => message.field_text(Field::Uri),
        Some(Method::TasksGet | Method::TasksCancel | Method::TasksUpdate) => {
            message.field_text(Field::TaskId)
        }
        _ => None,
    };
    let Some(named) = named else { return Ok(()) };
    let stated = headers.text(&NAME);
    if stated.and_then(header::decode).as_deref() != Some(&*named) {
        return Err(mismatch("Mcp-Name", stated, &named));
    }
    Ok(())
}

fn mismatch(name: &str, stated: Option<&str>, body: &str) -> Refusal {
    let stated = stated.map_or("is missing".to_owned(), |value| format!("value '{value}' does not match"));
    let what = format!("Header mismatch: {name} header {stated}, the body says '{body}'");
    Refusal::new(StatusCode::BAD_REQUEST, ErrorReply::new(Code::HeaderMismatch, what), Era::Modern)
}

fn unsupported(date: &str, id: Option<&[u8]>) -> Refusal {
    let reply =
        ErrorReply::new(Code::UnsupportedVersion, format!("protocol version '{date}' is not supported"))
            .with_data(format!(
                r#"{{"supported":["{}"],"requested":{}}}"#,
                Version::NEWEST.date(),
                text::quote(date)
            ));
    Refusal::new(StatusCode::BAD_REQUEST, reply, Era::Modern).to(id)
}
