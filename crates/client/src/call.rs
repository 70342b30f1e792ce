//! One request of one client to one server.

use std::sync::Arc;
use std::time::Duration;

use toolgate_protocol::{Era, Message, Span, era::Envelope};

use crate::status::State;

/// What is asked of a server.
#[derive(Clone, Debug)]
pub struct Call {
    /// The request as the client sent it. The connection puts in its own id and what the server's era wants.
    pub message: Message,
    /// The place of the exposed name or URI in the message, and what the server calls it.
    pub native: Option<(Span, Arc<str>)>,
    /// Who asks.
    pub caller: Arc<Caller>,
    /// Where it waits when the server has enough to do: calls of one line come one after the other, lines in turn.
    pub line: u64,
    /// What a server that relies on us is told of the call besides, as members of `_meta`.
    pub told: Option<Arc<str>>,
    /// Where the tool looks at nothing but its arguments, the mark of the schema that they were found to fit: a server that
    /// reads calls in short is told no more then.
    pub in_short: Option<Arc<str>>,
    /// `Mcp-Param-…` headers (name without prefix, value as it is), for a modern server over HTTP.
    pub parameters: Vec<(String, String)>,
    /// How long the answer may take; the server's own time where nothing is said.
    pub timeout: Option<Duration>,
}

/// The client behind a call.
#[derive(Debug)]
pub struct Caller {
    /// Tells clients apart: a question of a shared legacy server goes to a client only if all calls under way are of
    /// one and the same.
    pub key: u64,
    /// What it said of itself.
    pub envelope: Envelope,
    /// The log level it chose in its session.
    pub log_level: Option<String>,
}

/// Why there is no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallError {
    /// The server cannot be asked now.
    #[error("server '{server}' is {state}: {cause}")]
    Unavailable {
        /// Its name.
        server: Arc<str>,
        /// In which state it is.
        state: State,
        /// Why.
        cause: String,
        /// For how long it has been in this state.
        since: Duration,
        /// When the next attempt to reach it begins, where one is planned.
        retry_after: Option<Duration>,
    },
    /// It took longer than it may. It has been told to stop.
    #[error("server '{server}' did not answer within {} s", limit.as_secs_f32())]
    Timeout {
        /// Its name.
        server: Arc<str>,
        /// The time it had.
        limit: Duration,
    },
    /// The connection broke while it worked. Whether the work was done is not known.
    #[error("the connection to server '{server}' broke during the call: {cause}")]
    Broken {
        /// Its name.
        server: Arc<str>,
        /// How it broke; for a child with its last words.
        cause: String,
    },
    /// It answered with something that is no answer.
    #[error("server '{server}' gave an unusable answer: {cause}")]
    Unusable {
        /// Its name.
        server: Arc<str>,
        /// What is wrong with it.
        cause: String,
    },
    /// Too many calls wait for it already.
    #[error("server '{server}' has {waiting} calls waiting already")]
    Busy {
        /// Its name.
        server: Arc<str>,
        /// How many wait.
        waiting: usize,
    },
    /// The method does not exist in the server's era and has no counterpart there.
    #[error("server '{server}' speaks an era that has no '{method}'")]
    NoSuchMethod {
        /// Its name.
        server: Arc<str>,
        /// The method.
        method: &'static str,
    },
}

/// The answer of a server: a result or an error message under the connection's id.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The whole message.
    pub message: Message,
    /// How the server speaks.
    pub era: Era,
}
