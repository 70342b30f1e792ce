//! Whether anything is under way at a server.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// What is under way, and since when nothing is.
#[derive(Debug)]
pub(super) struct Activity {
    running: AtomicUsize,
    begun: Instant,
    /// Milliseconds after `begun` at which the last call ended.
    last: AtomicU64,
    still: Notify,
}

impl Activity {
    /// Nothing is under way.
    pub(super) fn new() -> Activity {
        Activity {
            running: AtomicUsize::new(0),
            begun: Instant::now(),
            last: AtomicU64::new(0),
            still: Notify::new(),
        }
    }

    /// Something is under way until this is dropped.
    pub(super) fn enter(&self) -> Active<'_> {
        self.running.fetch_add(1, Ordering::SeqCst);
        Active(self)
    }

    /// How much is under way.
    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Whether nothing is under way.
    pub(super) fn is_still(&self) -> bool {
        self.running.load(Ordering::SeqCst) == 0
    }

    /// For how long nothing has been under way; nothing while something is.
    pub(super) fn still_for(&self) -> Option<Duration> {
        let last = self.begun + Duration::from_millis(self.last.load(Ordering::Acquire));
        self.is_still().then(|| last.elapsed())
    }

    /// Waits until nothing is under way.
    pub(super) async fn until_still(&self) {
        loop {
            let still = self.still.notified();
            if self.is_still() {
                return;
            }
            still.await;
        }
    }

    /// Waits until nothing has been under way for as long as `limit`, counted from `since` at the earliest.
    pub(super) async fn until_still_for(&self, limit: Duration, since: Instant) {
        loop {
            self.until_still().await;
            let last = self.begun + Duration::from_millis(self.last.load(Ordering::Acquire));
            let left = limit.saturating_sub(last.max(since).elapsed());
            if left.is_zero() && self.is_still() {
                return;
            }
            tokio::time::sleep(left.max(Duration::from_millis(1))).await;
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// Something that is under way.
#[derive(Debug)]
pub(super) struct Active<'a>(&'a Activity);

impl Drop for Active<'_> {
    fn drop(&mut self) {
        if self.0.running.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.last.store(self.0.now(), Ordering::Release);
            self.0.still.notify_waiters();
        }
    }
}
