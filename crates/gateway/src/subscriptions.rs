//! Who wants to hear of which resource.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use toolgate_governance::Subject;

use crate::gate::Gate;
use crate::isolated::Owner;
use crate::listen::Listener;
use crate::principal::Principal;
use crate::session::Session;

/// How many resources one client may watch.
const MAX_PER_CLIENT: usize = 1024;

/// Someone who hears of changes.
#[derive(Clone, Debug)]
pub enum Subscriber {
    Legacy(Weak<Session>),
    Modern(Weak<Listener>),
}

impl Subscriber {
    fn key(&self) -> usize {
        match self {
            Subscriber::Legacy(session) => session.as_ptr() as usize,
            Subscriber::Modern(listener) => listener.as_ptr() as usize,
        }
    }

    fn is_gone(&self) -> bool {
        match self {
            Subscriber::Legacy(session) => session.strong_count() == 0,
            Subscriber::Modern(listener) => listener.strong_count() == 0,
        }
    }

    /// Tells it, if it is there and may still know of the resource.
    fn tell(&self, exposed: &str, params: &[u8], may_know: impl Fn(&Principal) -> bool) {
        match self {
            Subscriber::Legacy(session) => {
                if let Some(session) = session.upgrade().filter(|session| may_know(&session.principal)) {
                    session.mailbox.push(updated(exposed, params));
                }
            }
            Subscriber::Modern(listener) => {
                if let Some(listener) = listener.upgrade().filter(|listener| may_know(&listener.principal)) {
                    listener.updated(exposed);
                }
            }
        }
    }
}

/// A resource of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Watched {
    pub server: Arc<str>,
    /// Whose server it is, where each client has its own.
    pub owner: Option<Owner>,
    pub native: Arc<str>,
}

/// Too many resources are watched by one client.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("a client may watch at most {MAX_PER_CLIENT} resources")]
pub struct TooMany;

/// For each resource, who watches it and under which URI.
type Table = HashMap<Watched, Vec<(Subscriber, Arc<str>)>>;

/// All subscriptions.
#[derive(Debug, Default)]
pub struct Subscriptions {
    /// Rules change, and with them who may hear of what was subscribed to before.
    gate: Arc<Gate>,
    table: Mutex<Table>,
}

impl Subscriptions {
    /// None yet; who may hear of what is asked at this gate.
    pub fn new(gate: Arc<Gate>) -> Subscriptions {
        Subscriptions { gate, table: Mutex::default() }
    }

    /// Enters one. `exposed` is the URI that this client knows. Gives what the server must be asked to watch now.
    pub fn add(
        &self,
        watched: Watched,
        exposed: Arc<str>,
        subscriber: Subscriber,
    ) -> Result<BTreeSet<String>, TooMany> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let key = subscriber.key();
        let of_client = table.values().flatten().filter(|(other, _)| other.key() == key).count();
        if of_client >= MAX_PER_CLIENT {
            return Err(TooMany);
        }
        let subscribers = table.entry(watched.clone()).or_default();
        if !subscribers.iter().any(|(other, _)| other.key() == key) {
            subscribers.push((subscriber, exposed));
        }
        Ok(watched_of(&table, &watched.server, watched.owner.as_ref()))
    }

    /// Takes one out. Gives what the server must be asked to watch now.
    pub fn remove(&self, watched: &Watched, subscriber: &Subscriber) -> BTreeSet<String> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(subscribers) = table.get_mut(watched) {
            subscribers.retain(|(other, _)| other.key() != subscriber.key() && !other.is_gone());
            if subscribers.is_empty() {
                table.remove(watched);
            }
        }
        watched_of(&table, &watched.server, watched.owner.as_ref())
    }

    /// What of a server, or of the one that a client has for itself, is watched.
    pub fn watched(&self, server: &Arc<str>, owner: Option<&Owner>) -> BTreeSet<String> {
        let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        watched_of(&table, server, owner)
    }

    /// Takes out those who are gone. Gives the servers, and whose they are, whose watched resources changed, with what is
    /// left.
    pub fn sweep(&self) -> Vec<(Arc<str>, Option<Owner>, BTreeSet<String>)> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let mut servers = BTreeSet::new();
        table.retain(|watched, subscribers| {
            subscribers.retain(|(subscriber, _)| !subscriber.is_gone());
            if subscribers.is_empty() {
                servers.insert((Arc::clone(&watched.server), watched.owner.clone()));
            }
            !subscribers.is_empty()
        });
        let left = |(server, owner): (Arc<str>, Option<Owner>)| {
            let uris = watched_of(&table, &server, owner.as_ref());
            (server, owner, uris)
        };
        servers.into_iter().map(left).collect()
    }

    /// Tells all who want to hear that a resource changed.
    pub fn changed(&self, watched: &Watched, params: &[u8]) {
        let subscribers = {
            let table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
            table.get(watched).cloned().unwrap_or_default()
        };
        for (subscriber, exposed) in subscribers {
            let resource = Subject::resource(&watched.server, &watched.native).exposed_as(&exposed);
            let may_know = |principal: &Principal| self.gate.standing(principal).is_visible(&resource, None);
            subscriber.tell(&exposed, params, may_know);
        }
    }
}

fn watched_of(table: &Table, server: &Arc<str>, owner: Option<&Owner>) -> BTreeSet<String> {
    table
        .keys()
        .filter(|watched| watched.server == *server && watched.owner.as_ref() == owner)
        .map(|watched| watched.native.to_string())
        .collect()
}

/// The notification with the URI that the client knows.
fn updated(exposed: &str, params: &[u8]) -> Bytes {
    use toolgate_protocol::{Method, Object, Splice, text};
    let mut params = params.to_vec();
    if let Some(place) = Object::parse(&params).ok().and_then(|object| object.place("uri")) {
        let mut splice = Splice::new(&params, exposed.len());
        splice.replace(place, text::quote(exposed).as_bytes());
        params = splice.finish();
    }
    crate::relay::notice::write(Method::ResourceUpdated.name(), Some(&params))
}
