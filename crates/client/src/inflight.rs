//! The calls that a server works on: where their answers and what is said in between go.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use foldhash::HashMap;
use tokio::sync::oneshot;
use toolgate_protocol::Message;

use crate::connection::WireError;
use crate::outbox::Outbox;

/// Calls under way are spread over this many locks, by id.
const SHARDS: usize = 8;

/// What comes of a call.
pub(crate) type Outcome = Result<Message, WireError>;

/// One call under way.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Whose call it is; nothing for a request of our own.
    pub(crate) key: Option<u64>,
    /// Where to say what comes before the answer.
    pub(crate) outbox: Arc<Outbox>,
    /// Where the answer goes; nothing where it comes on a stream of the call's own.
    pub(crate) answer: Option<oneshot::Sender<Outcome>>,
}

/// Whom a message is for that names no call.
#[derive(Debug)]
pub(crate) enum Sole {
    /// No client has a call under way.
    Nobody,
    /// All calls under way are of one client; this is the outbox of one of them.
    One(Arc<Outbox>),
    /// Calls of several clients are under way: it cannot be known.
    Several,
}

/// All calls under way on one connection.
#[derive(Debug, Default)]
pub(crate) struct Inflight {
    shards: [Mutex<HashMap<u64, Waiting>>; SHARDS],
    closed: OnceLock<WireError>,
}

impl Inflight {
    /// Notes a call. Fails where the connection has ended already.
    pub(crate) fn enter(&self, id: u64, waiting: Waiting) -> Result<(), WireError> {
        self.shard(id).insert(id, waiting);
        // Looked at after entering: whoever closes looks for calls after having marked it closed.
        match self.closed.get() {
            None => Ok(()),
            Some(error) => {
                self.leave(id);
                Err(error.clone())
            }
        }
    }

    /// Forgets a call.
    pub(crate) fn leave(&self, id: u64) -> Option<Waiting> {
        self.shard(id).remove(&id)
    }

    /// Gives a call its outcome; tells whether such a call waited for one here.
    pub(crate) fn settle(&self, id: u64, outcome: Outcome) -> bool {
        let answer = self.leave(id).and_then(|waiting| waiting.answer);
        answer.is_some_and(|answer| answer.send(outcome).is_ok())
    }

    /// Where to say something to one call.
    pub(crate) fn outbox(&self, id: u64) -> Option<Arc<Outbox>> {
        self.shard(id).get(&id).map(|waiting| Arc::clone(&waiting.outbox))
    }

    /// Whom a message is for that names no call. Looks at all calls: such messages are rare.
    pub(crate) fn sole(&self) -> Sole {
        let mut found: Option<(u64, u64, Arc<Outbox>)> = None;
        for shard in &self.shards {
            for (id, waiting) in shard.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let Some(key) = waiting.key else { continue };
                match &found {
                    Some((_, other, _)) if *other != key => return Sole::Several,
                    // Of several calls of one client the latest is the likeliest.
                    Some((latest, ..)) if latest > id => {}
                    _ => found = Some((*id, key, Arc::clone(&waiting.outbox))),
                }
            }
        }
        found.map_or(Sole::Nobody, |(_, _, outbox)| Sole::One(outbox))
    }

    /// Ends all calls, and every later one at once.
    pub(crate) fn close(&self, error: &WireError) {
        let error = self.closed.get_or_init(|| error.clone());
        for shard in &self.shards {
            let ended = std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            for answer in ended.into_values().filter_map(|waiting| waiting.answer) {
                let _ = answer.send(Err(error.clone()));
            }
        }
    }

    fn shard(&self, id: u64) -> MutexGuard<'_, HashMap<u64, Waiting>> {
        // The remainder is below the number of shards, so the first one is never taken for lack of another.
        let shard = self.shards.get(id as usize % SHARDS).unwrap_or(&self.shards[0]);
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(key: Option<u64>) -> (Waiting, oneshot::Receiver<Outcome>) {
        let (answer, receiver) = oneshot::channel();
        (Waiting { key, outbox: Arc::default(), answer: Some(answer) }, receiver)
    }

    #[test]
    fn a_message_without_address_goes_to_the_only_client() {
        let check = |keys: &[Option<u64>], expected: &str| {
            let inflight = Inflight::default();
            for (id, key) in keys.iter().enumerate() {
                inflight.enter(id as u64, waiting(*key).0).unwrap();
            }
            let found = match inflight.sole() {
                Sole::Nobody => "nobody",
                Sole::One(_) => "one",
                Sole::Several => "several",
            };
            assert_eq!(found, expected, "{keys:?}");
        };
        check(&[], "nobody");
        check(&[None, None], "nobody");
        check(&[Some(7)], "one");
        check(&[Some(7), None, Some(7), Some(7)], "one");
        check(&[Some(7), Some(8)], "several");
    }

    #[test]
    fn the_second_answer_finds_nobody() {
        let inflight = Inflight::default();
        let (call, mut receiver) = waiting(None);
        inflight.enter(9, call).unwrap();
        assert!(inflight.settle(9, Err(WireError::Broken("first".into()))));
        assert!(!inflight.settle(9, Err(WireError::Broken("second".into()))));
        assert!(matches!(receiver.try_recv(), Ok(Err(WireError::Broken(cause))) if cause == "first"));
    }

    #[test]
    fn a_closed_connection_fails_calls_before_and_after() {
        let inflight = Inflight::default();
        let (call, mut receiver) = waiting(Some(1));
        inflight.enter(1, call).unwrap();
        inflight.close(&WireError::Broken("gone".into()));
        assert!(matches!(receiver.try_recv(), Ok(Err(WireError::Broken(_)))));
        assert!(matches!(inflight.enter(2, waiting(None).0), Err(WireError::Broken(_))));
        assert!(inflight.leave(2).is_none());
    }
}
