//! The path of one call: admitted, over a live connection, written once, answered.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use toolgate_protocol::era::Outgoing;
use toolgate_protocol::message::{Field, MetaField};
use toolgate_protocol::{Era, Message, Method, short_call};

use super::Shared;
use super::activity::Active;
use crate::call::{Answer, Call, CallError, Caller};
use crate::capacity::{Full, Place};
use crate::connection::{Ask, WireError};
use crate::link::Link;
use crate::ourselves;
use crate::outbox::Outbox;
use crate::spec::Transport;
use crate::status::{State, Status};

/// One request, not yet in the form for a certain connection.
struct Errand<'a> {
    message: &'a Message,
    method: Method,
    native: Option<(toolgate_protocol::Span, &'a str)>,
    caller: &'a Caller,
    told: Option<&'a str>,
    in_short: Option<&'a str>,
    /// Whose call it is; nothing for a request of our own.
    key: Option<u64>,
    parameters: &'a [(String, String)],
    limit: Duration,
}

impl Shared {
    /// A client's call, which has been let in and has its place.
    pub(super) async fn call(
        &self,
        _active: Active<'_>,
        limit: Duration,
        call: &Call,
        outbox: &Arc<Outbox>,
    ) -> Result<Answer, CallError> {
        let errand = Errand {
            message: &call.message,
            method: call.message.method().unwrap_or(Method::Unknown),
            native: call.native.as_ref().map(|(place, name)| (*place, name.as_ref())),
            caller: &call.caller,
            told: call.told.as_deref(),
            in_short: call.in_short.as_deref(),
            key: Some(call.caller.key),
            parameters: &call.parameters,
            limit,
        };
        if let Some(state) = call.message.field_text(Field::RequestState) {
            self.unanswered.take(&state);
        }
        let answer = self.run(errand, outbox).await?;
        // Whatever else is asked for does not belong to one process.
        if let Transport::Stdio { .. } = self.spec.transport {
            self.unanswered.note(&answer.message);
        }
        Ok(answer)
    }

    /// A place for a call that did not get one at once.
    pub(super) async fn wait_for_a_place(&self, line: u64, limit: Duration) -> Result<Place<'_>, CallError> {
        match timeout(limit, self.capacity.place(line)).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(Full(waiting))) => Err(CallError::Busy { server: self.name(), waiting }),
            Err(_) => Err(CallError::Timeout { server: self.name(), limit }),
        }
    }

    /// A request of our own. It needs no place: lists must be had even while clients keep the server busy.
    pub(super) async fn request(&self, method: Method, params: &[u8]) -> Result<Answer, CallError> {
        let _active = self.enter().ok_or_else(|| self.unavailable(self.board.status()))?;
        let cause = "the parameters are no JSON object".to_owned();
        let message = ourselves::request(method, params)
            .ok_or_else(|| CallError::Unusable { server: self.name(), cause })?;
        let errand = Errand {
            message: &message,
            method,
            native: None,
            caller: ourselves::caller(),
            told: None,
            in_short: None,
            key: None,
            parameters: &[],
            limit: self.spec.call_timeout,
        };
        self.run(errand, &Arc::new(Outbox::default())).await
    }

    /// Runs a request; once more where the server certainly did not: it forgot the session, or nothing was sent.
    async fn run(&self, errand: Errand<'_>, outbox: &Arc<Outbox>) -> Result<Answer, CallError> {
        let mut again = true;
        loop {
            let link = self.ready().await?;
            let error = match self.attempt(&link, &errand, outbox).await? {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let lost = matches!(error, WireError::Forgotten | WireError::Unreachable(_));
            if lost {
                self.lose(&link, &error);
            }
            if !(lost && std::mem::take(&mut again)) {
                return Err(self.in_words(error));
            }
        }
    }

    async fn attempt(
        &self,
        link: &Arc<Link>,
        errand: &Errand<'_>,
        outbox: &Arc<Outbox>,
    ) -> Result<Result<Answer, WireError>, CallError> {
        let era = link.era();
        if !exists(errand.method, era) {
            return Err(CallError::NoSuchMethod { server: self.name(), method: errand.method.name() });
        }
        if era == Era::Legacy
            && let Some(level) = errand.message.meta_text(MetaField::LogLevel)
        {
            Box::pin(link.want_logs(&level, errand.limit)).await;
        }
        let id = link.next_id();
        let outgoing = Outgoing {
            id,
            native: errand.native,
            era,
            envelope: &errand.caller.envelope,
            log_level: errand.caller.log_level.as_deref(),
            told: errand.told,
        };
        let native = errand.native.map(|(_, name)| name);
        let mark = errand.in_short.filter(|_| link.greeting.reads_short_calls);
        let short = mark.and_then(|mark| short_call::write(id, native, mark, errand.message));
        let answer_era = if short.is_some() { short_call::ANSWER_ERA } else { era };
        let ask = Ask {
            id,
            bytes: short.unwrap_or_else(|| outgoing.write(errand.message)).into(),
            method: errand.method,
            name: name_of(errand),
            parameters: errand.parameters,
            key: errand.key,
            outbox,
        };
        // Dropped when its time is up, the request tells the server by itself that nobody waits.
        let outcome = timeout(errand.limit, link.wire.ask(&ask))
            .await
            .map_err(|_| CallError::Timeout { server: self.name(), limit: errand.limit })?;
        Ok(outcome.map(|message| Answer { message, era: answer_era }))
    }

    /// The connection; waits while one is being made, and wakes a server that is asleep.
    async fn ready(&self) -> Result<Arc<Link>, CallError> {
        if let Some(link) = self.link.load_full() {
            return Ok(link);
        }
        match timeout(self.spec.connect_timeout, Box::pin(self.until_ready())).await {
            Ok(outcome) => outcome,
            Err(_) => Err(self.unavailable(self.board.status())),
        }
    }

    async fn until_ready(&self) -> Result<Arc<Link>, CallError> {
        let mut watch = self.board.watch();
        loop {
            let status = watch.borrow_and_update().clone();
            if let Some(link) = self.link.load_full() {
                return Ok(link);
            }
            match status.state {
                State::Down => return Err(self.unavailable(status)),
                // What was let in before it drained gets its connection still.
                State::Asleep | State::Draining => self.demand.notify_one(),
                State::Connecting | State::Ready | State::Degraded => {}
            }
            let stopped = tokio::select! {
                changed = watch.changed() => changed.is_err(),
                () = self.stop.cancelled() => true,
            };
            if stopped {
                return Err(self.unavailable(self.board.status()));
            }
        }
    }

    /// Takes a connection out that turned out to be of no use; the supervisor makes a new one.
    fn lose(&self, link: &Arc<Link>, error: &WireError) {
        let current = self.link.load();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, link)) {
            self.link.compare_and_swap(&current, None);
        }
        link.ending.end(error.to_string());
    }

    pub(super) fn unavailable(&self, status: Status) -> CallError {
        let cause = status
            .cause
            .unwrap_or_else(|| format!("no connection within {} s", self.spec.connect_timeout.as_secs_f32()));
        CallError::Unavailable {
            server: self.name(),
            state: status.state,
            cause,
            since: status.since.elapsed(),
            retry_after: status.retry_after,
        }
    }

    fn in_words(&self, error: WireError) -> CallError {
        let server = self.name();
        match error {
            WireError::Unreachable(cause) => {
                let Status { state, since, retry_after, .. } = self.board.status();
                CallError::Unavailable { server, state, cause, since: since.elapsed(), retry_after }
            }
            WireError::Forgotten => CallError::Broken {
                server,
                cause: "the server forgot the session again and again".to_owned(),
            },
            WireError::Broken(cause) => CallError::Broken { server, cause },
            error @ (WireError::Unusable(_) | WireError::Refused { .. }) => {
                CallError::Unusable { server, cause: error.to_string() }
            }
        }
    }

    fn name(&self) -> Arc<str> {
        Arc::clone(&self.spec.name)
    }
}

/// What a header of a modern request repeats: the name or URI as the server knows it.
fn name_of<'a>(errand: &Errand<'a>) -> Option<Cow<'a, str>> {
    let field = match errand.method {
        Method::ToolsCall | Method::PromptsGet => Field::Name,
        Method::ResourcesRead => Field::Uri,
        Method::TasksGet | Method::TasksUpdate | Method::TasksCancel => Field::TaskId,
        _ => return None,
    };
    match errand.native {
        Some((_, native)) => Some(Cow::Borrowed(native)),
        None => errand.message.field_text(field),
    }
}

/// Whether an era has a method.
fn exists(method: Method, era: Era) -> bool {
    match era {
        Era::Legacy => {
            !matches!(method, Method::Discover | Method::Listen | Method::TasksUpdate | Method::Unknown)
        }
        Era::Modern => !matches!(
            method,
            Method::Initialize
                | Method::Ping
                | Method::ResourcesSubscribe
                | Method::ResourcesUnsubscribe
                | Method::SetLevel
                | Method::TasksResult
                | Method::TasksList
                | Method::Unknown
        ),
    }
}
