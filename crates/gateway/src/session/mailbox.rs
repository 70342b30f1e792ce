//! What a legacy client is sent outside of the answers to its requests, in order, with numbers to resume from.
//!
//! A stream that breaks is no loss: the client comes back with the number of the last message it got and hears the rest.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;

/// How many messages are kept for a client that is away or slow. The oldest go first.
const CAPACITY: usize = 512;
/// How many bytes are kept.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The mailbox of one client.
#[derive(Debug, Default)]
pub struct Mailbox {
    kept: Mutex<Kept>,
    filled: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    messages: VecDeque<(u64, Bytes)>,
    bytes: usize,
    /// The number of the newest message ever put in.
    newest: u64,
    /// The reader that may read: a newer stream of the same client takes over from an older one.
    reader: u64,
}

/// Another stream of the same client reads from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TakenOver;

/// The right to read, from a place on.
#[derive(Debug)]
pub struct Reading {
    reader: u64,
    after: u64,
}

impl Mailbox {
    /// Puts a whole message in.
    pub fn push(&self, message: Bytes) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.newest += 1;
        kept.bytes += message.len();
        let number = kept.newest;
        kept.messages.push_back((number, message));
        while kept.messages.len() > CAPACITY || (kept.bytes > MAX_BYTES && kept.messages.len() > 1) {
            if let Some((_, gone)) = kept.messages.pop_front() {
                kept.bytes -= gone.len();
            }
        }
        drop(kept);
        self.filled.notify_waiters();
    }

    /// Begins to read behind the message with the number `after`; from the oldest kept one where nothing is said.
    pub fn read(&self, after: Option<u64>) -> Reading {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.reader += 1;
        let reading = Reading { reader: kept.reader, after: after.unwrap_or(0) };
        drop(kept);
        self.filled.notify_waiters();
        reading
    }

    /// The next message and its number. Dropping the future loses none.
    pub async fn next(&self, reading: &mut Reading) -> Result<(u64, Bytes), TakenOver> {
        loop {
            let filled = self.filled.notified();
            tokio::pin!(filled);
            // Registered before looking, so that a message that comes in between wakes us.
            filled.as_mut().enable();
            {
                let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.reader != reading.reader {
                    return Err(TakenOver);
                }
                // What the reader asks behind has reached the client.
                while kept.messages.front().is_some_and(|(number, _)| *number <= reading.after) {
                    if let Some((_, gone)) = kept.messages.pop_front() {
                        kept.bytes -= gone.len();
                    }
                }
                if let Some((number, message)) = kept.messages.front() {
                    reading.after = *number;
                    return Ok((*number, message.clone()));
                }
            }
            filled.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn messages_come_in_order_and_again_for_a_stream_that_broke() {
        let mailbox = Mailbox::default();
        for text in ["one", "two", "three"] {
            mailbox.push(Bytes::from_static(text.as_bytes()));
        }
        let mut first = mailbox.read(None);
        assert_eq!(mailbox.next(&mut first).await.unwrap(), (1, Bytes::from_static(b"one")));
        assert_eq!(mailbox.next(&mut first).await.unwrap(), (2, Bytes::from_static(b"two")));
        let mut second = mailbox.read(Some(1));
        assert_eq!(mailbox.next(&mut first).await, Err(TakenOver));
        assert_eq!(mailbox.next(&mut second).await.unwrap(), (2, Bytes::from_static(b"two")));
        assert_eq!(mailbox.next(&mut second).await.unwrap(), (3, Bytes::from_static(b"three")));
    }

    #[tokio::test]
    async fn the_oldest_messages_go_when_nobody_reads() {
        let mailbox = Mailbox::default();
        for number in 0..CAPACITY + 10 {
            mailbox.push(Bytes::from(number.to_string()));
        }
        let mut reading = mailbox.read(None);
        assert_eq!(mailbox.next(&mut reading).await.unwrap().1, Bytes::from_static(b"10"));
    }
}
