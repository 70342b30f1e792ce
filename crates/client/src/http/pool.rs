//! Idle connections: the one used last is taken first, so that those not needed grow old and are closed.
//!
//! A connection's news come to the runtime that opened it. It is used again only there: another runtime would have to
//! be woken by that one for each of its bytes.

use std::collections::VecDeque;
use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use foldhash::fast::FixedState;
use tokio::runtime::{Handle, Id};

use crate::http::exchange::Exchange;

/// How many shelves the runtimes share among them, each behind its own lock.
const SHELVES: usize = 16;

/// How many idle connections are kept on one shelf.
const MOST_IDLE: usize = 256;

/// How long an idle connection is kept.
const LONGEST_IDLE: Duration = Duration::from_secs(50);

/// The idle connections of one server. A lock is held only to put one in or take one out.
#[derive(Default)]
pub(super) struct Pool {
    shelves: [Mutex<VecDeque<Idle>>; SHELVES],
}

struct Idle {
    home: Id,
    since: Instant,
    exchange: Box<Exchange>,
}

impl Pool {
    /// An idle connection of this runtime that the server has not closed.
    pub(super) async fn take(&self) -> Option<Box<Exchange>> {
        let home = Handle::current().id();
        loop {
            let mut exchange = self.pop(home)?;
            if exchange.is_usable().await {
                return Some(exchange);
            }
        }
    }

    /// Keeps a connection for the next one who needs it.
    pub(super) fn put(&self, exchange: Box<Exchange>) {
        let mut shelf = self.shelf(exchange.home());
        if shelf.len() < MOST_IDLE {
            shelf.push_back(Idle { home: exchange.home(), since: Instant::now(), exchange });
        }
    }

    /// Closes those that nobody has needed for long.
    pub(super) fn prune(&self) {
        for shelf in &self.shelves {
            loop {
                let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
                let old = shelf.front().is_some_and(|idle| idle.since.elapsed() > LONGEST_IDLE);
                let dropped = if old { shelf.pop_front() } else { None };
                drop(shelf);
                if dropped.is_none() {
                    break;
                }
            }
        }
    }

    fn pop(&self, home: Id) -> Option<Box<Exchange>> {
        let mut shelf = self.shelf(home);
        let place = shelf.iter().rposition(|idle| idle.home == home)?;
        let idle = shelf.remove(place)?;
        drop(shelf);
        (idle.since.elapsed() <= LONGEST_IDLE).then_some(idle.exchange)
    }

    fn shelf(&self, home: Id) -> MutexGuard<'_, VecDeque<Idle>> {
        let number = FixedState::default().hash_one(home) as usize % SHELVES;
        self.shelves[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
