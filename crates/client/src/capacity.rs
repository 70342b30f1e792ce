//! How many calls are under way at a time, at one server or over all. Further ones wait, each caller in its own line, and the
//! lines are served in turn: who has a thousand calls waiting delays the one call of another by one and not by a
//! thousand. No caller can fill all places for waiting; the more callers wait, the smaller is the share of each.
//!
//! While there is room, a call touches two counters and no lock.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering, fence};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The places for calls.
#[derive(Debug)]
pub struct Capacity {
    /// How many places are free.
    places: AtomicUsize,
    /// How many wait. Counted before they look for a place the last time, so that who leaves one cannot miss them.
    waiting: AtomicUsize,
    max_waiting: usize,
    lines: Mutex<Lines>,
}

/// A place, given back when it is dropped.
#[derive(Debug)]
pub struct Place<'a>(&'a Capacity);

/// More calls wait than may, over all or of one caller; how many over all.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0} calls wait already, and no more of this caller may")]
pub struct Full(pub usize);

/// Those who wait, by caller.
#[derive(Debug, Default)]
struct Lines {
    by_caller: HashMap<u64, VecDeque<Waiter>>,
    /// The callers that have somebody waiting, the next one first.
    turns: VecDeque<u64>,
    last_ticket: u64,
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    call: oneshot::Sender<()>,
}

impl Capacity {
    /// Room for so many calls at a time, while so many may wait.
    pub fn new(places: usize, max_waiting: usize) -> Capacity {
        Capacity {
            places: AtomicUsize::new(places.max(1)),
            waiting: AtomicUsize::new(0),
            max_waiting,
            lines: Mutex::default(),
        }
    }

    /// A place for a call, where there is one without waiting. Nobody passes those who wait.
    pub fn place_at_once(&self) -> Option<Place<'_>> {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            return None;
        }
        self.free()
    }

    /// A place for a call of a caller, when its turn has come.
    pub async fn place(&self, caller: u64) -> Result<Place<'_>, Full> {
        if let Some(place) = self.place_at_once() {
            return Ok(place);
        }
        let mut waiting = match self.enter(caller)? {
            Entered::Placed(place) => return Ok(place),
            Entered::Waiting(waiting) => waiting,
        };
        // The other end is dropped with the lines only, that is with this.
        let _ = (&mut waiting.called).await;
        waiting.is_placed = true;
        Ok(Place(self))
    }

    fn free(&self) -> Option<Place<'_>> {
        self.take_one().then(|| Place(self))
    }

    /// Takes a place, where one is free.
    fn take_one(&self) -> bool {
        let one_less = |free: usize| free.checked_sub(1);
        self.places.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok()
    }

    fn enter(&self, caller: u64) -> Result<Entered<'_>, Full> {
        let mut lines = self.lock();
        self.waiting.fetch_add(1, Ordering::SeqCst);
        // Pairs with the one of who leaves: one of the two sees what the other has done.
        fence(Ordering::SeqCst);
        if lines.turns.is_empty()
            && let Some(place) = self.free()
        {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return Ok(Entered::Placed(place));
        }
        let in_line = lines.by_caller.get(&caller).map_or(0, VecDeque::len);
        let callers = lines.turns.len() + usize::from(in_line == 0);
        // A share is always left for one caller more.
        let share = (self.max_waiting / (callers + 1)).max(1);
        let all: usize = self.waiting.load(Ordering::SeqCst) - 1;
        if in_line >= share || all >= self.max_waiting {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            return Err(Full(all));
        }
        let (call, called) = oneshot::channel();
        lines.last_ticket += 1;
        let ticket = lines.last_ticket;
        if in_line == 0 {
            lines.turns.push_back(caller);
        }
        lines.by_caller.entry(caller).or_default().push_back(Waiter { ticket, call });
        Ok(Entered::Waiting(Waiting { capacity: self, caller, ticket, called, is_placed: false }))
    }

    /// A place is free again: for who waits, or for who comes.
    fn leave(&self) {
        self.places.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut lines = self.lock();
        while !lines.turns.is_empty() && self.take_one() {
            let waiter = lines.next();
            if waiter.is_some() {
                self.waiting.fetch_sub(1, Ordering::SeqCst);
            }
            // Who has left meanwhile takes itself out, so it is still there; but it costs nothing to be sure.
            if waiter.is_none_or(|waiter| waiter.call.send(()).is_err()) {
                self.places.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lines {
    /// Who is next: the first of the caller whose turn it is, which then goes to the end of the turns.
    fn next(&mut self) -> Option<Waiter> {
        let caller = self.turns.pop_front()?;
        let line = self.by_caller.get_mut(&caller)?;
        let waiter = line.pop_front();
        if line.is_empty() {
            self.by_caller.remove(&caller);
        } else {
            self.turns.push_back(caller);
        }
        waiter
    }

    /// Takes somebody out who gave up. Says whether it was still waiting.
    fn remove(&mut self, caller: u64, ticket: u64) -> bool {
        let Some(line) = self.by_caller.get_mut(&caller) else { return false };
        let Some(place) = line.iter().position(|waiter| waiter.ticket == ticket) else { return false };
        line.remove(place);
        if line.is_empty() {
            self.by_caller.remove(&caller);
            self.turns.retain(|other| *other != caller);
        }
        true
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.leave();
    }
}

enum Entered<'a> {
    Placed(Place<'a>),
    Waiting(Waiting<'a>),
}

/// A call in its line. When its client leaves, it makes room, and gives on a place that it has just got.
struct Waiting<'a> {
    capacity: &'a Capacity,
    caller: u64,
    ticket: u64,
    called: oneshot::Receiver<()>,
    is_placed: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_placed {
            return;
        }
        let was_waiting = self.capacity.lock().remove(self.caller, self.ticket);
        if was_waiting {
            self.capacity.waiting.fetch_sub(1, Ordering::SeqCst);
        } else if self.called.try_recv().is_ok() {
            self.capacity.leave();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::Pin;
    use std::sync::Arc;

    use super::*;

    const ANNA: u64 = 1;
    const BEN: u64 = 2;
    const EVE: u64 = 3;

    type Waits = Pin<Box<dyn Future<Output = &'static str>>>;

    /// A call that waits, gets its place, gives it back and says its name.
    async fn waits(capacity: &Arc<Capacity>, caller: u64, name: &'static str) -> Waits {
        let capacity = Arc::clone(capacity);
        let mut call: Waits = Box::pin(async move {
            drop(capacity.place(caller).await.unwrap());
            name
        });
        assert!(futures_util::poll!(&mut call).is_pending(), "{name}");
        call
    }

    #[tokio::test]
    async fn callers_are_served_in_turn() {
        let capacity = Arc::new(Capacity::new(4, 16));
        let taken: Vec<_> = [(); 4].map(|()| capacity.free().unwrap()).into();
        let mut calls = Vec::new();
        for (caller, name) in
            [(ANNA, "a1"), (ANNA, "a2"), (ANNA, "a3"), (BEN, "b1"), (BEN, "b2"), (EVE, "e1")]
        {
            calls.push(waits(&capacity, caller, name).await);
        }
        let mut order = Vec::new();
        for place in taken.into_iter().take(1) {
            drop(place);
            // Each gives its place on when it is looked at.
            while !calls.is_empty() {
                let mut left = Vec::new();
                for mut call in calls {
                    match futures_util::poll!(&mut call) {
                        std::task::Poll::Ready(name) => order.push(name),
                        std::task::Poll::Pending => left.push(call),
                    }
                }
                calls = left;
            }
        }
        assert_eq!(order.len(), 6);
        let place = |name: &str| order.iter().position(|one| *one == name).unwrap();
        assert!(place("b1") < place("a2") && place("e1") < place("a2"), "{order:?}");
        assert!(place("b2") < place("a3"), "{order:?}");
    }

    #[tokio::test]
    async fn no_caller_takes_all_the_waiting_places() {
        let capacity = Arc::new(Capacity::new(1, 4));
        let first = capacity.place(ANNA).await.unwrap();
        let mut calls = vec![waits(&capacity, ANNA, "a1").await, waits(&capacity, ANNA, "a2").await];
        assert!(capacity.place(ANNA).await.is_err(), "half of the four");
        calls.push(waits(&capacity, BEN, "b1").await);
        assert!(capacity.place(BEN).await.is_err(), "a third of the four");
        calls.push(waits(&capacity, EVE, "e1").await);
        assert!(capacity.place(4).await.is_err(), "all four wait");
        drop(first);
        futures_util::future::join_all(calls).await;
        assert!(capacity.place(ANNA).await.is_ok());
    }

    #[tokio::test]
    async fn who_leaves_makes_room_and_gives_its_place_on() {
        let capacity = Arc::new(Capacity::new(1, 4));
        let first = capacity.place(ANNA).await.unwrap();
        let gone = waits(&capacity, ANNA, "gone").await;
        drop(gone);
        assert_eq!(capacity.waiting.load(Ordering::SeqCst), 0);
        let called = waits(&capacity, ANNA, "called").await;
        let next = waits(&capacity, BEN, "next").await;
        // The place goes to the first, which leaves before it notices.
        drop(first);
        drop(called);
        assert_eq!(next.await, "next");
        assert_eq!(capacity.places.load(Ordering::SeqCst), 1);
        assert_eq!(capacity.waiting.load(Ordering::SeqCst), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_place_is_lost_under_load() {
        let capacity = Arc::new(Capacity::new(3, 12));
        let calls: Vec<_> = (0..400_u64)
            .map(|number| {
                let capacity = Arc::clone(&capacity);
                tokio::spawn(async move {
                    let place = capacity.place(number % 7).await;
                    tokio::task::yield_now().await;
                    drop(place);
                })
            })
            .collect();
        for call in calls {
            call.await.unwrap();
        }
        assert_eq!(capacity.places.load(Ordering::SeqCst), 3);
        assert_eq!(capacity.waiting.load(Ordering::SeqCst), 0);
    }
}
