//! What a server says during a call, on its way to the client: a small bounded queue.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use futures_util::task::AtomicWaker;
use tokio::sync::oneshot;
use toolgate_protocol::Method;

/// How many events may wait for a slow client. Progress and logs beyond it are dropped, questions are refused.
const CAPACITY: usize = 256;

/// Something a server says before it answers.
#[derive(Debug)]
pub enum Event {
    /// The `params` of `notifications/progress`. Its token is the connection's id of the call, not the client's own.
    Progress(Bytes),
    /// The `params` of `notifications/message`.
    Log(Bytes),
    /// A question of a legacy server.
    Ask(Question),
    /// Another notification that came on the call's own stream: method and `params`.
    Other(Method, Option<Bytes>),
}

/// A question of a legacy server to the client. Dropping it unanswered answers it with an error.
#[derive(Debug)]
pub struct Question {
    /// What is asked.
    pub method: Method,
    /// The JSON of `params`, `{}` where there was none.
    pub params: Bytes,
    /// Where the answer goes.
    pub answer: oneshot::Sender<Reply>,
}

/// The answer to a [`Question`]: the JSON of `result` or of `error`.
#[derive(Clone, Debug)]
pub enum Reply {
    /// What the client answered.
    Result(Bytes),
    /// Why it did not.
    Error(Bytes),
}

/// The queue of one call, read by one: whoever waits for the next event last is the one who is woken.
#[derive(Debug, Default)]
pub struct Outbox {
    queue: Mutex<VecDeque<Event>>,
    reader: AtomicWaker,
}

impl Outbox {
    /// Puts an event in; gives it back where the client is too slow.
    pub fn push(&self, event: Event) -> Result<(), Event> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.len() >= CAPACITY {
            return Err(event);
        }
        queue.push_back(event);
        drop(queue);
        self.reader.wake();
        Ok(())
    }

    /// The next event, in the order in which they came. Dropping the future loses none.
    pub async fn next(&self) -> Event {
        poll_fn(|context| {
            self.reader.register(context.waker());
            self.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// The next event if one is there.
    pub fn take(&self) -> Option<Event> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}
