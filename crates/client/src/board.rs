//! Where a server's state is written and its news are told.
//!
//! Whoever reads the news may be slow. What must not be lost then (a new state, a changed list) is remembered as owed
//! and told later; what is only of the moment (logs) is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{Notify, mpsc, watch};

use crate::news::{News, What};
use crate::status::{Greeting, State, Status};

const OWED_STATE: u8 = 1;
const OWED_TOOLS: u8 = 2;
const OWED_PROMPTS: u8 = 4;
const OWED_RESOURCES: u8 = 8;
const OWED_HEARD: u8 = 16;

/// The state of one server and the way to those who want its news.
#[derive(Debug)]
pub(crate) struct Board {
    server: Arc<str>,
    status: watch::Sender<Status>,
    news: mpsc::Sender<News>,
    owed: AtomicU8,
    owing: Notify,
}

impl Board {
    /// The board of a server that has not been started.
    pub(crate) fn new(server: Arc<str>, news: mpsc::Sender<News>) -> Board {
        let status = Status {
            state: State::Asleep,
            cause: None,
            since: Instant::now(),
            since_wall: SystemTime::now(),
            retry_after: None,
            greeting: None,
        };
        Board {
            server,
            status: watch::Sender::new(status),
            news,
            owed: AtomicU8::new(0),
            owing: Notify::new(),
        }
    }

    /// The name of the server.
    pub(crate) fn server(&self) -> &Arc<str> {
        &self.server
    }

    /// The state now.
    pub(crate) fn status(&self) -> Status {
        self.status.borrow().clone()
    }

    /// The state now and whenever it changes.
    pub(crate) fn watch(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    /// Writes a new state and tells it.
    pub(crate) fn set(&self, state: State, cause: Option<String>, retry_after: Option<Duration>) {
        self.change(|status| {
            if status.state != state {
                status.since = Instant::now();
                status.since_wall = SystemTime::now();
            }
            status.state = state;
            status.cause = cause;
            status.retry_after = retry_after;
        });
    }

    /// Writes what was found out elsewhere, and tells it where it is new.
    pub(crate) fn show(&self, shown: Status) {
        let mut is_new = false;
        self.status.send_modify(|status| {
            is_new = status.state != shown.state || status.cause != shown.cause;
            if status.state == shown.state {
                let (since, since_wall) = (status.since, status.since_wall);
                *status = Status { since, since_wall, ..shown };
            } else {
                *status = shown;
            }
        });
        if is_new {
            self.announce(What::State(self.status()));
        }
    }

    /// Writes that the server is ready and what it said of itself.
    pub(crate) fn ready(&self, greeting: Greeting) {
        self.greeted(greeting);
        self.set(State::Ready, None, None);
    }

    /// Writes what the server said of itself. Whoever waits for the connection looks again, whatever the state.
    pub(crate) fn greeted(&self, greeting: Greeting) {
        self.status.send_modify(|status| status.greeting = Some(greeting));
    }

    /// Tells something.
    pub(crate) fn announce(&self, what: What) {
        let owed = match &what {
            What::State(_) => OWED_STATE,
            What::ToolsChanged => OWED_TOOLS,
            What::PromptsChanged => OWED_PROMPTS,
            What::ResourcesChanged => OWED_RESOURCES,
            What::Heard => OWED_HEARD,
            _ => 0,
        };
        let news = News { server: Arc::clone(&self.server), what };
        if self.news.try_send(news).is_ok() {
            return;
        }
        if owed == 0 {
            tracing::debug!(server = %self.server, "news dropped: nobody reads them fast enough");
        } else {
            self.owed.fetch_or(owed, Ordering::AcqRel);
            self.owing.notify_one();
        }
    }

    /// Tells what is owed as soon as there is room. Runs until dropped.
    pub(crate) async fn settle(&self) -> std::convert::Infallible {
        loop {
            self.owing.notified().await;
            let Ok(room) = self.news.reserve().await else { return std::future::pending().await };
            drop(room);
            let owed = self.owed.swap(0, Ordering::AcqRel);
            if owed & OWED_STATE != 0 {
                self.announce(What::State(self.status()));
            }
            if owed & OWED_TOOLS != 0 {
                self.announce(What::ToolsChanged);
            }
            if owed & OWED_PROMPTS != 0 {
                self.announce(What::PromptsChanged);
            }
            if owed & OWED_RESOURCES != 0 {
                self.announce(What::ResourcesChanged);
            }
            if owed & OWED_HEARD != 0 {
                self.announce(What::Heard);
            }
        }
    }

    fn change(&self, change: impl FnOnce(&mut Status)) {
        self.status.send_modify(change);
        self.announce(What::State(self.status()));
    }
}
