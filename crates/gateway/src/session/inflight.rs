//! The requests of one client that are under way, so that they can be cancelled and no id is used twice.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

/// How many requests of one client may be under way.
const CAPACITY: usize = 1024;

/// The table of one client. Ids are compared as they were written.
#[derive(Debug, Default)]
pub struct Inflight {
    table: Arc<Mutex<HashMap<Bytes, CancellationToken>>>,
}

/// Why a request cannot begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("a request with this 'id' is still under way; use another one")]
    IdInUse,
    #[error("{CAPACITY} requests of this client are under way already; wait for some to end")]
    TooMany,
}

/// One request under way. It leaves the table when this is dropped.
#[derive(Debug)]
pub struct Underway {
    id: Bytes,
    /// Cancelled when the client says so.
    pub cancelled: CancellationToken,
    table: Arc<Mutex<HashMap<Bytes, CancellationToken>>>,
}

impl Inflight {
    /// Enters a request.
    pub fn begin(&self, id: Bytes) -> Result<Underway, Refused> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= CAPACITY {
            return Err(Refused::TooMany);
        }
        if table.contains_key(&id) {
            return Err(Refused::IdInUse);
        }
        let cancelled = CancellationToken::new();
        table.insert(id.clone(), cancelled.clone());
        drop(table);
        Ok(Underway { id, cancelled, table: Arc::clone(&self.table) })
    }

    /// The client wants no answer to this request any more. Unknown ids are ignored: it may just have been answered.
    pub fn cancel(&self, id: &[u8]) {
        if let Some(cancelled) = self.table.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            cancelled.cancel();
        }
    }

    /// The client is gone: nothing under way is wanted any more.
    pub fn cancel_all(&self) {
        for cancelled in self.table.lock().unwrap_or_else(PoisonError::into_inner).values() {
            cancelled.cancel();
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
