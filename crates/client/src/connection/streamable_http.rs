//! Streamable HTTP, 2025-03-26 to 2026-07-28: every message is a POST; the answer comes as JSON or as a stream of
//! events. A legacy server has a session, may ask in between, and its streams can be taken up again where they broke.

mod answer;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method as HttpMethod, StatusCode};
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolgate_protocol::{Era, Message, Version, header};

pub(crate) use answer::Cursor;

use crate::connection::outlet::Outlet;
use crate::connection::{Ask, Leave, Outbound, WireError};
use crate::hearing::Hearing;
use crate::http::{Endpoint, Reply, Request};
use crate::inflight::Waiting;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_EVENTS: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(header::PROTOCOL_VERSION);
const SESSION_ID: HeaderName = HeaderName::from_static(header::SESSION_ID);
const METHOD: HeaderName = HeaderName::from_static(header::METHOD);
const NAME: HeaderName = HeaderName::from_static(header::NAME);
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// How many messages that no call waits for are sent at a time, and how long each may take.
const ERRANDS_AT_A_TIME: usize = 16;
const ERRAND_TIME: Duration = Duration::from_secs(30);

/// How long the server may take to take note that we leave.
const FAREWELL_TIME: Duration = Duration::from_secs(2);

/// A server at an HTTP endpoint.
#[derive(Debug)]
pub(crate) struct StreamableHttp {
    endpoint: Arc<Endpoint>,
    pub(crate) hearing: Arc<Hearing>,
    /// Messages that no call waits for; see [`StreamableHttp::run_errands`].
    outgoing: Outlet,
    /// What every POST has.
    headers: HeaderMap,
    era: Era,
    has_session: bool,
    max_message_bytes: usize,
}

/// The head of an answer to `initialize`.
#[derive(Debug)]
pub(crate) struct Introduced {
    pub(crate) answer: Message,
    pub(crate) status: StatusCode,
    pub(crate) session: Option<HeaderValue>,
}

impl StreamableHttp {
    /// A server whose era is not known yet; it is first spoken to as a modern one.
    pub(crate) fn new(
        endpoint: Arc<Endpoint>,
        hearing: Arc<Hearing>,
        outgoing: Outlet,
        max_message_bytes: usize,
    ) -> StreamableHttp {
        let mut headers = endpoint.headers();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON_OR_EVENTS);
        headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(Version::NEWEST.date()));
        let era = Era::Modern;
        StreamableHttp { endpoint, hearing, outgoing, headers, era, has_session: false, max_message_bytes }
    }

    /// The same server spoken to in the legacy era, before it has been introduced.
    pub(crate) fn into_legacy(mut self) -> StreamableHttp {
        self.era = Era::Legacy;
        self.headers.remove(PROTOCOL_VERSION);
        self
    }

    /// The same server after `initialize`.
    pub(crate) fn into_session(mut self, version: Version, session: Option<HeaderValue>) -> StreamableHttp {
        self.headers.insert(PROTOCOL_VERSION, HeaderValue::from_static(version.date()));
        self.has_session = session.is_some();
        if let Some(mut session) = session {
            session.set_sensitive(true);
            self.headers.insert(SESSION_ID, session);
        }
        self
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&self, ask: &Ask<'_>) -> Result<Message, WireError> {
        match self.era {
            // Closing the exchange tells a modern server that nobody waits, and nothing comes but on it.
            Era::Modern => {
                let reply = self.post(&self.further_headers(ask), &ask.bytes).await?;
                self.answer(reply, ask).await
            }
            Era::Legacy => {
                let entry = Waiting { key: ask.key, outbox: Arc::clone(ask.outbox), answer: None };
                self.hearing.inflight.enter(ask.id, entry)?;
                let mut leave = Leave::new(&self.hearing, &self.outgoing, ask.id);
                leave.sent(ask.method);
                let outcome = match self.post(&[], &ask.bytes).await {
                    Ok(reply) => self.answer(reply, ask).await,
                    Err(error) => Err(error),
                };
                leave.answered();
                outcome
            }
        }
    }

    /// Sends `initialize`, whose answer may name a session. It is never cancelled.
    pub(crate) async fn introduce(&self, ask: Ask<'_>) -> Result<Introduced, WireError> {
        let reply = self.post(&[], &ask.bytes).await?;
        let status = reply.head.status;
        let session = reply.head.header(&SESSION_ID);
        let answer = self.answer(reply, &ask).await?;
        Ok(Introduced { answer, status, session })
    }

    /// Sends a message that has no answer.
    pub(crate) async fn tell(&self, bytes: Bytes) -> Result<(), WireError> {
        let reply = self.post(&[], &bytes).await?;
        if reply.head.status.is_success() {
            // Read to its end, so that the connection can be used again. A stream may have no end.
            if !reply.head.is_event_stream() {
                let _ = reply.whole(answer::MOST_OF_ERROR).await;
            }
            return Ok(());
        }
        if self.has_session && reply.head.status == StatusCode::NOT_FOUND {
            return Err(WireError::Forgotten);
        }
        Err(WireError::Refused {
            status: reply.head.status.as_u16(),
            text: reply.excerpt(answer::MOST_TOLD).await,
        })
    }

    /// Sends cancellations and answers to the server's questions as they come. Runs until dropped.
    pub(crate) async fn run_errands(&self, mut queue: mpsc::Receiver<Outbound>) {
        let mut running = FuturesUnordered::new();
        loop {
            tokio::select! {
                next = queue.recv(), if running.len() < ERRANDS_AT_A_TIME => match next {
                    Some(outbound) => running.push(timeout(ERRAND_TIME, self.tell(outbound.bytes))),
                    None => return,
                },
                Some(done) = running.next() => {
                    if let Ok(Err(error)) = done {
                        tracing::debug!(server = %self.hearing.board.server(), %error, "a message was not accepted");
                    }
                }
            }
        }
    }

    /// Opens the stream on which a legacy server speaks unasked, or one that broke after the event `after`.
    pub(crate) async fn open_stream(&self, after: Option<&str>) -> Result<Reply<'_>, WireError> {
        let mut headers = self.headers.clone();
        headers.remove(CONTENT_TYPE);
        headers.insert(ACCEPT, EVENTS);
        if let Some(id) = after.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(LAST_EVENT_ID, id);
        }
        let request = Request { method: HttpMethod::GET, headers: &headers, further: &[], body: b"" };
        let reply = self.endpoint.send(&request).await?;
        if reply.head.status.is_success() && reply.head.is_event_stream() {
            return Ok(reply);
        }
        if self.has_session && reply.head.status == StatusCode::NOT_FOUND {
            return Err(WireError::Forgotten);
        }
        Err(WireError::Refused {
            status: reply.head.status.as_u16(),
            text: reply.excerpt(answer::MOST_TOLD).await,
        })
    }

    /// Tells a legacy server that its session is not needed any more.
    pub(crate) async fn farewell(&self) {
        if self.has_session {
            let request =
                Request { method: HttpMethod::DELETE, headers: &self.headers, further: &[], body: b"" };
            let _ = timeout(FAREWELL_TIME, self.endpoint.send(&request)).await;
        }
    }

    /// Closes connections that have not been used for long.
    pub(crate) fn prune(&self) {
        self.endpoint.prune();
    }

    /// How long a message may be.
    pub(crate) fn max_message_bytes(&self) -> usize {
        self.max_message_bytes
    }

    async fn post(&self, further: &[(HeaderName, HeaderValue)], body: &[u8]) -> Result<Reply<'_>, WireError> {
        let request = Request { method: HttpMethod::POST, headers: &self.headers, further, body };
        Ok(self.endpoint.send(&request).await?)
    }

    /// The headers of a request to a modern server that repeat parts of the body.
    fn further_headers(&self, ask: &Ask<'_>) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = Vec::with_capacity(2 + ask.parameters.len());
        headers.push((METHOD, HeaderValue::from_static(ask.method.name())));
        if let Some(name) = &ask.name
            && let Ok(value) = HeaderValue::from_str(&header::encode(name))
        {
            headers.push((NAME, value));
        }
        for (name, value) in ask.parameters {
            let key = HeaderName::try_from(format!("{}{name}", header::PARAMETER_PREFIX));
            if let (Ok(key), Ok(value)) = (key, HeaderValue::from_str(&header::encode(value))) {
                headers.push((key, value));
            }
        }
        headers
    }
}
