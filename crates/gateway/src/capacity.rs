//! How many calls are under way at a time, over all servers; further ones wait in the order in which they came.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Semaphore, SemaphorePermit};

/// How many calls may wait for each that is under way.
const WAITING_PER_PLACE: usize = 4;

/// The places for calls.
#[derive(Debug)]
pub struct Capacity {
    places: Semaphore,
    waiting: AtomicUsize,
    max_waiting: usize,
}

/// More calls wait than may.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the gateway has {0} calls waiting already")]
pub struct Full(usize);

impl Capacity {
    /// Room for this many calls at a time.
    pub fn new(places: usize) -> Capacity {
        let places = places.clamp(1, Semaphore::MAX_PERMITS);
        Capacity {
            places: Semaphore::new(places),
            waiting: AtomicUsize::new(0),
            max_waiting: places.saturating_mul(WAITING_PER_PLACE),
        }
    }

    /// A place for a call, when its turn has come.
    pub async fn place(&self) -> Result<Option<SemaphorePermit<'_>>, Full> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(Some(place));
        }
        let waiting = self.waiting.fetch_add(1, Ordering::AcqRel);
        let _left = Left(&self.waiting);
        if waiting >= self.max_waiting {
            return Err(Full(waiting));
        }
        // The places are never closed, so there is always one in the end.
        Ok(self.places.acquire().await.ok())
    }
}

/// Takes a call out of the count of those that wait, also when its client leaves.
struct Left<'a>(&'a AtomicUsize);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn calls_wait_in_order_and_not_without_end() {
        let capacity = Arc::new(Capacity::new(1));
        let first = capacity.place().await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..4 {
            let capacity = Arc::clone(&capacity);
            let mut place = Box::pin(async move { capacity.place().await.map(drop) });
            assert!(futures_util::poll!(&mut place).is_pending());
            waiting.push(place);
        }
        assert!(capacity.place().await.is_err(), "the fifth is one too many");
        waiting.pop();
        drop(first);
        for place in waiting {
            place.await.unwrap();
        }
        assert!(capacity.place().await.is_ok());
    }
}
