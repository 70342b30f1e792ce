//! Questions that outlive the request they were asked in.
//!
//! A modern server that wants input ends the request with its questions and a state. Nothing is under way then, but the
//! process that asked waits for another request, which brings the state and the answers: it must not be taken for idle.

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foldhash::HashMap;
use foldhash::fast::RandomState;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use toolgate_protocol::Message;
use toolgate_protocol::message::Field;

/// How long answers are waited for: as long as a worker of ours waits.
const PATIENCE: Duration = Duration::from_secs(600);
/// How many questions of one process are remembered: more than a worker of ours has open.
const MOST: usize = 1024;

/// The questions of one process whose answers have not come.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// When each was asked, by a number made of its state, which may be long.
    asked: Mutex<HashMap<u64, Instant>>,
    numbers: RandomState,
    changed: Notify,
}

impl Unanswered {
    /// Takes note of the questions that an answer consists of.
    pub(super) fn note(&self, answer: &Message) {
        let Some(state) = answer.field_text(Field::RequestState).filter(|_| answer.wants_input()) else {
            return;
        };
        let number = self.numbers.hash_one(&*state);
        let mut asked = self.current();
        if asked.len() < MOST {
            asked.insert(number, Instant::now());
        }
    }

    /// A request brings answers.
    pub(super) fn take(&self, state: &str) {
        if self.asked().remove(&self.numbers.hash_one(state)).is_some() {
            self.changed.notify_one();
        }
    }

    /// The process is gone, and with it whoever waited.
    pub(super) fn clear(&self) {
        self.asked().clear();
        self.changed.notify_one();
    }

    /// Whether nothing is waited for.
    pub(super) fn is_empty(&self) -> bool {
        self.current().is_empty()
    }

    /// Waits until nothing is waited for.
    pub(super) async fn until_none(&self) {
        loop {
            let Some(latest) = self.current().values().max().copied() else { return };
            let _ = timeout_at(latest + PATIENCE, self.changed.notified()).await;
        }
    }

    /// Whether the answers that belong to a state are waited for.
    pub(super) fn has(&self, state: &str) -> bool {
        self.current().contains_key(&self.numbers.hash_one(state))
    }

    /// Without those that nobody waits for any longer.
    fn current(&self) -> MutexGuard<'_, HashMap<u64, Instant>> {
        let mut asked = self.asked();
        asked.retain(|_, since| since.elapsed() < PATIENCE);
        asked
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<u64, Instant>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
