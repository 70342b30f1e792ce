//! The requests of one client that are under way, so that they can be cancelled and no id is used twice.

use std::collections::hash_map::Entry;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use bytes::Bytes;
use foldhash::HashMap;
use futures_util::task::AtomicWaker;

/// How many requests of one client may be under way.
const CAPACITY: usize = 1024;

/// The table of one client. Ids are compared as they were written.
#[derive(Debug, Default)]
pub struct Inflight {
    table: Arc<Mutex<HashMap<Bytes, Arc<Cancellation>>>>,
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
    cancellation: Arc<Cancellation>,
    table: Arc<Mutex<HashMap<Bytes, Arc<Cancellation>>>>,
}

impl Inflight {
    /// Enters a request.
    pub fn begin(&self, id: Bytes) -> Result<Underway, Refused> {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        if table.len() >= CAPACITY {
            return Err(Refused::TooMany);
        }
        let cancellation = match table.entry(id.clone()) {
            Entry::Occupied(_) => return Err(Refused::IdInUse),
            Entry::Vacant(free) => Arc::clone(free.insert(Arc::default())),
        };
        drop(table);
        Ok(Underway { id, cancellation, table: Arc::clone(&self.table) })
    }

    /// The client wants no answer to this request any more. Unknown ids are ignored: it may just have been answered.
    pub fn cancel(&self, id: &[u8]) {
        if let Some(cancellation) = self.table.lock().unwrap_or_else(PoisonError::into_inner).get(id) {
            cancellation.cancel();
        }
    }

    /// The client is gone: nothing under way is wanted any more.
    pub fn cancel_all(&self) {
        for cancellation in self.table.lock().unwrap_or_else(PoisonError::into_inner).values() {
            cancellation.cancel();
        }
    }
}

impl Underway {
    /// Waits until the client wants no answer any more.
    pub async fn cancelled(&self) {
        poll_fn(|context| {
            self.cancellation.waiting.register(context.waker());
            if self.cancellation.is_wanted.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Whether a request's end is wanted, and the one who waits for that. Each request has one, so it is a small one.
#[derive(Debug, Default)]
struct Cancellation {
    is_wanted: AtomicBool,
    waiting: AtomicWaker,
}

impl Cancellation {
    fn cancel(&self) {
        self.is_wanted.store(true, Ordering::Release);
        self.waiting.wake();
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        self.table.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
