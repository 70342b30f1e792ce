//! Generations of a server that were handed over and still wait for answers.
//!
//! A successor knows nothing of what the one before it has asked. So that one stays until it has been answered, or until
//! nobody would wait any longer, and requests that bring answers find it here.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::Server;

/// What all generations of a server have in common.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    /// Those that take no calls any more but may still wait for answers.
    elders: Mutex<Vec<Server>>,
    /// The server is being stopped for good: no answers will come.
    pub(super) over: CancellationToken,
}

impl Lineage {
    /// The elder that waits for the answers that belong to a state.
    pub(super) fn asker(&self, state: &str) -> Option<Server> {
        let waits = |elder: &&Server| elder.processes().iter().any(|process| process.unanswered.has(state));
        self.elders().iter().find(waits).cloned()
    }

    /// Counts `server` among the elders until the guard is dropped.
    pub(super) fn enter(&self, server: &Server) -> Elder<'_> {
        self.elders().push(server.clone());
        Elder { lineage: self, server: server.clone() }
    }

    fn elders(&self) -> MutexGuard<'_, Vec<Server>> {
        self.elders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the elders. What is left there would keep its process for good.
#[derive(Debug)]
pub(super) struct Elder<'a> {
    lineage: &'a Lineage,
    server: Server,
}

impl Drop for Elder<'_> {
    fn drop(&mut self) {
        self.lineage.elders().retain(|elder| !elder.is_same(&self.server));
    }
}
