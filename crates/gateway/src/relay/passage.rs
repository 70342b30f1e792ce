//! One request under way: its pieces, one after the other, until the last.

mod end;
mod step;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{HeaderName, HeaderValue};
use tokio::time::Instant;
use toolgate_client::call::Answer;
use toolgate_client::capacity::Full;
use toolgate_client::{Call, CallError, Outbox, Question, Server};
use toolgate_governance::{Admitted, Permitted, Refusal, Remaining};
use toolgate_ledger::Status;
use toolgate_protocol::{Era, ErrorReply, Message};

use crate::enforce::closing::Closing;
use crate::enforce::consent;
use crate::enforce::quota_headers::{quota_headers, retry_after};
use crate::relay::asking::OpenQuestions;
use crate::relay::output;
use crate::relay::overlong::Keeping;
use crate::relay::round::{self, Round};
use crate::relay::{Asked, Parked, Traffic};
use crate::session::Client;
use crate::session::inflight::Underway;

/// How long after a question for a modern client further ones are waited for.
const GATHER: Duration = Duration::from_millis(50);

/// A part of what a client is sent for its request: a whole JSON-RPC message.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A notification or a question; more will come.
    Message(Bytes),
    /// The answer.
    Last(Last),
    /// The client cancelled: nothing more will come.
    Cancelled,
}

/// The answer to a request.
#[derive(Debug, PartialEq, Eq)]
pub struct Last {
    pub bytes: Bytes,
    /// The code, where it is an error.
    pub code: Option<i32>,
    /// What is left of quotas, where the answer goes by HTTP.
    pub headers: Vec<(HeaderName, HeaderValue)>,
}

/// What may go to a server.
#[derive(Debug)]
pub enum Cleared {
    /// What policy governs: it passed the gate, or waits for somebody to agree.
    Governed(Admitted<Call>, Closing),
    /// What passed the gate with an earlier call and is only written down.
    Recorded(Call, Closing),
    /// What no policy governs: completions of what can be seen, requests about tasks.
    Free(Call),
}

/// The way to the server and what is used on it.
#[derive(Clone, Debug)]
pub struct Way {
    pub server: Server,
    /// The number of the caller, who waits in a line of its own.
    pub caller: u64,
    pub traffic: Arc<Traffic>,
    /// The longest result that is passed on.
    pub max_output_bytes: Option<usize>,
    /// Where longer ones are kept, where they are.
    pub keeping: Option<Keeping>,
    /// After how long without news the client is told that the call goes on.
    pub progress_after: Duration,
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
    pub(super) way: Arc<Way>,
    /// What was asked; see [`Parked`].
    pub(super) message: Message,
    /// The call, for repeating it with a client's answers. Absent until it may run.
    call: Option<Arc<Call>>,
    closing: Option<Closing>,
    outbox: Arc<Outbox>,
    stage: Stage,
    /// Questions of a legacy server that its legacy client is being asked.
    open: Option<Box<OpenQuestions>>,
    /// When a call that waits for somebody to agree will have been decided.
    pub(super) decide_by: Option<Instant>,
    /// How a call ended while it was parked.
    overheard: Option<Box<Result<Answer, NoAnswer>>>,
    /// What is to be told of a call that nobody agreed to while it was parked.
    lapsed: Option<(ErrorReply, Vec<Remaining>)>,
    /// Questions that a modern client must answer with its next request.
    pub(super) unanswered: Vec<(String, Question)>,
    /// How many such questions there were: each has a key of its own, also after some of them were answered.
    numbered: u32,
    /// A capability that a modern client lacks and that its server wanted to use.
    lacking: Option<&'static str>,
    ready: VecDeque<Piece>,
    rounds: u32,
    /// The progress that the client last heard of. It must only grow, whoever tells it.
    progressed: f64,
    underway: Option<Underway>,
}

/// Why a call has no answer.
pub(super) enum NoAnswer {
    Full(Full),
    Call(CallError),
}

type Answering = Pin<Box<dyn Future<Output = Result<Answer, NoAnswer>> + Send>>;

enum Stage {
    /// Somebody must agree first.
    Waiting(BoxFuture<'static, Result<Permitted<Call>, Refusal>>),
    /// The server works.
    Calling(Answering),
    /// A result that is too long to pass on is being kept; how the call ended is known.
    Keeping(BoxFuture<'static, (Answer, Status)>),
    /// A modern server wants input and its legacy client is being asked.
    Asking(BoxFuture<'static, Result<Round, round::Refused>>),
}

impl std::fmt::Debug for Passage {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Passage").field("asked", &self.inner.as_ref().map(|it| &it.asked)).finish()
    }
}

impl Last {
    /// An answer without headers.
    pub fn plain(bytes: Bytes, code: Option<i32>) -> Last {
        Last { bytes, code, headers: Vec::new() }
    }

    /// The answer to a request that failed or was refused, with what is left of quotas and when to come back.
    pub fn error(reply: &ErrorReply, id: Option<&[u8]>, era: Era, remaining: &[Remaining]) -> Last {
        let mut headers = quota_headers(remaining);
        headers.extend(retry_after(reply));
        let bytes = output::with_quotas(reply.answer(id, era), remaining);
        Last { bytes, code: Some(reply.code.number(era)), headers }
    }
}

impl Passage {
    /// Sends a request on its way.
    pub fn begin(
        asked: Asked,
        client: Client,
        way: Way,
        cleared: Cleared,
        underway: Option<Underway>,
    ) -> Passage {
        let outbox = Arc::new(Outbox::default());
        let way = Arc::new(way);
        let (mut question, mut decide_by) = (None, None);
        let message = match &cleared {
            Cleared::Free(call) | Cleared::Recorded(call, _) => call.message.clone(),
            Cleared::Governed(Admitted::Permitted(permitted), _) => permitted.call().message.clone(),
            Cleared::Governed(Admitted::Waiting(waiting), _) => waiting.call().message.clone(),
        };
        let (stage, call, closing) = match cleared {
            Cleared::Free(call) => {
                let call = Arc::new(call);
                (Stage::calling(&way, &call, &outbox), Some(call), None)
            }
            Cleared::Recorded(call, closing) => {
                let call = Arc::new(call);
                (Stage::calling(&way, &call, &outbox), Some(call), Some(closing))
            }
            Cleared::Governed(Admitted::Permitted(permitted), mut closing) => {
                let (call, terms) = permitted.into_parts();
                closing.runs_under(terms);
                let call = Arc::new(call);
                (Stage::calling(&way, &call, &outbox), Some(call), Some(closing))
            }
            Cleared::Governed(Admitted::Waiting(waiting), closing) => {
                let consent = consent::begin(closing.gate(), waiting, closing.draft());
                (question, decide_by) = (consent.question, Some(consent.decide_by));
                (Stage::Waiting(consent.decision), None, Some(closing))
            }
        };
        let mut inner = Inner {
            asked,
            client,
            way,
            message,
            call,
            closing,
            outbox,
            stage,
            open: None,
            decide_by,
            overheard: None,
            lapsed: None,
            unanswered: Vec::new(),
            numbered: 0,
            lacking: None,
            ready: VecDeque::new(),
            rounds: 0,
            progressed: 0.0,
            underway,
        };
        if matches!(inner.stage, Stage::Waiting(_)) {
            inner.remind(step::WAITING);
        }
        if let Some(question) = question {
            inner.ask(question);
        }
        Passage { inner: Some(Box::new(inner)) }
    }

    /// The next piece. Dropping the future loses none.
    pub async fn next(&mut self) -> Piece {
        loop {
            let Some(inner) = self.inner.as_mut() else { return Piece::Cancelled };
            if matches!(inner.ready.front(), Some(Piece::Last(_))) {
                inner.on_record().await;
            }
            if let Some(piece) = inner.ready.pop_front() {
                if !matches!(piece, Piece::Message(_)) {
                    self.inner = None;
                }
                return piece;
            }
            if inner.unanswered.is_empty() {
                inner.step().await;
                continue;
            }
            // Servers often ask several things at once; the client should get them together.
            let more = tokio::time::timeout(GATHER, inner.step()).await.is_ok();
            if !more && let Some(inner) = self.inner.take() {
                return Parked::park(inner);
            }
        }
    }
}

impl Stage {
    fn calling(way: &Arc<Way>, call: &Arc<Call>, outbox: &Arc<Outbox>) -> Stage {
        let (way, call, outbox) = (Arc::clone(way), Arc::clone(call), Arc::clone(outbox));
        Stage::Calling(Box::pin(async move {
            let _place = way.traffic.capacity.place(way.caller).await.map_err(NoAnswer::Full)?;
            way.server.call(call, &outbox).await.map_err(NoAnswer::Call)
        }))
    }
}

impl Inner {
    /// Whether its call is under way at this server.
    pub(super) fn holds_place_at(&self, server: &Server) -> bool {
        let is_calling = matches!(self.stage, Stage::Calling(_)) && self.overheard.is_none();
        is_calling && self.way.server.is_same(server)
    }

    /// Goes on for a modern client that came back with answers.
    pub(super) fn resume(mut self: Box<Self>, asked: Asked, client: Client) -> Passage {
        self.asked = asked;
        self.client = client;
        if let Some(answer) = self.overheard.take() {
            self.answered(*answer);
        }
        if let Some((reply, remaining)) = self.lapsed.take() {
            self.last_error(&reply, &remaining);
        }
        Passage { inner: Some(self) }
    }
}
