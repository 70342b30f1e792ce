//! The answer to a POST: JSON, or a stream of events that ends with the answer.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tokio::time::sleep;
use toolgate_protocol::{Era, Kind, Message, error};

use super::StreamableHttp;
use crate::connection::{Ask, WireError};
use crate::hearing::number;
use crate::http::event_stream::{EventReader, ServerEvent};
use crate::http::{HttpError, Reply};

/// How much of an error's body is read, and how much of it an error message tells.
pub(super) const MOST_OF_ERROR: usize = 64 * 1024;
pub(super) const MOST_TOLD: usize = 500;

/// How often a stream that broke is taken up again without anything new coming.
const MOST_BARREN: u32 = 5;

/// How long to wait before that, where the server does not say, and at most.
const RESUME_AFTER: Duration = Duration::from_millis(500);
const RESUME_AFTER_AT_MOST: Duration = Duration::from_secs(60);

/// How far a stream of events has been read.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) last_id: Option<String>,
    retry: Option<Duration>,
}

impl Cursor {
    /// Takes note of an event.
    pub(crate) fn note(&mut self, event: &ServerEvent) {
        self.retry = event.retry.or(self.retry);
        if event.id.is_some() {
            self.last_id.clone_from(&event.id);
        }
    }

    /// Whether the server said how long to wait.
    pub(crate) fn has_wait(&self) -> bool {
        self.retry.is_some()
    }

    /// How long to wait before reading on.
    pub(crate) fn wait(&self) -> Duration {
        self.retry.unwrap_or(RESUME_AFTER).min(RESUME_AFTER_AT_MOST)
    }
}

impl StreamableHttp {
    /// Reads the answer to a request, whatever form it has.
    pub(super) async fn answer(&self, reply: Reply<'_>, ask: &Ask<'_>) -> Result<Message, WireError> {
        let status = reply.head.status;
        if !status.is_success() {
            return Box::pin(self.answer_in_error(reply, ask)).await;
        }
        if reply.head.is_event_stream() {
            return Box::pin(self.follow(reply, ask)).await;
        }
        let body = reply.whole(self.max_message_bytes).await?;
        if body.is_empty() {
            return Err(WireError::Unusable(format!("HTTP status {} without an answer", status.as_u16())));
        }
        match self.hearing.hear_on_call(body, ask.id, ask.outbox) {
            Some(answer) => Ok(under_id(answer, ask.id)),
            None => Err(WireError::Unusable("its body is not the answer to the request".to_owned())),
        }
    }

    /// A status that is no success may still carry the answer: modern errors come with 400 and 404.
    async fn answer_in_error(&self, reply: Reply<'_>, ask: &Ask<'_>) -> Result<Message, WireError> {
        let status = reply.head.status;
        if self.has_session && status == StatusCode::NOT_FOUND {
            return Err(WireError::Forgotten);
        }
        let body = match reply.whole(MOST_OF_ERROR).await {
            Ok(body) => body,
            Err(HttpError::TooLong(_)) => Bytes::new(),
            Err(error) => return Err(error.into()),
        };
        let text = String::from_utf8_lossy(body.get(..body.len().min(MOST_TOLD)).unwrap_or_default());
        // Many servers say 400 where the specification says 404.
        if self.has_session
            && status == StatusCode::BAD_REQUEST
            && text.to_ascii_lowercase().contains("session")
        {
            return Err(WireError::Forgotten);
        }
        match Message::parse(body.clone()) {
            Ok(answer) if is_answer(&answer, ask.id, status) => Ok(under_id(answer, ask.id)),
            _ => Err(WireError::Refused { status: status.as_u16(), text: text.trim().to_owned() }),
        }
    }

    /// Reads events up to the answer. A legacy server may close the stream in between; it is taken up again after the
    /// last event that had an id.
    async fn follow(&self, first: Reply<'_>, ask: &Ask<'_>) -> Result<Message, WireError> {
        let mut cursor = Cursor::default();
        let mut barren = 0;
        let mut stream = Ok(first);
        loop {
            let broke = match stream {
                Ok(reply) => match self.read_on(reply, ask, &mut cursor, &mut barren).await? {
                    Ok(answer) => return Ok(under_id(answer, ask.id)),
                    Err(broke) => broke,
                },
                Err(error @ (WireError::Unreachable(_) | WireError::Broken(_))) => error.to_string(),
                Err(error) => return Err(error),
            };
            let resumable = cursor.last_id.as_deref().filter(|_| self.era == Era::Legacy);
            let Some(id) = resumable.filter(|_| barren < MOST_BARREN) else {
                return Err(WireError::Broken(broke));
            };
            barren += 1;
            sleep(cursor.wait()).await;
            stream = self.open_stream(Some(id)).await;
        }
    }

    /// Reads one connection's part of a stream: the answer, or how it broke.
    async fn read_on(
        &self,
        mut reply: Reply<'_>,
        ask: &Ask<'_>,
        cursor: &mut Cursor,
        barren: &mut u32,
    ) -> Result<Result<Message, String>, WireError> {
        let mut events = EventReader::new(self.max_message_bytes);
        loop {
            let chunk = match reply.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(Err("the stream ended without an answer".to_owned())),
                Err(error) => return Ok(Err(error.to_string())),
            };
            let too_long = |_| WireError::from(HttpError::TooLong(self.max_message_bytes));
            events.push(&chunk).map_err(too_long)?;
            while let Some(event) = events.next() {
                *barren = 0;
                cursor.note(&event);
                if event.data.is_empty() {
                    continue;
                }
                if let Some(answer) = self.hearing.hear_on_call(event.data, ask.id, ask.outbox) {
                    reply.give_back();
                    return Ok(Ok(answer));
                }
            }
        }
    }
}

fn is_answer(message: &Message, id: u64, status: StatusCode) -> bool {
    match (message.kind(), number(message.id())) {
        (Kind::Result | Kind::Error, Some(answered)) => answered == id,
        (Kind::Error, None) => matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND),
        _ => false,
    }
}

/// An error that could not tell which request it is for is for the only one on its exchange.
fn under_id(answer: Message, id: u64) -> Message {
    if answer.id().is_some() {
        return answer;
    }
    let rewritten = error::error_answer(id.to_string().as_bytes(), answer.body().unwrap_or(b"{}"));
    Message::parse(rewritten).unwrap_or(answer)
}
