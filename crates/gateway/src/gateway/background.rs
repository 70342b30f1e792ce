//! What goes on beside the requests: news of servers, fresh lists, cleaning up.

use std::sync::Arc;
use std::time::Duration;

use ring::digest::{SHA256, digest};
use tokio::sync::mpsc;
use toolgate_client::{News, Reply, State, What};
use toolgate_protocol::{Code, Era, ErrorReply, Object};

use crate::catalog::{Kind, Listing};
use crate::fleet::{Desired, Member, refresh};
use crate::gateway::Gateway;
use crate::gateway::announce::Said;
use crate::recorder::Recorder;
use crate::relay::notice;
use crate::session::Session;
use crate::subscriptions::Watched;

/// How often what nobody waits for any more is cleaned up.
const SWEEP: Duration = Duration::from_secs(30);

/// How often calls are looked at that wait for an agreement, since they hold what others may want; and the ledger.
const LAPSE: Duration = Duration::from_secs(1);

/// Begins the work that lasts as long as the gateway.
pub fn begin(gateway: &Arc<Gateway>, news: mpsc::Receiver<News>) {
    gateway.tracker.spawn(hear(Arc::clone(gateway), news));
}

/// Begins to keep the lists of one server fresh.
pub fn keep_fresh(gateway: &Arc<Gateway>, member: Arc<Member>) {
    let keeper = Arc::clone(gateway);
    let trusted_for = gateway.settings.lists_trusted_for;
    let task =
        refresh::keep_fresh(member, trusted_for, move |member, listing| keeper.refreshed(member, listing));
    gateway.tracker.spawn(task);
}

/// Tells apart configurations of a server under which it may list other things.
pub fn fingerprint(desired: &Desired) -> String {
    let transport = match &desired.spec.transport {
        toolgate_client::Transport::Stdio { command, args, env, cwd } => {
            format!("stdio {command:?} {args:?} {env:?} {cwd:?}")
        }
        toolgate_client::Transport::Http { url, headers } => format!("http {url:?} {headers:?}"),
        toolgate_client::Transport::Sse { url, headers } => format!("sse {url:?} {headers:?}"),
        toolgate_client::Transport::InProcess(_) => "in process".to_owned(),
    };
    digest(&SHA256, transport.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn hear(gateway: Arc<Gateway>, mut news: mpsc::Receiver<News>) {
    let mut sweep = tokio::time::interval(SWEEP);
    let mut lapse = tokio::time::interval(LAPSE);
    loop {
        tokio::select! {
            () = gateway.stopping.cancelled() => return,
            _ = sweep.tick() => gateway.sweep(),
            _ = lapse.tick() => {
                gateway.traffic.parked.sweep();
                gateway.gate.recorder.iter().for_each(Recorder::look_after);
            }
            Some(news) = news.recv() => gateway.heard(news),
        }
    }
}

impl Gateway {
    fn heard(&self, news: News) {
        let Some(member) = self.fleet.member(&news.server) else { return };
        match news.what {
            What::State(status) => {
                let (state, cause) = (status.state, status.cause.as_deref().unwrap_or(""));
                tracing::info!(server = %news.server, %state, cause, "server state");
                match state {
                    State::Ready => member.make_stale(&Kind::ALL),
                    State::Down => self.fleet.settled(&member),
                    State::Asleep | State::Connecting | State::Degraded | State::Draining => {}
                }
            }
            What::Heard => member.make_stale(&Kind::ALL),
            What::ToolsChanged => member.changed(&[Kind::Tool]),
            What::PromptsChanged => member.changed(&[Kind::Prompt]),
            What::ResourcesChanged => member.changed(&[Kind::Resource, Kind::Template, Kind::Skill]),
            What::ResourceUpdated(params) => {
                let uri = Object::parse(&params).ok().and_then(|params| params.text("uri").map(String::from));
                if let Some(uri) = uri {
                    let watched = Watched { server: news.server, owner: None, native: uri.as_str().into() };
                    self.subscriptions.changed(&watched, &params);
                }
            }
            What::Log(params) => self.log(&news.server, &params),
            What::Task(method, params) => self.task_changed(&news.server, method, &params),
            What::ElicitationComplete(params) => {
                let message = notice::write("notifications/elicitation/complete", Some(&params));
                self.each_session_of(&news.server, |session| session.mailbox.push(message.clone()));
            }
            What::Ask(question) => {
                let reply = ErrorReply::new(
                    Code::InvalidRequest,
                    "no call is under way, so it is not known whom to ask",
                );
                // A server that no longer waits needs no answer.
                let _ = question.answer.send(Reply::Error(reply.object(Era::Legacy).into()));
            }
        }
    }

    /// Calls `each` for every legacy client for which a server is there.
    fn each_session_of(&self, server: &str, mut each: impl FnMut(&Arc<Session>)) {
        let published = self.published();
        self.each_session(|session| {
            if published.shows_server(&self.gate.standing(&session.principal), server) {
                each(session);
            }
        });
    }

    /// News of a task are for the caller whose task it is.
    fn task_changed(&self, server: &str, method: &str, params: &[u8]) {
        let task = Object::parse(params).ok().and_then(|params| params.text("taskId").map(String::from));
        let Some(held) = task.and_then(|task| self.traffic.tasks.find(&task)) else { return };
        if *held.server != *server {
            return;
        }
        let message = notice::write(method, Some(params));
        self.each_session(|session| {
            if session.principal.id == held.caller {
                session.mailbox.push(message.clone());
            }
        });
    }

    /// A log message that belongs to no call goes to the legacy clients that want its level and know of its server.
    fn log(&self, server: &str, params: &[u8]) {
        let level = Object::parse(params)
            .ok()
            .and_then(|params| params.text("level").and_then(|level| notice::severity(&level)));
        let message = notice::write("notifications/message", Some(params));
        self.each_session_of(server, |session| {
            let chosen = session.caller().log_level.as_deref().and_then(notice::severity);
            if chosen.is_some_and(|chosen| level.is_none_or(|level| level >= chosen)) {
                session.mailbox.push(message.clone());
            }
        });
    }

    fn refreshed(&self, member: &Arc<Member>, listing: Option<Listing>) {
        if let Some(listing) = listing {
            if let Some(memory) = &self.memory
                && let Err(error) = memory.store(&listing, &fingerprint(&member.desired))
            {
                tracing::warn!(server = %member.server.name(), %error, "what the server lists is not remembered");
            }
            member.listing.store(Some(Arc::new(listing)));
            // What is listed is called at the server that listed it.
            self.fleet.take_over(member);
            // Published before anybody is told that the server has settled.
            let kinds = member.take_told();
            let said = Said { server: member.server.name(), kinds: &kinds };
            self.publish_for((!kinds.is_empty()).then_some(said));
        }
        self.fleet.settled(member);
    }
}
