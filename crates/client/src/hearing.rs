//! Where what a server says goes: to the call it belongs to, to the only client with calls, or into the news.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use toolgate_protocol::message::{Field, MetaField, Unreadable, split_batch};
use toolgate_protocol::{Code, Era, Kind, Message, Method};

use crate::board::Board;
use crate::connection::WireError;
use crate::inflight::{Inflight, Sole};
use crate::news::What;
use crate::outbox::{Event, Outbox, Question};
use crate::questions::Desk;

/// How many messages one array may hold (2025-03-26 only).
const MOST_IN_BATCH: usize = 1000;

/// Said to a legacy server whose question could be for any of several clients.
const WHOSE: &str = "this server is shared by several clients with calls under way, so the gateway cannot know whom \
                     to ask; set 'isolation: client' for this server to give each client its own";

/// The ear of one connection.
#[derive(Debug)]
pub(crate) struct Hearing {
    pub(crate) board: Arc<Board>,
    pub(crate) inflight: Inflight,
    pub(crate) desk: Desk,
    /// How the server speaks, once it is known.
    pub(crate) era: OnceLock<Era>,
    garbage: AtomicU64,
}

impl Hearing {
    /// An ear with nothing under way.
    pub(crate) fn new(board: Arc<Board>, desk: Desk) -> Hearing {
        Hearing {
            board,
            inflight: Inflight::default(),
            desk,
            era: OnceLock::new(),
            garbage: AtomicU64::new(0),
        }
    }

    /// From now on the server is heard outside of calls.
    pub(crate) fn begins(&self) {
        self.board.announce(What::Heard);
    }

    /// Text on a channel that all calls share.
    pub(crate) fn hear(&self, bytes: Bytes) {
        self.understand(bytes, |message| self.shared(message));
    }

    /// Text on a call's own stream; gives the answer of that call if this is it.
    pub(crate) fn hear_on_call(&self, bytes: Bytes, id: u64, outbox: &Arc<Outbox>) -> Option<Message> {
        let mut answer = None;
        self.understand(bytes, |message| match message.kind() {
            Kind::Result | Kind::Error if message.id().is_none() || number(message.id()) == Some(id) => {
                answer.get_or_insert(message);
            }
            Kind::Result | Kind::Error => self.shared(message),
            Kind::Notification => self.notification_on_call(&message, id, outbox),
            Kind::Request if message.method().is_some_and(Method::is_question) => {
                self.ask(&message, Some(Arc::clone(outbox)));
            }
            Kind::Request => self.request(&message),
        });
        answer
    }

    /// Text that is too long or no message, with the number of the call it seems to answer.
    pub(crate) fn unusable(&self, id: Option<u64>, cause: String) {
        let count = self.garbage.fetch_add(1, Ordering::Relaxed) + 1;
        // The first ones help to find the fault; thousands would hide everything else.
        if count <= 3 || count.is_power_of_two() {
            tracing::warn!(server = %self.board.server(), count, "ignored what is no message: {cause}");
        }
        if let Some(id) = id {
            self.inflight.settle(id, Err(WireError::Unusable(cause)));
        }
    }

    fn understand(&self, bytes: Bytes, mut each: impl FnMut(Message)) {
        match Message::parse(bytes.clone()) {
            Ok(message) => each(message),
            Err(Unreadable::Batch) => match split_batch(&bytes, MOST_IN_BATCH) {
                Ok(messages) => {
                    for message in messages {
                        match message {
                            Ok(message) => each(message),
                            Err(error) => self.misunderstood(&error, &bytes),
                        }
                    }
                }
                Err(error) => self.misunderstood(&error, &bytes),
            },
            Err(error) => self.misunderstood(&error, &bytes),
        }
    }

    fn misunderstood(&self, error: &Unreadable, bytes: &[u8]) {
        let id = match error {
            Unreadable::NotAMessage { id, .. } => number(id.as_deref()),
            _ => None,
        };
        let beginning = bytes.get(..bytes.len().min(80)).unwrap_or_default();
        self.unusable(id, format!("{error}; it begins with {:?}", String::from_utf8_lossy(beginning)));
    }

    fn shared(&self, message: Message) {
        match message.kind() {
            Kind::Result | Kind::Error => {
                let id = number(message.id());
                let wanted = id.is_some_and(|id| self.inflight.settle(id, Ok(message)));
                if !wanted {
                    tracing::debug!(server = %self.board.server(), ?id, "an answer that nobody waits for");
                }
            }
            Kind::Notification => self.notification(&message),
            Kind::Request => self.request(&message),
        }
    }

    fn notification(&self, message: &Message) {
        let params = || message.body_bytes().unwrap_or_else(|| Bytes::from_static(b"{}"));
        match message.method() {
            Some(Method::Progress) => {
                let call =
                    number(message.field(Field::ProgressToken)).and_then(|id| self.inflight.outbox(id));
                if let Some(outbox) = call {
                    push(&outbox, Event::Progress(params()));
                }
            }
            Some(Method::LogMessage) => match self.inflight.sole() {
                Sole::One(outbox) => push(&outbox, Event::Log(params())),
                Sole::Nobody | Sole::Several => self.board.announce(What::Log(params())),
            },
            Some(method @ Method::Acknowledged) => {
                let call =
                    number(message.meta(MetaField::SubscriptionId)).and_then(|id| self.inflight.outbox(id));
                if let Some(outbox) = call {
                    push(&outbox, Event::Other(method, Some(params())));
                }
            }
            Some(Method::Cancelled) => self.cancelled(message),
            Some(Method::ToolsChanged) => self.board.announce(What::ToolsChanged),
            Some(Method::PromptsChanged) => self.board.announce(What::PromptsChanged),
            Some(Method::ResourcesChanged) => self.board.announce(What::ResourcesChanged),
            Some(Method::ResourceUpdated) => self.board.announce(What::ResourceUpdated(params())),
            Some(Method::ElicitationComplete) => self.board.announce(What::ElicitationComplete(params())),
            Some(method @ (Method::TaskStatus | Method::TasksNotification)) => {
                self.board.announce(What::Task(method.name(), params()));
            }
            _ => tracing::debug!(server = %self.board.server(), "an unknown notification was ignored"),
        }
    }

    fn notification_on_call(&self, message: &Message, id: u64, outbox: &Arc<Outbox>) {
        let params = || message.body_bytes().unwrap_or_else(|| Bytes::from_static(b"{}"));
        match message.method() {
            Some(Method::LogMessage) => push(outbox, Event::Log(params())),
            Some(Method::Progress) if number(message.field(Field::ProgressToken)) == Some(id) => {
                push(outbox, Event::Progress(params()));
            }
            Some(method @ Method::Acknowledged) => push(outbox, Event::Other(method, Some(params()))),
            _ => self.notification(message),
        }
    }

    /// A legacy server takes a question back, or a modern one ends a subscription.
    fn cancelled(&self, message: &Message) {
        let Some(id) = message.field_bytes(Field::RequestId) else { return };
        if self.era.get() == Some(&Era::Modern) {
            let cause = WireError::Broken("the server ended the subscription".to_owned());
            if let Some(id) = number(Some(&id)) {
                self.inflight.settle(id, Err(cause));
            }
        } else {
            self.desk.withdraw(id);
        }
    }

    fn request(&self, message: &Message) {
        let Some(id) = message.id() else { return };
        if self.era.get() == Some(&Era::Modern) {
            tracing::warn!(server = %self.board.server(), "a request was ignored: its era has none from servers");
            return;
        }
        match message.method() {
            Some(Method::Ping) => self.desk.answer(id, b"{}"),
            Some(method) if method.is_question() => match self.inflight.sole() {
                Sole::One(outbox) => self.ask(message, Some(outbox)),
                Sole::Nobody => self.ask(message, None),
                Sole::Several => self.desk.refuse(id, Code::InternalError, WHOSE),
            },
            _ => self.desk.refuse(id, Code::MethodNotFound, "a client has no such method"),
        }
    }

    fn ask(&self, message: &Message, outbox: Option<Arc<Outbox>>) {
        let (Some(id), Some(method)) = (message.id(), message.method()) else { return };
        let Some(answer) = self.desk.park(Bytes::copy_from_slice(id)) else {
            return self.desk.refuse(id, Code::InternalError, "too many questions wait for answers already");
        };
        let params = message.body_bytes().unwrap_or_else(|| Bytes::from_static(b"{}"));
        let question = Question { method, params, answer };
        // A question that cannot be delivered is dropped, and a dropped question is answered with an error.
        match outbox {
            Some(outbox) => push(&outbox, Event::Ask(question)),
            None => self.board.announce(What::Ask(question)),
        }
    }
}

/// The number that an id or token of ours is.
pub(crate) fn number(id: Option<&[u8]>) -> Option<u64> {
    let text = std::str::from_utf8(id?).ok()?;
    // Some servers give a number back as a string.
    text.trim_matches('"').parse().ok()
}

fn push(outbox: &Outbox, event: Event) {
    if outbox.push(event).is_err() {
        tracing::debug!("a client is too slow: what the server said during its call was dropped");
    }
}
