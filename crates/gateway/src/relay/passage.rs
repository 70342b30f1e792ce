//! One request under way: its pieces, one after the other, until the last.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use toolgate_client::call::Answer;
use toolgate_client::{Call, CallError, Event, Outbox, Question, Server};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Era, Kind, era};

use crate::relay::asking::{self, Open};
use crate::relay::round::{self, Round};
use crate::relay::tasks::Tasks;
use crate::relay::{Asked, Parked, failure, notice};
use crate::session::Client;
use crate::session::inflight::Underway;

/// How often a modern server may ask a legacy client anew within one request.
const MAX_ROUNDS: u32 = 16;

/// A part of what a client is sent for its request: a whole JSON-RPC message.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A notification or a question; more will come.
    Message(Bytes),
    /// The answer, and its error code where it is an error.
    Last(Bytes, Option<i32>),
    /// The client cancelled: nothing more will come.
    Cancelled,
}

/// A request under way. Dropping it cancels the call at its server.
pub struct Passage {
    /// Absent once the last piece has been given, or while the call is parked.
    inner: Option<Box<Inner>>,
}

/// All that a request under way is made of.
pub(super) struct Inner {
    pub(super) asked: Asked,
    pub(super) client: Client,
    pub(super) server: Server,
    pub(super) call: Call,
    pub(super) parked: Arc<Parked>,
    tasks: Arc<Tasks>,
    outbox: Arc<Outbox>,
    stage: Stage,
    /// Questions of a legacy server that its legacy client is being asked.
    open: FuturesUnordered<BoxFuture<'static, ()>>,
    /// Questions of a legacy server that a modern client must answer with its next request.
    pub(super) unanswered: Vec<(String, Question)>,
    ready: VecDeque<Piece>,
    rounds: u32,
    underway: Option<Underway>,
}

enum Stage {
    /// The server works.
    Calling(Pin<Box<dyn Future<Output = Result<Answer, CallError>> + Send>>),
    /// A modern server wants input and its legacy client is being asked.
    Asking(BoxFuture<'static, Result<Round, round::Refused>>),
}

impl std::fmt::Debug for Passage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Passage").field("asked", &self.inner.as_ref().map(|it| &it.asked)).finish()
    }
}

impl Passage {
    /// Sends a request on its way.
    pub fn begin(
        asked: Asked,
        client: Client,
        server: Server,
        call: Call,
        parked: Arc<Parked>,
        tasks: Arc<Tasks>,
        underway: Option<Underway>,
    ) -> Passage {
        let outbox = Arc::new(Outbox::default());
        let stage = Stage::calling(&server, &call, &outbox);
        Passage::of(Inner {
            asked,
            client,
            server,
            call,
            parked,
            tasks,
            outbox,
            stage,
            open: FuturesUnordered::new(),
            unanswered: Vec::new(),
            ready: VecDeque::new(),
            rounds: 0,
            underway,
        })
    }

    pub(super) fn of(inner: Inner) -> Passage {
        Passage { inner: Some(Box::new(inner)) }
    }

    /// The next piece. Dropping the future loses none.
    pub async fn next(&mut self) -> Piece {
        loop {
            let Some(inner) = self.inner.as_mut() else { return Piece::Cancelled };
            if let Some(piece) = inner.ready.pop_front() {
                if !matches!(piece, Piece::Message(_)) {
                    self.inner = None;
                }
                return piece;
            }
            if inner.unanswered.is_empty() {
                inner.step().await;
            } else if let Some(inner) = self.inner.take() {
                return Parked::park(inner);
            }
        }
    }
}

impl Stage {
    fn calling(server: &Server, call: &Call, outbox: &Arc<Outbox>) -> Stage {
        let (server, call, outbox) = (server.clone(), call.clone(), Arc::clone(outbox));
        Stage::Calling(Box::pin(async move { server.call(call, &outbox).await }))
    }
}

/// What woke a passage.
enum Woken {
    Cancelled,
    Said(Event),
    Replied,
    Answered(Result<Answer, CallError>),
    Input(Result<Round, round::Refused>),
}

impl Inner {
    async fn step(&mut self) {
        let cancelled = async {
            match &self.underway {
                Some(underway) => underway.cancelled.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let stage = async {
            match &mut self.stage {
                Stage::Calling(answer) => Woken::Answered(answer.await),
                Stage::Asking(round) => Woken::Input(round.await),
            }
        };
        let woken = tokio::select! {
            biased;
            () = cancelled => Woken::Cancelled,
            event = self.outbox.next() => Woken::Said(event),
            Some(()) = self.open.next(), if !self.open.is_empty() => Woken::Replied,
            woken = stage => woken,
        };
        match woken {
            Woken::Cancelled => self.ready.push_back(Piece::Cancelled),
            Woken::Said(event) => self.said(event),
            Woken::Replied => {}
            Woken::Answered(answer) => {
                // What the server said before it answered reaches the client before the answer.
                while let Some(event) = self.outbox.take() {
                    self.said(event);
                }
                self.answered(answer);
            }
            Woken::Input(Ok(round)) => self.repeat(&round),
            Woken::Input(Err(refused)) => self.last_error(&refused.reply()),
        }
    }

    fn said(&mut self, event: Event) {
        match event {
            Event::Ask(question) => self.ask(question),
            Event::Progress(params) => {
                if let Some(message) = notice::progress(&params, self.asked.token.as_deref()) {
                    self.ready.push_back(Piece::Message(message));
                }
            }
            Event::Log(params) => {
                if notice::log_wanted(&params, &self.client, &self.asked) {
                    let method = toolgate_protocol::Method::LogMessage.name();
                    self.ready.push_back(Piece::Message(notice::write(method, Some(&params))));
                }
            }
            Event::Other(method, params) => {
                self.ready.push_back(Piece::Message(notice::write(method.name(), params.as_deref())));
            }
        }
    }

    fn ask(&mut self, question: Question) {
        if !asking::can_answer(&self.client, &question) {
            return asking::refuse(question);
        }
        match &self.client {
            Client::Legacy(session) => match asking::ask(session, question) {
                Some(Open { message, reply }) => {
                    self.ready.push_back(Piece::Message(message));
                    self.open.push(reply);
                }
                None => tracing::warn!(server = %self.server.name(), "too many open questions at one client"),
            },
            Client::Modern { .. } => {
                let key = format!("question-{}", self.unanswered.len() + 1);
                self.unanswered.push((key, question));
            }
        }
    }

    fn answered(&mut self, answer: Result<Answer, CallError>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.last_error(&failure::reply(&error)),
        };
        let wants_input = answer.era == Era::Modern && round::wants_input(&answer.message);
        if let (true, Client::Legacy(session)) = (wants_input, &self.client) {
            self.rounds += 1;
            if self.rounds > MAX_ROUNDS {
                return self.last_error(&failure::too_many_rounds(MAX_ROUNDS));
            }
            match round::begin(session, &answer.message) {
                Ok((questions, replies)) => {
                    self.ready.extend(questions.into_iter().map(Piece::Message));
                    self.stage = Stage::Asking(replies);
                }
                Err(refused) => self.last_error(&refused.reply()),
            }
            return;
        }
        self.tasks.note(self.server.name(), &answer.message);
        let code = (answer.message.kind() == Kind::Error).then(|| error_code(&answer)).flatten();
        let era = self.client.era();
        let bytes = era::answer::write(&answer.message, &self.asked.id, self.asked.method, answer.era, era);
        self.ready.push_back(Piece::Last(bytes, code));
    }

    fn repeat(&mut self, round: &Round) {
        match round.repeated(&self.call.message) {
            Some(message) => {
                self.call.message = message;
                self.stage = Stage::calling(&self.server, &self.call, &self.outbox);
            }
            None => self.last_error(&failure::unrepeatable()),
        }
    }

    fn last_error(&mut self, reply: &toolgate_protocol::ErrorReply) {
        let era = self.client.era();
        let bytes = reply.answer(Some(&self.asked.id), era);
        self.ready.push_back(Piece::Last(bytes, Some(reply.code.number(era))));
    }

    /// Goes on for a modern client that came back with answers.
    pub(super) fn resume(mut self: Box<Self>, asked: Asked, client: Client) -> Passage {
        self.asked = asked;
        self.client = client;
        Passage { inner: Some(self) }
    }
}

fn error_code(answer: &Answer) -> Option<i32> {
    std::str::from_utf8(answer.message.field(Field::Code)?).ok()?.parse().ok()
}
