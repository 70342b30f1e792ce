//! How many children there may be, and how many may start at a time: twenty `npx` at once make a machine stand still.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// What counts where nobody says anything else.
const MOST_CHILDREN: usize = 256;
const STARTS_AT_A_TIME: usize = 4;

/// The bounds that the children of several servers share. Cloning it gives another handle to the same one, and two are
/// equal if they are the same one.
#[derive(Clone)]
pub struct Nursery {
    rooms: Arc<Rooms>,
}

#[derive(Debug)]
struct Rooms {
    most: usize,
    children: Arc<Semaphore>,
    starts: Arc<Semaphore>,
}

/// The place of one child, kept until dropped.
#[derive(Debug)]
pub(crate) struct ChildPlace(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

/// The turn of one child to start, kept until dropped.
#[derive(Debug)]
pub(crate) struct Turn(#[expect(dead_code, reason = "held, not read")] Option<OwnedSemaphorePermit>);

/// There are as many children as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} child processes are running, as many as runtime.max_children allows; stop a server or raise the limit"
)]
pub(crate) struct NoRoom(usize);

impl Nursery {
    /// Room for so many children, of which so many may start at a time; at least one each.
    pub fn new(max_children: usize, max_cold_starts: usize) -> Nursery {
        let places = |count: usize| Arc::new(Semaphore::new(count.clamp(1, Semaphore::MAX_PERMITS)));
        let rooms = Rooms {
            most: max_children.max(1),
            children: places(max_children),
            starts: places(max_cold_starts),
        };
        Nursery { rooms: Arc::new(rooms) }
    }

    /// A place for one more child, which may become free within `patience`.
    pub(crate) async fn place(&self, patience: Duration) -> Result<ChildPlace, NoRoom> {
        let place = timeout(patience, Arc::clone(&self.rooms.children).acquire_owned()).await;
        place.ok().and_then(Result::ok).map(ChildPlace).ok_or(NoRoom(self.rooms.most))
    }

    /// Waits for a place among those that start. Others may start once it is dropped.
    pub(crate) async fn turn(&self) -> Turn {
        Turn(Arc::clone(&self.rooms.starts).acquire_owned().await.ok())
    }
}

impl Default for Nursery {
    /// The one that all servers of this process share that name no other.
    fn default() -> Nursery {
        static SHARED: OnceLock<Nursery> = OnceLock::new();
        SHARED.get_or_init(|| Nursery::new(MOST_CHILDREN, STARTS_AT_A_TIME)).clone()
    }
}

impl PartialEq for Nursery {
    fn eq(&self, other: &Nursery) -> bool {
        Arc::ptr_eq(&self.rooms, &other.rooms)
    }
}

impl Eq for Nursery {}

impl fmt::Debug for Nursery {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Nursery").field("most", &self.rooms.most).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_child_waits_for_a_place_and_is_told_that_there_is_none() {
        let nursery = Nursery::new(2, 1);
        let patience = Duration::from_secs(5);
        let first = nursery.place(patience).await.unwrap();
        let _second = nursery.place(patience).await.unwrap();
        let refused = nursery.place(patience).await.unwrap_err();
        assert_eq!(refused, NoRoom(2));
        assert!(refused.to_string().contains("runtime.max_children"));
        let mut waiting = Box::pin(nursery.place(patience));
        assert!((&mut waiting).now_or_never().is_none());
        drop(first);
        assert!(waiting.await.is_ok());
    }

    #[tokio::test]
    async fn only_so_many_start_at_a_time() {
        let nursery = Nursery::new(9, 2);
        let (_first, second) = (nursery.turn().await, nursery.turn().await);
        let mut third = Box::pin(nursery.turn());
        assert!((&mut third).now_or_never().is_none());
        drop(second);
        assert!(third.now_or_never().is_some());
    }
}
