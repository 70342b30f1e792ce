//! The place of one server behind the gate, whichever of its generations fills it.
//!
//! A changed record starts a new generation beside the old one. The old one takes the calls until the new one has
//! listed or failed; then the new one takes over, and the old one finishes what it has. However many changes come
//! meanwhile, there are never more than these two that take calls, and none is stopped with a call under way.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolgate_client::{Server, State};

/// How long a removed server still takes calls: requests that found it just before it was removed reach it.
const OVERLAP: Duration = Duration::from_millis(250);

/// Which generation takes the calls.
#[derive(Debug)]
pub(super) struct Place {
    answering: ArcSwap<Server>,
    /// Held while one generation follows another, so that an older one never replaces a newer one.
    turn: Mutex<()>,
}

impl Place {
    /// The place of a server that has no predecessor.
    pub(super) fn of(server: Server) -> Place {
        Place { answering: ArcSwap::from_pointee(server), turn: Mutex::default() }
    }

    /// The generation that takes the calls.
    pub(super) fn answering(&self) -> Server {
        Server::clone(&self.answering.load())
    }

    /// Whether the present generation does not run, so that a new one may as well take the calls.
    pub(super) fn is_vacant(&self) -> bool {
        matches!(self.answering.load().status().state, State::Down | State::Asleep)
    }

    /// From now on `server` takes the calls, unless it has been `superseded` itself. Its predecessor finishes its own.
    pub(super) fn take_over(&self, server: &Server, superseded: &CancellationToken, tracker: &TaskTracker) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if superseded.is_cancelled() || self.answering.load().is_same(server) {
            return;
        }
        let before = self.answering.swap(server.clone().into());
        let successor = server.clone();
        tracker.spawn(async move { before.hand_over(successor, before.patience()).await });
    }

    /// A newer generation than `server` has begun: it never takes over any more. If it has not yet, nothing calls it.
    pub(super) fn supersede(&self, server: &Server, superseded: &CancellationToken, tracker: &TaskTracker) {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        superseded.cancel();
        if !self.answering.load().is_same(server) {
            let unused = server.clone();
            tracker.spawn(async move { unused.stop(Duration::ZERO).await });
        }
    }

    /// The server has been removed. Whoever still finds it may call it for a moment.
    pub(super) fn close(&self, server: &Server, superseded: &CancellationToken, tracker: &TaskTracker) {
        self.supersede(server, superseded, tracker);
        let last = self.answering();
        tracker.spawn(async move {
            tokio::time::sleep(OVERLAP).await;
            last.stop(last.patience()).await;
        });
    }

    /// Stops every generation.
    pub(super) async fn stop(&self, server: &Server, patience: Duration) {
        let answering = self.answering();
        tokio::join!(server.stop(patience), async {
            if !answering.is_same(server) {
                answering.stop(patience).await;
            }
        });
    }
}

#[cfg(test)]
mod tests;
