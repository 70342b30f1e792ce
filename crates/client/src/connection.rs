//! One connection to a server, whatever carries it.
//!
//! Two shapes cover the three transports. A *duplex* connection has one channel each way that all calls share: the pipes
//! of a child, or the event stream and POSTs of 2024-11-05. Streamable HTTP has an exchange of its own for each call.

pub(crate) mod duplex;
pub(crate) mod lines;
pub(crate) mod listening;
pub(crate) mod outlet;
pub(crate) mod sse;
pub(crate) mod stdio;
pub(crate) mod streamable_http;

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;
use toolgate_protocol::{Message, Method};

use crate::hearing::Hearing;
use crate::http::HttpError;
use crate::outbox::Outbox;
use duplex::Duplex;
use outlet::Outlet;
use streamable_http::StreamableHttp;

/// How many messages may wait to be written to one server.
pub(crate) const QUEUE: usize = 1024;

/// A request, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) id: u64,
    pub(crate) bytes: Bytes,
    pub(crate) method: Method,
    /// The server's own name of what is asked for; a header repeats it.
    pub(crate) name: Option<Cow<'a, str>>,
    pub(crate) parameters: &'a [(String, String)],
    /// Whose call it is; nothing for a request of our own.
    pub(crate) key: Option<u64>,
    pub(crate) outbox: &'a Arc<Outbox>,
}

/// Why a request has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// Nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// The server does not know our session any more; it did not run the call.
    #[error("the server forgot the session")]
    Forgotten,
    /// It may or may not have been run.
    #[error("{0}")]
    Broken(String),
    /// What came is no answer.
    #[error("{0}")]
    Unusable(String),
    /// An HTTP status without an answer in it.
    #[error("HTTP status {status}{}{text}", if text.is_empty() { "" } else { ": " })]
    Refused { status: u16, text: String },
}

impl From<HttpError> for WireError {
    fn from(error: HttpError) -> WireError {
        match error {
            HttpError::Unreachable(cause) => WireError::Unreachable(cause),
            HttpError::Broken(cause) => WireError::Broken(cause),
            HttpError::TooLong(_) => WireError::Unusable(error.to_string()),
        }
    }
}

/// A message on its way out that is not written by the call itself.
#[derive(Clone, Debug)]
pub(crate) struct Outbound {
    pub(crate) bytes: Bytes,
    /// The call that fails if it cannot be delivered.
    pub(crate) call: Option<u64>,
}

impl Outbound {
    /// A message that no call waits for.
    pub(crate) fn unasked(bytes: Bytes) -> Outbound {
        Outbound { bytes, call: None }
    }
}

/// The shape of a connection.
#[derive(Debug)]
pub(crate) enum Wire {
    Duplex(Duplex),
    Http(StreamableHttp),
}

impl Wire {
    /// Sends a request and waits for its answer. Dropping the future tells the server that nobody waits.
    pub(crate) async fn ask(&self, ask: &Ask<'_>) -> Result<Message, WireError> {
        match self {
            Wire::Duplex(duplex) => duplex.ask(ask).await,
            Wire::Http(http) => http.ask(ask).await,
        }
    }

    /// Sends a notification.
    pub(crate) async fn tell(&self, bytes: Bytes) -> Result<(), WireError> {
        match self {
            Wire::Duplex(duplex) => duplex.tell(bytes).await,
            Wire::Http(http) => http.tell(bytes).await,
        }
    }

    /// Where what the server says is heard.
    pub(crate) fn hearing(&self) -> &Arc<Hearing> {
        match self {
            Wire::Duplex(duplex) => &duplex.hearing,
            Wire::Http(http) => &http.hearing,
        }
    }
}

/// The end of a connection, seen by all who have to do with it.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    ended: CancellationToken,
    cause: OnceLock<String>,
}

impl Ending {
    /// Ends the connection; the first cause counts.
    pub(crate) fn end(&self, cause: impl Into<String>) {
        let _ = self.cause.set(cause.into());
        self.ended.cancel();
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.is_cancelled()
    }

    /// Waits for the end and tells its cause.
    pub(crate) async fn ended(&self) -> String {
        self.ended.cancelled().await;
        self.cause.get().cloned().unwrap_or_default()
    }
}

/// Leaves a call when dropped: it is forgotten here, and the server is told unless it has answered.
#[derive(Debug)]
pub(crate) struct Leave<'a> {
    hearing: &'a Hearing,
    outgoing: &'a Outlet,
    id: u64,
    /// Whether the server must be told.
    owed: bool,
}

impl<'a> Leave<'a> {
    /// A call that has been entered but not sent.
    pub(crate) fn new(hearing: &'a Hearing, outgoing: &'a Outlet, id: u64) -> Leave<'a> {
        Leave { hearing, outgoing, id, owed: false }
    }

    /// It was sent. `initialize` must not be cancelled, and a legacy server has no notifications before it.
    pub(crate) fn sent(&mut self, method: Method) {
        self.owed = !matches!(method, Method::Initialize | Method::Discover);
    }

    /// There is nothing to cancel any more.
    pub(crate) fn answered(&mut self) {
        self.owed = false;
    }
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        self.hearing.inflight.leave(self.id);
        if self.owed {
            let notification = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"nobody waits for the answer any more"}}}}"#,
                self.id
            );
            let _ = self.outgoing.try_send(Outbound::unasked(Bytes::from(notification)));
        }
    }
}
