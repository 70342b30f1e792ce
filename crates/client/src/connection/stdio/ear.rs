//! Reads what a child says, on the thread that most of its calls come from.
//!
//! An answer that is read where its call waits need not wake another thread. So the reading moves: when a number of calls
//! in a row have come from another runtime than the one it is done on, it is carried on there. Calls from many threads
//! let it stay where it is.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::runtime::{self, Handle};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::connection::Ending;
use crate::connection::lines::{Line, Lines};
use crate::hearing::Hearing;

/// How many calls in a row from another runtime make the reading move there.
const INVITATIONS: u32 = 64;

/// The reading side of the pipes.
pub(crate) struct Ear {
    pub(crate) hearing: Arc<Hearing>,
    pub(crate) ending: Arc<Ending>,
    /// Set once the child has said anything.
    pub(crate) spoke: CancellationToken,
    pub(crate) whereabouts: Arc<Whereabouts>,
}

/// Where the reading is done, and where it is wanted.
#[derive(Debug)]
pub(crate) struct Whereabouts {
    here: ArcSwap<runtime::Id>,
    invitations: AtomicU32,
    wanted: Mutex<Option<Handle>>,
    moved: Notify,
}

/// Why reading stopped in one place.
enum Stopped {
    Wanted(Handle),
    Ended(String),
}

impl Whereabouts {
    /// The reading begins on this runtime.
    pub(crate) fn here() -> Whereabouts {
        Whereabouts {
            here: ArcSwap::from_pointee(Handle::current().id()),
            invitations: AtomicU32::new(0),
            wanted: Mutex::new(None),
            moved: Notify::new(),
        }
    }

    /// A call is made from this runtime, and its answer will be waited for here.
    pub(crate) fn invite(&self) {
        let Ok(handle) = Handle::try_current() else { return };
        if **self.here.load() == handle.id() {
            if self.invitations.load(Ordering::Relaxed) != 0 {
                self.invitations.store(0, Ordering::Relaxed);
            }
        } else if self.invitations.fetch_add(1, Ordering::Relaxed) + 1 == INVITATIONS {
            *self.wanted.lock().unwrap_or_else(PoisonError::into_inner) = Some(handle);
            self.moved.notify_one();
        }
    }

    async fn wanted(&self) -> Handle {
        loop {
            self.moved.notified().await;
            let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(handle) = wanted {
                return handle;
            }
        }
    }

    fn moved_to(&self, runtime: &Handle) {
        self.here.store(Arc::new(runtime.id()));
        self.invitations.store(0, Ordering::Relaxed);
    }
}

impl Ear {
    /// Reads until the end, wherever that is wanted.
    pub(crate) async fn read(self, stdout: OwnedFd, lines: Lines) {
        let ear = Arc::new(self);
        let lines = Arc::new(tokio::sync::Mutex::new(lines));
        let home = Handle::current();
        let mut runtime = home.clone();
        loop {
            let stdout = match stdout.try_clone() {
                Ok(stdout) => stdout,
                Err(error) => return ear.ending.end(unreadable(&error)),
            };
            let reading = Arc::clone(&ear).read_here(stdout, Arc::clone(&lines));
            let stopped = AbortOnDropHandle::new(runtime.spawn(reading)).await;
            runtime = match stopped {
                Ok(Stopped::Ended(cause)) => return ear.ending.end(cause),
                Ok(Stopped::Wanted(runtime)) => runtime,
                // A runtime that has ended takes its tasks along; what was read is still there.
                Err(_) if runtime.id() != home.id() => home.clone(),
                Err(error) => return ear.ending.end(format!("reading from the process stopped: {error}")),
            };
            ear.whereabouts.moved_to(&runtime);
        }
    }

    async fn read_here(self: Arc<Self>, stdout: OwnedFd, lines: Arc<tokio::sync::Mutex<Lines>>) -> Stopped {
        let mut lines = lines.lock().await;
        // Checked, because that also makes a pipe that blocks one that does not.
        let mut stdout = match pipe::Receiver::from_owned_fd(stdout) {
            Ok(stdout) => stdout,
            Err(error) => return Stopped::Ended(unreadable(&error)),
        };
        let mut wanted = std::pin::pin!(self.whereabouts.wanted());
        loop {
            let read = tokio::select! {
                biased;
                read = stdout.read_buf(lines.room()) => read,
                runtime = &mut wanted => return Stopped::Wanted(runtime),
            };
            match read {
                Ok(0) => return Stopped::Ended("the process closed its output".to_owned()),
                Ok(_) => self.hear(&mut lines),
                Err(error) => return Stopped::Ended(unreadable(&error)),
            }
        }
    }

    fn hear(&self, lines: &mut Lines) {
        self.spoke.cancel();
        while let Some(line) = lines.next() {
            match line {
                Line::Whole(bytes) => self.hearing.hear(bytes),
                Line::TooLong { answers } => {
                    self.hearing.unusable(answers, "a line longer than a message may be".to_owned());
                }
            }
        }
    }
}

fn unreadable(error: &std::io::Error) -> String {
    format!("the output of the process cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::sync::mpsc;

    use tokio::io::AsyncWriteExt;
    use tokio::sync::oneshot;

    use super::*;
    use crate::board::Board;
    use crate::connection::outlet::Outlet;
    use crate::inflight::{Outcome, Waiting};
    use crate::questions;

    fn expect(hearing: &Hearing, id: u64) -> oneshot::Receiver<Outcome> {
        let (answer, outcome) = oneshot::channel();
        let waiting = Waiting { key: None, outbox: Arc::default(), answer: Some(answer) };
        hearing.inflight.enter(id, waiting).unwrap();
        outcome
    }

    fn answer(id: u64) -> Vec<u8> {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n").into_bytes()
    }

    /// A thread with a runtime that runs until the sender is dropped.
    fn elsewhere(whereabouts: &Arc<Whereabouts>, calls: u32) -> (Handle, oneshot::Sender<()>) {
        let (tell, told) = mpsc::channel();
        let (stay, leave) = oneshot::channel::<()>();
        let whereabouts = Arc::clone(whereabouts);
        std::thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                (0..calls).for_each(|_| whereabouts.invite());
                tell.send(Handle::current()).unwrap();
                let _ = leave.await;
            });
        });
        (told.recv().unwrap(), stay)
    }

    async fn until_read_on(whereabouts: &Whereabouts, runtime: &Handle) {
        while **whereabouts.here.load() != runtime.id() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn reading_follows_the_calls_and_outlives_the_place_it_moved_to() {
        let (mut child, parent) = pipe::pipe().unwrap();
        let (news, _heard) = tokio::sync::mpsc::channel(1);
        let (desk, _clerk) = questions::desk(Outlet::new().0);
        let hearing = Arc::new(Hearing::new(Arc::new(Board::new("s".into(), news)), desk));
        let whereabouts = Arc::new(Whereabouts::here());
        let ending = Arc::new(Ending::default());
        let ear = Ear {
            hearing: Arc::clone(&hearing),
            ending: Arc::clone(&ending),
            spoke: CancellationToken::new(),
            whereabouts: Arc::clone(&whereabouts),
        };
        let stdout = parent.as_fd().try_clone_to_owned().unwrap();
        drop(parent);
        let reading = tokio::spawn(ear.read(stdout, Lines::new(1000)));

        let (few, _stay) = elsewhere(&whereabouts, INVITATIONS - 1);
        whereabouts.invite();
        let (other, stay) = elsewhere(&whereabouts, INVITATIONS);
        until_read_on(&whereabouts, &other).await;
        assert_ne!(few.id(), other.id());

        let outcome = expect(&hearing, 1);
        let (half, rest) = (answer(2), answer(2).split_off(20));
        child.write_all(&[answer(1), half[..20].to_vec()].concat()).await.unwrap();
        assert!(outcome.await.unwrap().is_ok());

        drop(stay);
        until_read_on(&whereabouts, &Handle::current()).await;
        let outcome = expect(&hearing, 2);
        child.write_all(&rest).await.unwrap();
        assert!(outcome.await.unwrap().is_ok());

        drop(child);
        assert_eq!(ending.ended().await, "the process closed its output");
        reading.await.unwrap();
    }
}
