//! Servers of one client alone: what `isolation: client` asks for.
//!
//! A server that keeps something of its client between calls must not be shared. Each client then gets one of its own,
//! started with its first call and stopped when the client is gone, or when a client without a session has been silent
//! for a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio_util::task::TaskTracker;
use toolgate_client::{News, Question, Reply, Server, What};
use toolgate_protocol::{Code, Era, ErrorReply, Method};

use crate::fleet::Member;
use crate::relay::notice;
use crate::session::{Client, Session};

/// How many such servers there may be.
const CAPACITY: usize = 1024;
/// How many pieces of news of one may wait.
const NEWS: usize = 64;
/// How long a client without a session may be silent.
const SILENCE: Duration = Duration::from_secs(600);
/// How long calls may take to finish when a server is stopped.
const PATIENCE: Duration = Duration::from_secs(5);

/// All servers that belong to one client.
#[derive(Debug, Default)]
pub struct Isolated {
    servers: Mutex<HashMap<(Arc<str>, u64), Own>>,
}

/// A server of one client.
#[derive(Debug)]
struct Own {
    server: Server,
    /// The member it was made from: a changed record makes a new one.
    member: Weak<Member>,
    owner: Owner,
    used: Instant,
}

#[derive(Debug)]
enum Owner {
    Session(Weak<Session>),
    /// A modern client is known only by its requests.
    Caller,
}

/// No more servers of single clients may be started.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{CAPACITY} servers of single clients are running already")]
pub struct TooMany;

impl Isolated {
    /// The server of this client, started where there is none yet.
    pub fn server(
        &self,
        member: &Arc<Member>,
        client: &Client,
        tracker: &TaskTracker,
    ) -> Result<Server, TooMany> {
        let key = (Arc::clone(member.server.name()), client.caller().key);
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = servers.get_mut(&key)
            && own.member.as_ptr() == Arc::as_ptr(member)
        {
            own.used = Instant::now();
            return Ok(own.server.clone());
        }
        if servers.len() >= CAPACITY {
            return Err(TooMany);
        }
        let (news, arriving) = mpsc::channel(NEWS);
        let server = Server::start(member.desired.spec.clone(), news);
        let owner = match client {
            Client::Legacy(session) => {
                tracker.spawn(hear(arriving, Arc::downgrade(session)));
                Owner::Session(Arc::downgrade(session))
            }
            Client::Modern { .. } => {
                tracker.spawn(hear(arriving, Weak::new()));
                Owner::Caller
            }
        };
        let own = Own { server: server.clone(), member: Arc::downgrade(member), owner, used: Instant::now() };
        if let Some(before) = servers.insert(key, own) {
            let successor = server.clone();
            tracker.spawn(async move { before.server.hand_over(successor, PATIENCE).await });
        }
        Ok(server)
    }

    /// Stops the servers of clients that are gone, and those whose record has changed.
    pub fn sweep(&self, tracker: &TaskTracker) {
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<_> =
            servers.iter().filter(|(_, own)| own.is_over()).map(|(key, _)| key.clone()).collect();
        for key in gone {
            if let Some(own) = servers.remove(&key) {
                tracker.spawn(async move { own.server.stop(PATIENCE).await });
            }
        }
    }

    /// Stops all of them.
    pub async fn stop(&self, patience: Duration) {
        let servers: Vec<_> = self
            .servers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .drain()
            .map(|(_, own)| own.server)
            .collect();
        futures_util::future::join_all(servers.iter().map(|server| server.stop(patience))).await;
    }
}

impl Own {
    fn is_over(&self) -> bool {
        let left = match &self.owner {
            Owner::Session(session) => session.strong_count() == 0,
            Owner::Caller => self.used.elapsed() > SILENCE,
        };
        left || self.member.strong_count() == 0
    }
}

/// What such a server says outside of calls is for its client alone.
async fn hear(mut news: mpsc::Receiver<News>, session: Weak<Session>) {
    while let Some(News { what, .. }) = news.recv().await {
        let Some(session) = session.upgrade() else { continue };
        match what {
            What::Log(params) => {
                session.mailbox.push(notice::write(Method::LogMessage.name(), Some(&params)))
            }
            What::Task(method, params) => session.mailbox.push(notice::write(method, Some(&params))),
            What::ResourceUpdated(params) => {
                session.mailbox.push(notice::write(Method::ResourceUpdated.name(), Some(&params)));
            }
            What::ElicitationComplete(params) => {
                session.mailbox.push(notice::write(Method::ElicitationComplete.name(), Some(&params)));
            }
            What::Ask(question) => ask(&session, question).await,
            // The lists are those of the server that all clients share.
            What::State(_) | What::ToolsChanged | What::PromptsChanged | What::ResourcesChanged => {}
        }
    }
}

async fn ask(session: &Session, question: Question) {
    let asked = session.questions.ask(question.method, &question.params);
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
