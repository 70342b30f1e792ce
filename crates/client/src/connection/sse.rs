//! HTTP+SSE of 2024-11-05: one event stream from the server, POSTs to an address that the stream names first.
//!
//! Messages are posted in order as long as the server accepts each of them soon. Some servers accept a request only when
//! they have answered it; then the next message does not wait, for it may be the reply or the cancellation that is needed.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Method, Uri};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::board::Board;
use crate::connection::duplex::Duplex;
use crate::connection::outlet::Outlet;
use crate::connection::{Ending, Outbound, WireError};
use crate::hearing::Hearing;
use crate::http::event_stream::{EventReader, ServerEvent};
use crate::http::{Endpoint, Reply, Request};
use crate::questions;

/// How much of a refusal is told.
const MOST_TOLD: usize = 500;

/// How much of the body of an accepted POST is read; it means nothing.
const MOST_OF_BODY: usize = 64 * 1024;

/// How long a message waits for the one before it to be accepted.
const IN_ORDER: Duration = Duration::from_millis(200);

/// How many messages may wait to be accepted at a time, and for how long each.
const MOST_UNACCEPTED: usize = 256;
const UNACCEPTED: Duration = Duration::from_secs(300);

/// A connection; the tasks end when the set is dropped.
pub(crate) struct Opened {
    pub(crate) duplex: Duplex,
    pub(crate) tasks: JoinSet<()>,
}

/// Opens the stream and waits for the address to POST to.
pub(crate) async fn open(
    endpoint: Arc<Endpoint>,
    board: &Arc<Board>,
    ending: &Arc<Ending>,
    max_message_bytes: usize,
) -> Result<Opened, WireError> {
    let (outgoing, queue) = Outlet::new();
    let (desk, clerk) = questions::desk(outgoing.clone());
    let hearing = Arc::new(Hearing::new(Arc::clone(board), desk));
    let (found, address) = oneshot::channel();
    let mut tasks = JoinSet::new();
    tasks.spawn(clerk.serve());
    tasks.spawn(read(
        Arc::clone(&endpoint),
        found,
        Arc::clone(&hearing),
        Arc::clone(ending),
        max_message_bytes,
    ));
    let target = address.await.unwrap_or_else(|_| {
        Err(WireError::Broken("the stream ended before it named an address".to_owned()))
    })?;
    tasks.spawn(write(endpoint, target, queue, Arc::clone(&hearing)));
    Ok(Opened { duplex: Duplex { outgoing, hearing, whereabouts: None }, tasks })
}

async fn read(
    endpoint: Arc<Endpoint>,
    found: oneshot::Sender<Result<Uri, WireError>>,
    hearing: Arc<Hearing>,
    ending: Arc<Ending>,
    max_message_bytes: usize,
) {
    let mut reply = match open_stream(&endpoint).await {
        Ok(reply) => reply,
        Err(error) => {
            let _ = found.send(Err(error));
            return;
        }
    };
    let mut found = Some(found);
    let mut events = EventReader::skipping(max_message_bytes);
    let cause = loop {
        match reply.chunk().await {
            Ok(Some(chunk)) if events.push(&chunk).is_ok() => {}
            Ok(Some(_)) => break "it sent an event longer than a message may be".to_owned(),
            Ok(None) => break "it closed the event stream".to_owned(),
            Err(error) => break error.to_string(),
        }
        while let Some(event) = events.next() {
            if let Some(overlong) = event.overlong {
                let cause = "an event longer than a message may be".to_owned();
                hearing.unusable(overlong.answers, cause);
            } else if event.name.as_deref() == Some("endpoint") {
                if let Some(found) = found.take() {
                    let _ = found.send(address(&endpoint, &event));
                }
            } else if !event.data.is_empty() {
                hearing.hear(event.data);
            }
        }
    };
    ending.end(cause);
}

async fn open_stream(endpoint: &Endpoint) -> Result<Reply<'_>, WireError> {
    let mut headers = endpoint.headers();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    let request = Request { method: Method::GET, headers: &headers, further: &[], body: b"" };
    let reply = endpoint.send(&request).await?;
    if reply.head.status.is_success() && reply.head.is_event_stream() {
        return Ok(reply);
    }
    Err(WireError::Refused { status: reply.head.status.as_u16(), text: reply.excerpt(MOST_TOLD).await })
}

/// Only an address of the same origin is taken: requests carry the operator's secrets.
fn address(endpoint: &Endpoint, event: &ServerEvent) -> Result<Uri, WireError> {
    let reference = String::from_utf8_lossy(&event.data);
    endpoint.same_origin(&reference).ok_or_else(|| {
        WireError::Unusable(format!(
            "the server wants messages sent elsewhere: '{reference}' is not of its origin"
        ))
    })
}

/// Sends message by message.
async fn write(
    endpoint: Arc<Endpoint>,
    target: Uri,
    mut queue: mpsc::Receiver<Outbound>,
    hearing: Arc<Hearing>,
) {
    let mut headers = endpoint.headers();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let to = Letterbox { endpoint: &endpoint, target: &target, headers: &headers, hearing: &hearing };
    let mut unaccepted = FuturesUnordered::new();
    loop {
        let outbound = tokio::select! {
            outbound = queue.recv(), if unaccepted.len() < MOST_UNACCEPTED => outbound,
            Some(()) = unaccepted.next() => continue,
        };
        let Some(outbound) = outbound else { return };
        let mut post = Box::pin(to.post(outbound));
        let in_order = sleep(IN_ORDER);
        tokio::pin!(in_order);
        loop {
            tokio::select! {
                biased;
                () = &mut post => break,
                Some(()) = unaccepted.next() => {}
                () = &mut in_order => {
                    unaccepted.push(post);
                    break;
                }
            }
        }
    }
}

/// Where messages are posted.
#[derive(Clone, Copy)]
struct Letterbox<'a> {
    endpoint: &'a Endpoint,
    target: &'a Uri,
    headers: &'a HeaderMap,
    hearing: &'a Hearing,
}

impl Letterbox<'_> {
    /// Posts a message; its call fails where it is refused. One that is not accepted in time is left to the call's own
    /// clock: its answer may come all the same.
    async fn post(self, outbound: Outbound) {
        let failure = match timeout(UNACCEPTED, self.refusal(&outbound)).await {
            Ok(None) | Err(_) => return,
            Ok(Some(failure)) => failure,
        };
        let server = self.hearing.board.server();
        tracing::debug!(%server, error = %failure, "a message was not accepted");
        if let Some(id) = outbound.call {
            self.hearing.inflight.settle(id, Err(failure));
        }
    }

    async fn refusal(self, outbound: &Outbound) -> Option<WireError> {
        let request =
            Request { method: Method::POST, headers: self.headers, further: &[], body: &outbound.bytes };
        match self.endpoint.send_to(self.target, &request).await {
            Ok(reply) if reply.head.status.is_success() => {
                // What it says means nothing, but read to its end the connection can be used again.
                let _ = reply.whole(MOST_OF_BODY).await;
                None
            }
            Ok(reply) => Some(WireError::Refused {
                status: reply.head.status.as_u16(),
                text: reply.excerpt(MOST_TOLD).await,
            }),
            Err(error) => Some(error.into()),
        }
    }
}
