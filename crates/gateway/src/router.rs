//! Which server a request is for, and what that server calls what it names.

use std::sync::Arc;

use toolgate_governance::{Kind, Micros};
use toolgate_protocol::header::parameter;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, ErrorReply, Message, Method, Object, Span};

use crate::catalog::{Item, Route};
use crate::enforce::refuse;
use crate::fleet::Member;
use crate::published::{Published, Regard};

/// The longest name or URI that anything is looked for by, in bytes. Names come from outside, and each is compared,
/// remembered and written down.
pub const MAX_NAME: usize = 8 * 1024;

/// What a request is about, as policy and ledger name it.
#[derive(Clone, Debug)]
pub struct Target {
    pub kind: Kind,
    pub server: Arc<str>,
    /// The name that the client knows.
    pub exposed: Arc<str>,
    /// The name that the server knows.
    pub native: Arc<str>,
    /// What its server says it costs, where the server is believed.
    pub declared_price: Option<Micros>,
}

/// A request with its server.
#[derive(Debug)]
pub struct Routed {
    pub member: Arc<Member>,
    /// Nothing for requests about a task, which name neither tool nor resource.
    pub target: Option<Arc<Target>>,
    /// The document of the skill that the target is a file of. Who may not see it may not see its files.
    pub skill: Option<Target>,
    /// Where the exposed name stands, and what the server calls it; nothing where the two are the same.
    pub native: Option<(Span, Arc<str>)>,
    /// `Mcp-Param-…` headers that the tool wants.
    pub parameters: Vec<(String, String)>,
    /// What the tool looks at.
    pub regard: Regard,
}

impl Target {
    /// What an item of the catalogue is to policy and ledger.
    pub fn of(item: &Item, kind: Kind, declared_price: Option<Micros>) -> Target {
        Target {
            kind,
            server: Arc::clone(item.server_name()),
            exposed: Arc::clone(item.exposed_name()),
            native: Arc::clone(item.native()),
            declared_price,
        }
    }
}

impl Routed {
    /// A request for a target, which it names at `place`.
    fn new(member: &Arc<Member>, target: Arc<Target>, place: Option<Span>) -> Routed {
        let renamed = place.filter(|_| target.native != target.exposed);
        Routed {
            member: Arc::clone(member),
            native: renamed.map(|place| (place, Arc::clone(&target.native))),
            target: Some(target),
            skill: None,
            parameters: Vec::new(),
            regard: Regard::Anything,
        }
    }
}

/// Finds the server of a request.
pub fn resolve(published: &Published, message: &Message) -> Result<Routed, ErrorReply> {
    match message.method() {
        Some(Method::ToolsCall) => {
            let name = required(message, Field::Name, "name")?;
            let unknown = || refuse::unknown(Kind::Tool, &name);
            let item = published.catalog.tool(&name).ok_or_else(unknown)?;
            let member = published.members.get(item.server()).ok_or_else(no_such_server)?;
            let tool = published.tool(item.exposed_name()).ok_or_else(unknown)?;
            let routed = Routed::new(member, Arc::clone(&tool.target), message.place(Field::Name));
            Ok(Routed { parameters: parameters(item, message), regard: tool.regard.clone(), ..routed })
        }
        Some(Method::PromptsGet) => {
            let name = required(message, Field::Name, "name")?;
            let item = published.catalog.prompt(&name).ok_or_else(|| refuse::unknown(Kind::Prompt, &name))?;
            prompt(published, item, message.place(Field::Name))
        }
        Some(Method::ResourcesRead | Method::ResourcesSubscribe | Method::ResourcesUnsubscribe) => {
            let uri = required(message, Field::Uri, "uri")?;
            resource(published, message.place(Field::Uri), &uri)
        }
        Some(Method::SkillsGet) => {
            let uri = required(message, Field::Uri, "uri")?;
            of_route(published, published.catalog.skill(&uri), message.place(Field::Uri), &uri)
        }
        Some(Method::DirectoryRead) => {
            let uri = required(message, Field::Uri, "uri")?;
            of_route(published, published.catalog.folder(&uri), message.place(Field::Uri), &uri)
        }
        Some(Method::Complete) => completion(published, message),
        _ => Err(ErrorReply::new(Code::MethodNotFound, "this method has no server")),
    }
}

/// Finds the server of a resource.
pub fn resource(published: &Published, place: Option<Span>, uri: &str) -> Result<Routed, ErrorReply> {
    of_route(published, published.catalog.resource(uri), place, uri)
}

fn of_route(
    published: &Published,
    route: Option<Route>,
    place: Option<Span>,
    uri: &str,
) -> Result<Routed, ErrorReply> {
    bounded(uri, "uri")?;
    let missing = || refuse::unknown(Kind::Resource, uri);
    let route = route.ok_or_else(missing)?;
    let member = published.members.get(route.server).ok_or_else(missing)?;
    let target = Target {
        kind: Kind::Resource,
        server: route.server_name,
        exposed: uri.into(),
        native: route.native,
        declared_price: None,
    };
    let skill = route.skill.map(|document| Target { native: document, ..target.clone() });
    Ok(Routed { skill, ..Routed::new(member, Arc::new(target), place) })
}

fn prompt(published: &Published, item: &Item, place: Option<Span>) -> Result<Routed, ErrorReply> {
    let member = published.members.get(item.server()).ok_or_else(no_such_server)?;
    let target = Target::of(item, Kind::Prompt, member.declared_price(item.entry()));
    Ok(Routed::new(member, Arc::new(target), place))
}

fn no_such_server() -> ErrorReply {
    ErrorReply::new(Code::InternalError, "the catalogue names a server that is not there")
}

/// A completion is for a prompt or for a template, both named in `ref`.
fn completion(published: &Published, message: &Message) -> Result<Routed, ErrorReply> {
    let invalid = |what: &str| ErrorReply::new(Code::InvalidParams, what);
    let place = message.place(Field::Ref).ok_or_else(|| invalid("'params.ref' is missing"))?;
    let reference =
        Object::parse(place.of(message.bytes())).map_err(|_| invalid("'params.ref' must be an object"))?;
    let within = |key| reference.place(key).map(|inner: Span| inner.shifted(place.start()));
    match reference.text("type").as_deref() {
        Some("ref/prompt") => {
            let name = reference.text("name").ok_or_else(|| invalid("'params.ref.name' is missing"))?;
            let item = published.catalog.prompt(&name).ok_or_else(|| refuse::unknown(Kind::Prompt, &name))?;
            prompt(published, item, within("name"))
        }
        Some("ref/resource") => {
            let uri = reference.text("uri").ok_or_else(|| invalid("'params.ref.uri' is missing"))?;
            of_route(published, published.catalog.template(&uri), within("uri"), &uri)
        }
        _ => Err(invalid("'params.ref.type' must be ref/prompt or ref/resource")),
    }
}

fn parameters(item: &Item, message: &Message) -> Vec<(String, String)> {
    let annotations = item.entry().annotations();
    if annotations.is_empty() {
        return Vec::new();
    }
    let arguments = message.field(Field::Arguments).unwrap_or(b"{}");
    annotations
        .iter()
        .filter_map(|annotation| {
            let value = parameter::value(arguments, &annotation.path)?;
            Some((annotation.header.clone(), value.into_owned()))
        })
        .collect()
}

fn required<'a>(
    message: &'a Message,
    field: Field,
    name: &str,
) -> Result<std::borrow::Cow<'a, str>, ErrorReply> {
    let text = message
        .field_text(field)
        .ok_or_else(|| ErrorReply::new(Code::InvalidParams, format!("'params.{name}' must be a string")))?;
    bounded(&text, name)?;
    Ok(text)
}

fn bounded(text: &str, name: &str) -> Result<(), ErrorReply> {
    if text.len() <= MAX_NAME {
        return Ok(());
    }
    let what = format!("'params.{name}' has {} bytes, at most {MAX_NAME} are looked at", text.len());
    Err(ErrorReply::new(Code::InvalidParams, what))
}
