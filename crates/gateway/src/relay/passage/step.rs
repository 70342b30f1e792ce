//! What can happen to a request under way, and what follows from it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::time::Instant;
use toolgate_client::call::Answer;
use toolgate_client::{Call, CallError, Event, Question};
use toolgate_governance::{Permitted, Refusal};
use toolgate_ledger::Status;
use toolgate_protocol::capability::Has;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Era, Kind, Message, Method};

use super::end::error_code;
use super::{Inner, NoAnswer, Piece, Stage};
use crate::enforce::refuse;
use crate::relay::asking::{self, Open, OpenQuestions};
use crate::relay::overlong::{self, Keeping};
use crate::relay::round::{self, Round};
use crate::relay::tasks::Held;
use crate::relay::{failure, notice};
use crate::session::Client;

/// How often a modern server may ask a legacy client anew within one request.
const MAX_ROUNDS: u32 = 16;

/// What is said of a call that waits for somebody to agree.
pub(super) const WAITING: &str = "waiting for approval";

/// What woke a passage.
enum Woken {
    Cancelled,
    Said(Event),
    /// What the client must be told of a question that was open.
    Settled(Option<Bytes>),
    Quiet,
    Decided(Result<Permitted<Call>, Refusal>),
    Answered(Result<Answer, NoAnswer>),
    Kept(Answer, Status),
    Input(Result<Round, round::Refused>),
}

impl Inner {
    /// Waits for the next thing to happen and draws the consequences.
    pub(super) async fn step(&mut self) {
        let cancelled = async {
            match &self.underway {
                Some(underway) => underway.cancelled().await,
                None => std::future::pending().await,
            }
        };
        // Only clients that want to hear of progress have the clock running.
        let quiet = async {
            match &self.asked.token {
                Some(_) => tokio::time::sleep(self.way.progress_after).await,
                None => std::future::pending().await,
            }
        };
        let stage = async {
            match &mut self.stage {
                Stage::Waiting(decision) => Woken::Decided(decision.await),
                Stage::Calling(answer) => Woken::Answered(answer.await),
                Stage::Keeping(kept) => {
                    let (answer, status) = kept.await;
                    Woken::Kept(answer, status)
                }
                Stage::Asking(round) => Woken::Input(round.await),
            }
        };
        let woken = tokio::select! {
            biased;
            () = cancelled => Woken::Cancelled,
            event = self.outbox.next() => Woken::Said(event),
            told = settled(&mut self.open) => Woken::Settled(told),
            woken = stage => woken,
            () = quiet => Woken::Quiet,
        };
        match woken {
            Woken::Cancelled => self.ready.push_back(Piece::Cancelled),
            Woken::Said(event) => self.said(event),
            Woken::Settled(told) => self.ready.extend(told.map(Piece::Message)),
            Woken::Quiet => match self.stage {
                Stage::Waiting(_) => self.remind(WAITING),
                _ => self.remind("still working"),
            },
            Woken::Decided(Ok(permitted)) => self.run(permitted),
            Woken::Decided(Err(refusal)) => self.denied(&refusal),
            Woken::Answered(answer) => {
                // What the server said before it answered reaches the client before the answer.
                while let Some(event) = self.outbox.take() {
                    self.said(event);
                }
                self.answered(answer);
            }
            Woken::Kept(answer, status) => self.finished(&answer, status),
            Woken::Input(Ok(round)) => self.repeat(&round),
            Woken::Input(Err(refused)) => self.failed(&refused.reply(), Status::Error),
        }
    }

    /// Tells a client that wants to hear of progress that the call goes on.
    pub(super) fn remind(&mut self, what: &str) {
        let Some(token) = &self.asked.token else { return };
        // What the server itself reports is not disturbed by steps this small.
        self.progressed = (self.progressed + 1e-6).max(self.progressed.next_up());
        let params = format!(
            r#"{{"progressToken":{},"progress":{},"message":"{what}"}}"#,
            String::from_utf8_lossy(token),
            self.progressed,
        );
        self.ready.push_back(Piece::Message(notice::write(Method::Progress.name(), Some(params.as_bytes()))));
    }

    /// Ends a parked call that nobody agreed to in time. Its client is told when it comes back.
    pub(in crate::relay) fn lapse(&mut self, now: Instant) {
        let Stage::Waiting(decision) = &mut self.stage else { return };
        if self.lapsed.is_some() || self.decide_by.is_none_or(|decide_by| decide_by > now) {
            return;
        }
        // Without anybody who could answer, the decision is made at once.
        self.unanswered.clear();
        if let Some(Err(refusal)) = decision.now_or_never() {
            self.lapsed = Some(self.close_denied(&refusal));
        }
    }

    /// Lets the clock of a parked call run, and takes its answer should it end meanwhile, so that it gives its place back.
    /// Its client hears of it when it comes back.
    pub(in crate::relay) fn overhear(&mut self) {
        if let Stage::Calling(answer) = &mut self.stage
            && self.overheard.is_none()
            && let Some(answer) = answer.now_or_never()
        {
            self.overheard = Some(Box::new(answer));
        }
    }

    fn run(&mut self, permitted: Permitted<Call>) {
        let (call, terms) = permitted.into_parts();
        if let Some(closing) = &mut self.closing {
            closing.runs_under(terms);
        }
        let call = Arc::new(call);
        self.stage = Stage::calling(&self.way, &call, &self.outbox);
        self.call = Some(call);
    }

    fn said(&mut self, event: Event) {
        let message = match event {
            Event::Ask(question) => return self.ask(question),
            Event::Progress(params) => {
                self.progressed =
                    notice::progress_made(&params).map_or(self.progressed, |made| made.max(self.progressed));
                notice::progress(&params, self.asked.token.as_deref())
            }
            Event::Log(params) => notice::log_wanted(&params, &self.client, &self.asked)
                .then(|| notice::write(Method::LogMessage.name(), Some(&params))),
            Event::Other(method, params) => Some(notice::write(method.name(), params.as_deref())),
        };
        self.ready.extend(message.map(Piece::Message));
    }

    /// Puts a question to the client in the way of its era.
    pub(super) fn ask(&mut self, question: Question) {
        let caller = self.client.caller();
        if !Has::of(&caller.envelope.capabilities).answer_to(question.method, Some(&question.params)) {
            self.lacking = self.lacking.or(asking::capability(question.method));
            return asking::refuse(question);
        }
        match &self.client {
            Client::Legacy(session) => match asking::ask(session, &self.way.server, question) {
                Some(Open { message, id, reply }) => {
                    self.ready.push_back(Piece::Message(message));
                    self.open.get_or_insert_default().push(id, reply);
                }
                None => {
                    tracing::warn!(server = %self.way.server.name(), "too many questions are open at one client")
                }
            },
            Client::Modern { .. } => {
                self.numbered += 1;
                self.unanswered.push((format!("question-{}", self.numbered), question));
            }
        }
    }

    pub(super) fn answered(&mut self, answer: Result<Answer, NoAnswer>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(NoAnswer::Full(full)) => return self.failed(&failure::full(full), Status::Error),
            Err(NoAnswer::Call(error)) => {
                let timeout = matches!(error, CallError::Timeout { .. });
                let status = if timeout { Status::Timeout } else { Status::Error };
                return self.failed(&failure::reply(&error), status);
            }
        };
        let wants_input = answer.era == Era::Modern && answer.message.wants_input();
        if let (true, Client::Legacy(session)) = (wants_input, &self.client) {
            self.rounds += 1;
            if self.rounds > MAX_ROUNDS {
                return self.failed(&failure::too_many_rounds(MAX_ROUNDS), Status::Error);
            }
            match round::begin(session, &answer.message) {
                Ok((questions, replies)) => {
                    self.ready.extend(questions.into_iter().map(Piece::Message));
                    self.stage = Stage::Asking(replies);
                }
                Err(refused) => self.failed(&refused.reply(), Status::Error),
            }
            return;
        }
        if let (Some(capability), Client::Modern { .. }) = (self.lacking, &self.client)
            && status(&answer.message) != Status::Ok
        {
            return self.failed(&failure::lacking(capability), Status::Error);
        }
        if let Some(closing) = &self.closing
            && closing.draft().kind == toolgate_ledger::Kind::ResourceRead
            && says_not_found(&answer.message)
        {
            // In the server's own words it would differ from what is told of a hidden resource.
            let reply = refuse::unknown(toolgate_governance::Kind::Resource, &closing.draft().target.exposed);
            // What is left of quotas would tell them apart, too.
            let unrecorded = self.close_failed(&reply, Status::Error).err();
            return self.last_error(&unrecorded.unwrap_or(reply), &[]);
        }
        if let Some(limit) = self.way.max_output_bytes
            && overlong::is_overlong_resource(&answer.message, limit)
        {
            return self.failed(&failure::overlong(limit), Status::Error);
        }
        let Some(answer) = self.with_own_tasks(answer) else {
            return self.failed(&failure::unreadable_tasks(), Status::Error);
        };
        // On record is what the server said, whatever becomes of a result that is too long.
        let status = status(&answer.message);
        match (self.way.max_output_bytes, &self.way.keeping) {
            (Some(limit), Some(keeping)) if overlong::is_overlong(&answer.message, limit) => {
                self.stage = Stage::Keeping(kept(answer, status, limit, keeping.clone()));
            }
            (Some(limit), None) if overlong::is_overlong(&answer.message, limit) => {
                let message = overlong::cut(answer.message, limit);
                self.finished(&Answer { message, ..answer }, status);
            }
            _ => self.finished(&answer, status),
        }
    }

    /// Remembers the task that a call was answered with, and leaves in a list of tasks those of the client only.
    fn with_own_tasks(&self, answer: Answer) -> Option<Answer> {
        let (tasks, server) = (&self.way.traffic.tasks, self.way.server.name());
        match (self.asked.method, &self.closing) {
            (Method::ToolsCall, Some(closing)) => {
                let draft = closing.draft();
                let held = || Held {
                    server: Arc::clone(server),
                    caller: Arc::clone(&draft.principal.id),
                    tool: Arc::clone(&draft.target),
                };
                tasks.note(held, &answer.message);
                Some(answer)
            }
            (Method::TasksList, _) => {
                let message = tasks.own(&answer.message, server, &self.client.principal().id)?;
                Some(Answer { message, ..answer })
            }
            _ => Some(answer),
        }
    }

    fn repeat(&mut self, round: &Round) {
        let repeated = self.call.as_ref().and_then(|call| round.repeated(&call.message));
        match (repeated, &mut self.call) {
            (Some(message), Some(call)) => {
                *call = Arc::new(Call { message, ..Call::clone(call) });
                self.stage = Stage::calling(&self.way, call, &self.outbox);
            }
            _ => self.failed(&failure::unrepeatable(), Status::Error),
        }
    }
}

/// Waits until a question that is open was answered or taken back; what the client must be told then.
async fn settled(open: &mut Option<Box<OpenQuestions>>) -> Option<Bytes> {
    match open {
        Some(open) => open.next().await,
        None => std::future::pending().await,
    }
}

/// Keeps a result that is too long, away from those who must not wait for the disk.
fn kept(
    answer: Answer,
    status: Status,
    limit: usize,
    keeping: Keeping,
) -> BoxFuture<'static, (Answer, Status)> {
    Box::pin(async move {
        let message = answer.message.clone();
        let kept = tokio::task::spawn_blocking(move || overlong::keep(message, limit, &keeping)).await;
        let message = kept.unwrap_or_else(|_| overlong::cut(answer.message.clone(), limit));
        (Answer { message, ..answer }, status)
    })
}

fn status(message: &Message) -> Status {
    match message.kind() {
        Kind::Error => Status::Error,
        _ if message.field(Field::IsError) == Some(b"true") => Status::ToolError,
        _ => Status::Ok,
    }
}

/// Whether a server says that it has no such resource: by the legacy code, or by the modern one, which names the URI.
fn says_not_found(message: &Message) -> bool {
    match error_code(message) {
        Some(-32002) => true,
        Some(-32602) => message
            .body()
            .and_then(|error| serde_json::from_slice::<serde_json::Value>(error).ok())
            .is_some_and(|error| error["data"]["uri"].is_string()),
        _ => false,
    }
}
