//! Requests to servers that rely on the gate in what concerns callers: those in this process, which know none, and the
//! workers of handlers, which believe what the gate says of them.
//!
//! A tool that reads a resource for models that cannot read it themselves must not be a way around the rules for that
//! resource: to call it is to read the resource, by permission, limits and record. And what speaks of many resources
//! at once is told which of them this caller must not learn of.

use std::sync::Arc;

use bytes::Bytes;
use toolgate_governance::{ArgumentProblem, Narrowing, Subject};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, ErrorReply, Message, Method, Object, Splice, object, text};

use crate::catalog::{Item, Kind};
use crate::enforce::denial;
use crate::enforce::refuse::{self, Stopped};
use crate::gateway::Gateway;
use crate::published::{Published, Regard};
use crate::router::{self, Routed, Target};
use crate::session::Client;

/// In the `_meta` of a tool: the argument that names the resource it reads.
const READS: &str = "io.toolgate/reads";
/// In the `_meta` of a tool: it speaks of resources.
const SHOWS_RESOURCES: &str = "io.toolgate/shows-resources";
/// In the `_meta` of a request: the resources that the caller must not learn of.
const HIDDEN: &str = "io.toolgate/hidden";
/// In the `_meta` of a request: who calls.
const CALLER: &str = "io.toolgate/caller";

/// A request as such a server shall see it.
pub(super) struct Prepared {
    pub(super) message: Message,
    pub(super) routed: Routed,
}

/// Prepares a request for such a server; nothing where it can stay as it is.
pub(super) fn prepare(
    gateway: &Gateway,
    client: &Client,
    narrowing: Option<&Narrowing>,
    published: &Published,
    message: &Message,
    routed: &Routed,
) -> Result<Option<Prepared>, Stopped> {
    if routed.regard == Regard::Caller {
        unsaid(message, CALLER)?;
        return Ok(None);
    }
    if !routed.member.is_in_process() {
        return Ok(None);
    }
    let tool = match message.method() {
        Some(Method::ToolsCall) => {
            message.field_text(Field::Name).and_then(|name| published.catalog.tool(&name))
        }
        _ => None,
    };
    let Some(tool) = tool else {
        let uri = message.field_text(Field::Uri).unwrap_or_default();
        if message.method() == Some(Method::DirectoryRead) && routed.skill.is_none() {
            holds_something(gateway, client, narrowing, published, routed, &uri)?;
            return without_hidden(gateway, client, narrowing, published, message);
        }
        let lists = speaks_of_many(&uri);
        return if lists { without_hidden(gateway, client, narrowing, published, message) } else { Ok(None) };
    };
    if let Some(argument) = tool.entry().meta_text(READS) {
        return reading(gateway, client, narrowing, published, message, tool, &argument).map(Some);
    }
    let shows = tool.entry().has_meta(SHOWS_RESOURCES);
    if shows { without_hidden(gateway, client, narrowing, published, message) } else { Ok(None) }
}

/// The call of a tool that reads a resource, as a read of that resource.
fn reading(
    gateway: &Gateway,
    client: &Client,
    narrowing: Option<&Narrowing>,
    published: &Published,
    message: &Message,
    tool: &Item,
    argument: &str,
) -> Result<Prepared, Stopped> {
    let gate = &gateway.gate;
    let called = router::resolve(published, message)?;
    let target = Target::of(tool, toolgate_governance::Kind::Tool, None);
    let target = called.target.clone().unwrap_or_else(|| Arc::new(target));
    denial::permission(gate, client, narrowing, &target, message)?;
    let arguments = message.field(Field::Arguments).unwrap_or(b"{}");
    let uri = Object::parse(arguments).ok().and_then(|arguments| arguments.text(argument).map(String::from));
    let uri = uri.ok_or_else(|| {
        let problem = ArgumentProblem::said(format!("/{argument}"), "it must be a string".to_owned());
        denial::deny(gate, client, &target, message, &problem.into())
    })?;
    let unknown = |reply| denial::unrouted(gate, client, message, reply);
    let resource = router::resource(published, None, &uri).map_err(unknown)?;
    // What another server has is not this tool's to read.
    if !Arc::ptr_eq(&resource.member, &called.member) {
        return Err(unknown(refuse::unknown(toolgate_governance::Kind::Resource, &uri)).into());
    }
    let routed = Routed { target: resource.target, skill: resource.skill, ..called };
    Ok(Prepared { message: message.clone(), routed })
}

/// Whether a folder of skills has one that the caller may see. One that has none is as if it were not there.
fn holds_something(
    gateway: &Gateway,
    client: &Client,
    narrowing: Option<&Narrowing>,
    published: &Published,
    routed: &Routed,
    folder: &str,
) -> Result<(), ErrorReply> {
    let standing = gateway.gate.standing(client.principal());
    let is_inside = |item: &&Item| {
        let rest = item.native().strip_prefix(folder);
        item.server_name() == routed.member.server.name() && rest.is_some_and(|rest| rest.starts_with('/'))
    };
    let mut inside = published.catalog.items(Kind::Resource).iter().filter(is_inside);
    let is_seen =
        |item: &Item| standing.is_visible(&Subject::resource(item.server_name(), item.native()), narrowing);
    match inside.any(is_seen) {
        true => Ok(()),
        false => Err(refuse::unknown(toolgate_governance::Kind::Resource, folder)),
    }
}

/// A request with the list of what is hidden from its caller.
fn without_hidden(
    gateway: &Gateway,
    client: &Client,
    narrowing: Option<&Narrowing>,
    published: &Published,
    message: &Message,
) -> Result<Option<Prepared>, Stopped> {
    let routed = router::resolve(published, message)?;
    let standing = gateway.gate.standing(client.principal());
    let own = published.catalog.items(Kind::Resource).iter();
    let own = own.filter(|item| item.server_name() == routed.member.server.name());
    let is_hidden =
        |item: &&Item| !standing.is_visible(&Subject::resource(item.server_name(), item.native()), narrowing);
    let hidden: Vec<String> = own.filter(is_hidden).map(|item| text::quote(item.native())).collect();
    if hidden.is_empty() {
        unsaid(message, HIDDEN)?;
        return Ok(None);
    }
    Ok(Some(with_meta(published, message, HIDDEN, &format!("[{}]", hidden.join(",")))?))
}

/// What a handler is told of its caller, as a member of `_meta`.
pub(super) fn told_of(client: &Client) -> Arc<str> {
    let principal = client.principal();
    let groups: Vec<String> = principal.groups.iter().map(|group| text::quote(group)).collect();
    let (id, groups) = (text::quote(&principal.id), groups.join(","));
    format!(r#""{CALLER}":{{"id":{id},"groups":[{groups}]}}"#).into()
}

/// A client must not say what only the gate says.
fn unsaid(message: &Message, key: &str) -> Result<(), ErrorReply> {
    let meta = message.place(Field::Meta);
    if meta.is_some_and(|meta| object::value_of(meta.of(message.bytes()), key).is_some()) {
        return Err(ErrorReply::new(Code::InvalidParams, format!("'_meta' must not have '{key}'")));
    }
    Ok(())
}

/// A request with one more member in its `_meta`.
fn with_meta(
    published: &Published,
    message: &Message,
    key: &str,
    value: &str,
) -> Result<Prepared, ErrorReply> {
    unsaid(message, key)?;
    let member = format!(r#""{key}":{value}"#);
    let mut splice = Splice::new(message.bytes(), member.len() + 16);
    let unreadable = || ErrorReply::new(Code::InternalError, "the request could not be prepared");
    match (message.place(Field::Meta), message.body_place()) {
        (Some(meta), _) => splice.insert_members(meta, member.as_bytes()),
        (None, Some(params)) => splice.insert_members(params, format!(r#""_meta":{{{member}}}"#).as_bytes()),
        (None, None) => return Err(unreadable()),
    };
    let message = Message::parse(Bytes::from(splice.finish())).map_err(|_| unreadable())?;
    let routed = router::resolve(published, &message)?;
    Ok(Prepared { message, routed })
}

/// Whether a URI stands for a list: `skill://category/*`.
fn speaks_of_many(uri: &str) -> bool {
    uri.split('?').next().is_some_and(|pattern| pattern.ends_with("/*"))
}
