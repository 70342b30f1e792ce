//! Servers of one client alone: what `isolation: client` asks for.
//!
//! A server that keeps something of its client between calls must not be shared. Each client then gets one of its own,
//! started with its first call. What one client is depends on its era: a legacy client is its session; a modern one has
//! none, so all requests of one caller are one client. The server ends with the session, or when its client has been
//! silent for long, because most clients leave without a word. The one that all clients share only lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use toolgate_client::{News, Question, Reply, Server, What};
use toolgate_protocol::{Code, Era, ErrorReply, Method, Object};

use crate::fleet::Member;
use crate::relay::notice;
use crate::session::{Client, Session};
use crate::subscriptions::{Subscriptions, Watched};

/// How many such servers there may be.
const CAPACITY: usize = 1024;
/// How many pieces of news of one may wait.
const NEWS: usize = 64;
/// How long a client may be silent whose record says nothing of it (`idle_stop`): one with a session may well be there
/// still, of one without nothing is known.
const SILENCE_OF_SESSION: Duration = Duration::from_secs(60 * 60);
const SILENCE_OF_CALLER: Duration = Duration::from_secs(10 * 60);

/// All servers that belong to one client. A server is stopped when its last handle is dropped, so what is taken out here
/// lives on only until the calls that use it have ended.
#[derive(Debug)]
pub struct Isolated {
    servers: Mutex<HashMap<(Arc<str>, Owner), Own>>,
    subscriptions: Arc<Subscriptions>,
    capacity: usize,
    /// Where they are looked after: not where their clients are, whose threads end before a server has been let go.
    backstage: Handle,
}

/// Whose server it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Owner {
    /// A legacy client, by the key of its session.
    Session(u64),
    /// A modern client, by the name of its caller.
    Caller(Arc<str>),
}

/// A server of one client.
#[derive(Debug)]
struct Own {
    server: Server,
    owner: Owner,
    /// The member it was made from: a changed record makes a new one.
    member: Weak<Member>,
    /// The session that it hears of; of a modern client there is none.
    session: Weak<Session>,
    silence: Duration,
}

/// No more servers of single clients may be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} servers of single clients are running already; end a session, or try again later")]
pub struct TooMany(usize);

impl Isolated {
    /// No servers yet, whose clients hear of changes as `subscriptions` says. They will be looked after on this runtime.
    pub fn new(subscriptions: Arc<Subscriptions>) -> Isolated {
        let backstage = Handle::current();
        Isolated { servers: Mutex::default(), subscriptions, capacity: CAPACITY, backstage }
    }

    /// The server of this client, started where there is none yet.
    pub fn server(
        &self,
        member: &Arc<Member>,
        client: &Client,
        tracker: &TaskTracker,
    ) -> Result<Server, TooMany> {
        let key = (Arc::clone(member.server.name()), Owner::of(client));
        let mut servers = self.lock();
        if let Some(own) = servers.get(&key)
            && own.belongs_to(member, client)
        {
            return Ok(own.server.clone());
        }
        servers.remove(&key);
        if servers.len() >= self.capacity {
            servers.retain(|_, own| !own.is_over(&self.subscriptions));
        }
        if servers.len() >= self.capacity {
            return Err(TooMany(self.capacity));
        }
        let own = self.begin(member, client, tracker);
        let server = own.server.clone();
        servers.insert(key, own);
        Ok(server)
    }

    /// The server that a client has in the place of this one.
    pub fn of_owner(&self, server: &Arc<str>, owner: &Owner) -> Option<Server> {
        self.lock().get(&(Arc::clone(server), owner.clone())).map(|own| own.server.clone())
    }

    /// The servers of a legacy client.
    pub fn of_session(&self, session: u64) -> Vec<Server> {
        let of_session = Owner::Session(session);
        let servers = self.lock();
        servers
            .iter()
            .filter(|((_, owner), _)| *owner == of_session)
            .map(|(_, own)| own.server.clone())
            .collect()
    }

    /// Stops the servers of a legacy client that has left.
    pub fn end_session(&self, session: u64) {
        let of_session = Owner::Session(session);
        self.lock().retain(|(_, owner), _| *owner != of_session);
    }

    /// Stops the servers of clients that are gone or silent, and those whose record has changed.
    pub fn sweep(&self) {
        self.lock().retain(|_, own| !own.is_over(&self.subscriptions));
    }

    /// Stops all of them; their calls may finish for `patience`.
    pub async fn stop(&self, patience: Duration) {
        let servers: Vec<_> = self.lock().drain().map(|(_, own)| own.server).collect();
        futures_util::future::join_all(servers.iter().map(|server| server.stop(patience))).await;
    }

    fn begin(&self, member: &Arc<Member>, client: &Client, tracker: &TaskTracker) -> Own {
        let (news, arriving) = mpsc::channel(NEWS);
        let spec = member.desired.spec.clone();
        let (session, silence) = match client {
            Client::Legacy(session) => (Arc::downgrade(session), SILENCE_OF_SESSION),
            Client::Modern { .. } => (Weak::new(), SILENCE_OF_CALLER),
        };
        let silence = spec.idle_stop.unwrap_or(silence);
        let owner = Owner::of(client);
        let _backstage = self.backstage.enter();
        let server = Server::start(spec, news);
        server.subscribe(self.subscriptions.watched(server.name(), Some(&owner)));
        if let Some(level) = &client.caller().log_level {
            server.set_log_level(level);
        }
        let hearing = Hearing {
            owner: owner.clone(),
            session: Weak::clone(&session),
            subscriptions: Arc::clone(&self.subscriptions),
        };
        tracker.spawn(hearing.hear(arriving));
        Own { server, owner, member: Arc::downgrade(member), session, silence }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<(Arc<str>, Owner), Own>> {
        self.servers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Owner {
    /// What this client is known by.
    pub fn of(client: &Client) -> Owner {
        match client {
            Client::Legacy(session) => Owner::Session(session.key),
            Client::Modern { principal, .. } => Owner::Caller(Arc::clone(&principal.id)),
        }
    }
}

impl Own {
    fn belongs_to(&self, member: &Arc<Member>, client: &Client) -> bool {
        // A session that had to make room and came back by its id is another one to those who hear for it.
        let same_session = match client {
            Client::Legacy(session) => self.session.as_ptr() == Arc::as_ptr(session),
            Client::Modern { .. } => true,
        };
        same_session && self.member.as_ptr() == Arc::as_ptr(member)
    }

    fn is_over(&self, subscriptions: &Subscriptions) -> bool {
        let left = matches!(self.owner, Owner::Session(_)) && self.session.strong_count() == 0;
        left || self.member.strong_count() == 0 || self.is_forgotten(subscriptions)
    }

    /// Whether its client has not called for long and does not listen either.
    fn is_forgotten(&self, subscriptions: &Subscriptions) -> bool {
        self.server.quiet_for().is_some_and(|quiet| quiet > self.silence)
            && subscriptions.watched(self.server.name(), Some(&self.owner)).is_empty()
    }
}

/// Who hears what such a server says outside of calls: its client alone.
struct Hearing {
    owner: Owner,
    session: Weak<Session>,
    subscriptions: Arc<Subscriptions>,
}

impl Hearing {
    async fn hear(self, mut news: mpsc::Receiver<News>) {
        while let Some(News { server, what }) = news.recv().await {
            if let What::ResourceUpdated(params) = &what {
                self.changed(server, params);
                continue;
            }
            let Some(session) = self.session.upgrade() else { continue };
            let told =
                |method: &str, params: &[u8]| session.mailbox.push(notice::write(method, Some(params)));
            match what {
                What::Log(params) => told(Method::LogMessage.name(), &params),
                What::Task(method, params) => told(method, &params),
                What::ElicitationComplete(params) => told(Method::ElicitationComplete.name(), &params),
                What::Ask(question) => ask(&session, question).await,
                // The lists are those of the server that all clients share.
                What::State(_)
                | What::ToolsChanged
                | What::PromptsChanged
                | What::ResourcesChanged
                | What::Heard
                | What::ResourceUpdated(_) => {}
            }
        }
    }

    fn changed(&self, server: Arc<str>, params: &[u8]) {
        let uri = Object::parse(params).ok().and_then(|params| params.text("uri").map(String::from));
        if let Some(uri) = uri {
            let watched = Watched { server, owner: Some(self.owner.clone()), native: uri.as_str().into() };
            self.subscriptions.changed(&watched, params);
        }
    }
}

async fn ask(session: &Session, question: Question) {
    let asked = session.questions.ask(question.method, &question.params, None);
    let reply = match asked {
        Some(mut asked) => {
            session.mailbox.push(asked.message.clone());
            (&mut asked.reply).await.ok()
        }
        None => None,
    };
    let unanswered = || {
        let error = ErrorReply::new(Code::ExecutionError, "the client did not answer");
        Reply::Error(error.object(Era::Legacy).into())
    };
    // A server that no longer waits needs no answer.
    let _ = question.answer.send(reply.unwrap_or_else(unanswered));
}

#[cfg(test)]
mod tests;
