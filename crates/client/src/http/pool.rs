//! Idle connections: the one used last is taken first, so that those not needed grow old and are closed.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::http::exchange::Exchange;

/// How many idle connections are kept for one server.
const MOST_IDLE: usize = 256;

/// How long an idle connection is kept.
const LONGEST_IDLE: Duration = Duration::from_secs(50);

/// The idle connections of one server. The lock is held only to put one in or take one out.
#[derive(Default)]
pub(super) struct Pool {
    idle: Mutex<VecDeque<(Instant, Box<Exchange>)>>,
}

impl Pool {
    /// An idle connection that the server has not closed.
    pub(super) async fn take(&self) -> Option<Box<Exchange>> {
        loop {
            let mut exchange = self.pop()?;
            if exchange.is_usable().await {
                return Some(exchange);
            }
        }
    }

    /// Keeps a connection for the next one who needs it.
    pub(super) fn put(&self, exchange: Box<Exchange>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push_back((Instant::now(), exchange));
        }
    }

    /// Closes those that nobody has needed for long.
    pub(super) fn prune(&self) {
        loop {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            let old = idle.front().is_some_and(|(since, _)| since.elapsed() > LONGEST_IDLE);
            let dropped = if old { idle.pop_front() } else { None };
            drop(idle);
            if dropped.is_none() {
                return;
            }
        }
    }

    fn pop(&self) -> Option<Box<Exchange>> {
        let (since, exchange) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop_back()?;
        (since.elapsed() <= LONGEST_IDLE).then_some(exchange)
    }
}
