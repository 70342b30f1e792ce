//! In which state a server is, since when, and why.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use toolgate_protocol::{Era, Version};

/// The states of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not started yet; starts with the first call.
    Asleep,
    /// Being started or reached; calls wait.
    Connecting,
    /// It answers.
    Ready,
    /// It answers, but something is wrong: the last attempt failed and an earlier connection still works.
    Degraded,
    /// It does not answer; calls fail at once.
    Down,
    /// No new calls; those under way finish.
    Draining,
}

impl std::fmt::Display for State {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            State::Asleep => "asleep",
            State::Connecting => "connecting",
            State::Ready => "ready",
            State::Degraded => "degraded",
            State::Down => "down",
            State::Draining => "draining",
        })
    }
}

/// All that is known of a server's state.
#[derive(Clone, Debug)]
pub struct Status {
    /// The state itself.
    pub state: State,
    /// Why it is in this state, where it is not simply ready. Holds the tail of stderr of a child that died.
    pub cause: Option<String>,
    /// Since when.
    pub since: Instant,
    /// The same for people.
    pub since_wall: SystemTime,
    /// How long the wait before the next attempt is, counted from when the state was written.
    pub retry_after: Option<Duration>,
    /// What it said when it was last connected.
    pub greeting: Option<Greeting>,
}

/// What a server said of itself: in `initialize` or `server/discover`.
#[derive(Clone, Debug)]
pub struct Greeting {
    /// How it speaks.
    pub era: Era,
    /// The revision that was agreed on.
    pub version: Version,
    /// The JSON of its capabilities.
    pub capabilities: Bytes,
    /// The JSON of its name and version.
    pub server_info: Option<Bytes>,
    /// Its instructions, as a JSON string.
    pub instructions: Option<Bytes>,
    /// Whether it reads calls in short.
    pub reads_short_calls: bool,
}
