//! How many calls a server gets at a time, who waits, and whether anything is under way.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::timeout;

/// Lets calls through in the order in which they came.
#[derive(Debug)]
pub(super) struct Admission {
    places: Semaphore,
    waiting: AtomicUsize,
    max_waiting: usize,
}

/// Why a call is not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotAdmitted {
    /// So many wait already.
    Busy(usize),
    /// Its turn did not come in time.
    TooLate,
}

impl Admission {
    /// Lets `max_concurrency` calls through at a time while at most `max_waiting` wait.
    pub(super) fn new(max_concurrency: usize, max_waiting: usize) -> Admission {
        let places = max_concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Admission { places: Semaphore::new(places), waiting: AtomicUsize::new(0), max_waiting }
    }

    /// A place for one call, kept until dropped; nothing where it would have to wait.
    pub(super) fn enter_at_once(&self) -> Option<SemaphorePermit<'_>> {
        self.places.try_acquire().ok()
    }

    /// The same, after waiting for it.
    pub(super) async fn enter(&self, limit: Duration) -> Result<SemaphorePermit<'_>, NotAdmitted> {
        let counted = Counted::enter(&self.waiting);
        if counted.before >= self.max_waiting {
            return Err(NotAdmitted::Busy(counted.before));
        }
        match timeout(limit, self.places.acquire()).await {
            Ok(Ok(place)) => Ok(place),
            Ok(Err(_)) | Err(_) => Err(NotAdmitted::TooLate),
        }
    }
}

/// One more in a count, until dropped.
struct Counted<'a> {
    count: &'a AtomicUsize,
    before: usize,
}

impl<'a> Counted<'a> {
    fn enter(count: &'a AtomicUsize) -> Counted<'a> {
        Counted { count, before: count.fetch_add(1, Ordering::AcqRel) }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::AcqRel);
    }
}

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

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn calls_wait_in_order_and_too_many_are_refused() {
        let admission = Admission::new(1, 2);
        let first = admission.enter_at_once().unwrap();
        let mut second = Box::pin(admission.enter(LONG));
        let mut third = Box::pin(admission.enter(LONG));
        assert!((&mut second).now_or_never().is_none());
        assert!((&mut third).now_or_never().is_none());
        assert_eq!(admission.enter(LONG).await.unwrap_err(), NotAdmitted::Busy(2));
        drop(first);
        assert!((&mut third).now_or_never().is_none(), "the third came before the second");
        let second = second.await.unwrap();
        drop(second);
        assert!(third.await.is_ok());
        assert_eq!(admission.waiting.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn whose_turn_does_not_come_goes_away() {
        let admission = Admission::new(1, 2);
        let _first = admission.enter(LONG).await.unwrap();
        assert_eq!(admission.enter(LONG).await.unwrap_err(), NotAdmitted::TooLate);
    }
}
