//! Servers that run in this process.
//!
//! They are supervised, asked and listened to like any other: what answers MCP messages can be a server, and nothing
//! behind [`crate::Server`] needs to know that no process and no network lies between.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

use crate::connection::Outbound;
use crate::hearing::Hearing;

/// Something that answers MCP messages.
pub trait Serve: Send + Sync + 'static {
    /// Serves one connection and tells why it ended. It ends when the pipe does, or is dropped before.
    fn serve(self: Arc<Self>, pipe: Pipe) -> BoxFuture<'static, String>;
}

/// A server in this process. Two are equal if they are the same one.
#[derive(Clone)]
pub struct InProcess {
    server: Arc<dyn Serve>,
}

/// The server's end of a connection: whole messages, each a JSON text.
#[derive(Debug)]
pub struct Pipe {
    queue: mpsc::Receiver<Outbound>,
    voice: Voice,
}

/// Speaks for a server; can be given to its other tasks.
#[derive(Clone, Debug)]
pub struct Voice {
    hearing: Arc<Hearing>,
}

impl InProcess {
    /// Makes a server out of what answers messages.
    pub fn new(server: Arc<dyn Serve>) -> InProcess {
        InProcess { server }
    }

    pub(crate) fn serve(&self, pipe: Pipe) -> BoxFuture<'static, String> {
        Arc::clone(&self.server).serve(pipe)
    }
}

impl Pipe {
    pub(crate) fn new(queue: mpsc::Receiver<Outbound>, hearing: Arc<Hearing>) -> Pipe {
        Pipe { queue, voice: Voice { hearing } }
    }

    /// The next message to the server; nothing when the connection has ended.
    pub async fn next(&mut self) -> Option<Bytes> {
        self.queue.recv().await.map(|outbound| outbound.bytes)
    }

    /// What the server answers with.
    pub fn voice(&self) -> &Voice {
        &self.voice
    }
}

impl Voice {
    /// Sends a message of the server.
    pub fn say(&self, message: Bytes) {
        self.hearing.hear(message);
    }
}

impl PartialEq for InProcess {
    fn eq(&self, other: &InProcess) -> bool {
        Arc::ptr_eq(&self.server, &other.server)
    }
}

impl Eq for InProcess {}

impl fmt::Debug for InProcess {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("InProcess")
    }
}
