//! One supervised server.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use toolgate_protocol::Method;

use crate::call::{Answer, Call, CallError};
use crate::news::News;
use crate::outbox::Outbox;
use crate::spec::ServerSpec;
use crate::status::Status;

/// A handle to a supervised server. Cloning it gives another handle to the same one.
#[derive(Clone, Debug)]
pub struct Server {}

impl Server {
    /// Begins to supervise a server. Must be called within a tokio runtime.
    pub fn start(_spec: ServerSpec, _news: mpsc::Sender<News>) -> Server {
        todo!()
    }

    /// The name it was given.
    pub fn name(&self) -> &Arc<str> {
        todo!()
    }

    /// In which state it is.
    pub fn status(&self) -> Status {
        todo!()
    }

    /// Asks the server and waits for its answer. Dropping the future tells the server that nobody waits any more.
    pub async fn call(&self, _call: Call, _outbox: &Arc<Outbox>) -> Result<Answer, CallError> {
        todo!()
    }

    /// A request of our own (a page of a list): the JSON of `result`, or the error.
    pub async fn request(&self, _method: Method, _params: Bytes) -> Result<Answer, CallError> {
        todo!()
    }

    /// Tells the server something, if it is connected and its era has such a notification.
    pub async fn notify(&self, _method: Method, _params: Option<Bytes>) {
        todo!()
    }

    /// Which resources the server shall tell changes of: `resources/subscribe` or a new `subscriptions/listen`.
    pub fn subscribe(&self, _uris: BTreeSet<String>) {
        todo!()
    }

    /// The lowest level of logs that any client wants: `logging/setLevel` for a legacy server.
    pub fn set_log_level(&self, _level: &str) {
        todo!()
    }

    /// Takes no new calls, lets those under way finish for `patience`, then closes: SIGTERM, SIGKILL for a child.
    pub async fn stop(&self, _patience: Duration) {
        todo!()
    }
}
