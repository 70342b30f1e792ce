//! A connection over which calls can be made: the wire, and what the server said of itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;
use toolgate_protocol::{Era, Message, Method, Object};

use crate::connection::{Ask, Ending, Wire, WireError};
use crate::ourselves;
use crate::outbox::Outbox;
use crate::status::Greeting;

/// The levels of logs, most verbose first.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// A live connection.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) wire: Wire,
    pub(crate) greeting: Greeting,
    pub(crate) ending: Arc<Ending>,
    next_id: AtomicU64,
    /// What is wrong although calls work.
    ailment: watch::Sender<Option<String>>,
    /// The place in [`LEVELS`] of the level that the server was told, beyond the end while it was told none.
    told_level: AtomicU8,
}

impl Link {
    /// A link over a wire on which the server has been greeted; `next_id` is the first id not used yet.
    pub(crate) fn new(wire: Wire, greeting: Greeting, ending: Arc<Ending>, next_id: u64) -> Link {
        let _ = wire.hearing().era.set(greeting.era);
        Link {
            wire,
            greeting,
            ending,
            next_id: AtomicU64::new(next_id),
            ailment: watch::Sender::new(None),
            told_level: AtomicU8::new(u8::MAX),
        }
    }

    /// How the server speaks.
    pub(crate) fn era(&self) -> Era {
        self.greeting.era
    }

    /// An id that no other request on this connection has.
    pub(crate) fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// A request of our own.
    pub(crate) async fn request(
        &self,
        method: Method,
        params: &[u8],
        limit: Duration,
    ) -> Result<Message, WireError> {
        let outbox = Arc::new(Outbox::default());
        let asked = timeout(limit, self.request_with(method, params, &outbox)).await;
        asked.unwrap_or_else(|_| Err(WireError::Broken(format!("no answer to '{}' in time", method.name()))))
    }

    /// A request of our own without end, such as `subscriptions/listen`.
    pub(crate) async fn request_with(
        &self,
        method: Method,
        params: &[u8],
        outbox: &Arc<Outbox>,
    ) -> Result<Message, WireError> {
        let unusable = || WireError::Unusable("the parameters are no JSON object".to_owned());
        let message = ourselves::request(method, params).ok_or_else(unusable)?;
        let id = self.next_id();
        let bytes = ourselves::written(&message, id, self.era());
        self.wire.ask(&Ask { id, bytes, method, name: None, parameters: &[], key: None, outbox }).await
    }

    /// Whether the server's capabilities have a member, and in it, where asked for, one that is true.
    pub(crate) fn is_able(&self, capability: &str, part: Option<&str>) -> bool {
        let Ok(capabilities) = Object::parse(&self.greeting.capabilities) else { return false };
        match (capabilities.get(capability), part) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(inner), Some(part)) => {
                Object::parse(inner).is_ok_and(|inner| inner.get(part) == Some(b"true"))
            }
        }
    }

    /// Tells a legacy server that logs of this level are wanted, if it was not told a more verbose one before.
    pub(crate) async fn want_logs(&self, level: &str, limit: Duration) {
        let Some(place) = place_of(level) else { return };
        if place < self.told_level.load(Ordering::Relaxed) {
            self.set_log_level(level, limit).await;
        }
    }

    /// Tells a legacy server from which level on it shall log.
    pub(crate) async fn set_log_level(&self, level: &str, limit: Duration) {
        let Some(place) = place_of(level) else { return };
        if self.era() != Era::Legacy || !self.is_able("logging", None) {
            return;
        }
        self.told_level.store(place, Ordering::Relaxed);
        let params = format!(r#"{{"level":"{level}"}}"#);
        if let Err(error) = self.request(Method::SetLevel, params.as_bytes(), limit).await {
            tracing::debug!(server = %self.wire.hearing().board.server(), %error, "the log level was not set");
        }
    }

    /// All is well.
    pub(crate) fn healthy(&self) {
        self.ailment.send_if_modified(|ailment| ailment.take().is_some());
    }

    /// Calls work, but something else does not.
    pub(crate) fn unwell(&self, ailment: String) {
        self.ailment.send_if_modified(|current| current.replace(ailment).is_none());
    }

    /// What is wrong, now and whenever it changes.
    pub(crate) fn ailment(&self) -> watch::Receiver<Option<String>> {
        self.ailment.subscribe()
    }
}

fn place_of(level: &str) -> Option<u8> {
    LEVELS.iter().position(|known| *known == level).and_then(|place| u8::try_from(place).ok())
}
