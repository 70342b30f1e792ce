//! What a client wants to hear of: resources, lists, logs.

use std::sync::Arc;

use bytes::Bytes;
use toolgate_governance::{Kind, Narrowing};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, ErrorReply, Message};

use crate::enforce::{self, denial};
use crate::gateway::Gateway;
use crate::isolated::Owner;
use crate::listen::{Filter, Listener};
use crate::pipeline::{Outcome, result};
use crate::relay::notice;
use crate::router::{self, Target};
use crate::session::{Client, Session};
use crate::subscriptions::{Subscriber, Watched};

/// `subscriptions/listen` of a modern client.
pub async fn listen(
    gateway: &Arc<Gateway>,
    client: &Client,
    narrowing: Option<&Narrowing>,
    message: &Message,
) -> Result<Outcome, ErrorReply> {
    let mut filter = Filter::of(message)?;
    if !filter.uris.is_empty() {
        // What a server that is still starting has can be watched too.
        gateway.fleet.settle(gateway.settings.start_patience).await;
    }
    // A resource that is not there cannot be watched; the acknowledgement says what is.
    let mut watched = Vec::new();
    filter.uris.retain(|uri| match watch(gateway, client, narrowing, uri, message) {
        Ok(one) => {
            watched.extend(one.map(|one| (one, uri.as_str().into())));
            true
        }
        Err(_) => false,
    });
    let id = message.id().map(Bytes::copy_from_slice).unwrap_or_default();
    let listener = Arc::new(Listener::open(id, filter, Arc::clone(client.principal())));
    gateway.listeners.add(&listener)?;
    for (one, exposed) in watched {
        begin(gateway, client, one, exposed, Subscriber::Modern(Arc::downgrade(&listener)))?;
    }
    Ok(Outcome::Listening(listener))
}

/// `resources/subscribe` of a legacy client.
pub async fn subscribe(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    narrowing: Option<&Narrowing>,
    message: &Message,
) -> Result<Outcome, ErrorReply> {
    gateway.fleet.settle(gateway.settings.start_patience).await;
    let uri = uri(message)?;
    let client = Client::Legacy(Arc::clone(session));
    if let Some(watched) = watch(gateway, &client, narrowing, &uri, message)? {
        begin(gateway, &client, watched, uri.as_str().into(), Subscriber::Legacy(Arc::downgrade(session)))?;
    }
    Ok(result(message, b"{}"))
}

/// `resources/unsubscribe` of a legacy client.
pub fn unsubscribe(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    narrowing: Option<&Narrowing>,
    message: &Message,
) -> Result<Outcome, ErrorReply> {
    let uri = uri(message)?;
    if let Some(watched) = watch(gateway, &Client::Legacy(Arc::clone(session)), narrowing, &uri, message)? {
        let left = gateway.subscriptions.remove(&watched, &Subscriber::Legacy(Arc::downgrade(session)));
        gateway.watch(&watched.server, watched.owner.as_ref(), left);
    }
    Ok(result(message, b"{}"))
}

/// `logging/setLevel` of a legacy client: servers log the least severe level that any client wants.
pub fn set_level(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    message: &Message,
) -> Result<Outcome, ErrorReply> {
    let level = message.field_text(Field::Level).unwrap_or_default();
    if notice::severity(&level).is_none() {
        return Err(ErrorReply::new(Code::InvalidParams, "'params.level' must be the name of a log level"));
    }
    session.set_log_level(&level);
    let mut least = level.to_string();
    gateway.each_session(|other| {
        if let Some(wanted) = &other.caller().log_level
            && notice::severity(wanted) < notice::severity(&least)
        {
            least.clone_from(wanted);
        }
    });
    for member in gateway.fleet.members().iter() {
        member.server.set_log_level(&least);
    }
    for own in gateway.isolated.of_session(session.key) {
        own.set_log_level(&level);
    }
    Ok(result(message, b"{}"))
}

fn uri(message: &Message) -> Result<String, ErrorReply> {
    let uri = message.field_text(Field::Uri);
    uri.map(String::from).ok_or_else(|| ErrorReply::new(Code::InvalidParams, "'params.uri' must be a string"))
}

/// What is watched for a resource. One that the caller must not see is like one that nobody lists: where such a one is
/// accepted, on the word of the only server that could have it, so is this, and nothing will be heard of it.
fn watch(
    gateway: &Gateway,
    client: &Client,
    narrowing: Option<&Narrowing>,
    uri: &str,
    message: &Message,
) -> Result<Option<Watched>, ErrorReply> {
    let place = Some(toolgate_protocol::Span::new(0, 0));
    let published = gateway.published();
    let routed = router::resource(&published, place, uri).inspect_err(|reply| {
        denial::missing(&gateway.gate, client, (Kind::Resource, uri), message, reply);
    })?;
    let hidden = |target: &Target| !enforce::is_visible(&gateway.gate, client.principal(), narrowing, target);
    if let Some(target) = &routed.target
        && let Some(keeper) =
            [Some(&**target), routed.skill.as_ref()].into_iter().flatten().find(|one| hidden(one))
    {
        denial::hidden_with(&gateway.gate, client, narrowing, keeper, target, message);
        return match published.catalog.takes_unlisted_resources() {
            true => Ok(None),
            false => Err(enforce::refuse::unknown(Kind::Resource, uri)),
        };
    }
    let native = routed.native.map_or_else(|| uri.into(), |(_, native)| native);
    let owner = routed.member.desired.isolated.then(|| Owner::of(client));
    Ok(Some(Watched { server: Arc::clone(routed.member.server.name()), owner, native }))
}

fn begin(
    gateway: &Gateway,
    client: &Client,
    watched: Watched,
    exposed: Arc<str>,
    subscriber: Subscriber,
) -> Result<(), ErrorReply> {
    let (server, owner) = (Arc::clone(&watched.server), watched.owner.clone());
    // Who listens to a server of its own needs one.
    if owner.is_some()
        && let Some(member) = gateway.fleet.member(&server)
    {
        let own = gateway.isolated.server(&member, client, &gateway.tracker);
        own.map_err(|error| ErrorReply::new(Code::ExecutionError, error.to_string()))?;
    }
    let uris = gateway
        .subscriptions
        .add(watched, exposed, subscriber)
        .map_err(|error| ErrorReply::new(Code::InvalidParams, error.to_string()))?;
    gateway.watch(&server, owner.as_ref(), uris);
    Ok(())
}
