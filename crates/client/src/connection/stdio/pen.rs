//! Writes to a child, on the thread of whoever has something to say.
//!
//! The pipe belongs to nobody in particular: one of those who have put a message into the queue takes it, and writes what
//! all have put in. The others do not wait for that; the one who writes looks again before it leaves. Only where the pipe
//! is full, because the child does not read, a task waits until it is not.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use tokio::net::unix::pipe;
use tokio::sync::{Notify, mpsc};
use toolgate_protocol::text;

use crate::connection::{Ending, Outbound};
use crate::turn::let_others_go_first;

/// How much is gathered before it is written, if more is waiting.
const GATHERED: usize = 32 * 1024;

/// Writes what waits in the queue of a connection.
#[derive(Debug)]
pub(crate) struct Pen {
    /// Nothing once the child's input was closed.
    desk: Mutex<Option<Desk>>,
    /// How often somebody wanted to write.
    wishes: AtomicUsize,
    /// Whether somebody will write in a moment.
    is_due: AtomicBool,
    is_full: Notify,
    ending: Arc<Ending>,
}

/// What one at a time may use.
#[derive(Debug)]
struct Desk {
    queue: mpsc::Receiver<Outbound>,
    pipe: Arc<pipe::Sender>,
    /// Taken from the queue; the first `written` bytes are with the child already.
    gathered: Vec<u8>,
    written: usize,
}

impl Pen {
    /// A pen, and what must be driven for as long as it shall write. When that is dropped, the child's input is closed.
    pub(crate) fn new(
        pipe: pipe::Sender,
        queue: mpsc::Receiver<Outbound>,
        ending: Arc<Ending>,
    ) -> (Arc<Pen>, impl Future<Output = ()>) {
        let pipe = Arc::new(pipe);
        let desk =
            Desk { queue, pipe: Arc::clone(&pipe), gathered: Vec::with_capacity(GATHERED), written: 0 };
        let pen = Arc::new(Pen {
            desk: Mutex::new(Some(desk)),
            wishes: AtomicUsize::new(0),
            is_due: AtomicBool::new(false),
            is_full: Notify::new(),
            ending,
        });
        let closing = Closing(Arc::clone(&pen));
        let patience = async move {
            loop {
                closing.0.is_full.notified().await;
                // A pipe that is broken counts as writable, and writing tells why.
                let _ = pipe.writable().await;
                closing.0.write();
            }
        };
        (pen, patience)
    }

    /// Writes after all who are ready on this thread have had their turn, so that what they say goes out with it.
    pub(crate) async fn write_soon(&self) {
        if self.is_due.swap(true, Ordering::AcqRel) {
            return;
        }
        // Dropped too where nobody waits for the answer any more: others rely on it.
        let _due = Due(self);
        let_others_go_first().await;
    }

    /// Writes what waits, unless somebody else is at it, who will then write it all.
    pub(crate) fn write(&self) {
        self.wishes.fetch_add(1, Ordering::Relaxed);
        loop {
            // Between this fence and the next one: either we find the desk free, or its holder finds our wish.
            fence(Ordering::SeqCst);
            let wishes = self.wishes.load(Ordering::Relaxed);
            {
                let mut place = match self.desk.try_lock() {
                    Ok(place) => place,
                    Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                    Err(TryLockError::WouldBlock) => return,
                };
                match place.as_mut().map(Desk::write) {
                    None | Some(Ok(())) => {}
                    Some(Err(error)) if error.kind() == io::ErrorKind::WouldBlock => {
                        self.is_full.notify_one()
                    }
                    Some(Err(error)) => {
                        *place = None;
                        self.ending.end(format!("the process closed its input ({error})"));
                    }
                }
            }
            fence(Ordering::SeqCst);
            if self.wishes.load(Ordering::Relaxed) == wishes {
                return;
            }
        }
    }
}

impl Desk {
    /// Writes until nothing waits, in as few system calls as possible.
    fn write(&mut self) -> io::Result<()> {
        loop {
            while self.gathered.len() < GATHERED
                && let Ok(outbound) = self.queue.try_recv()
            {
                text::push_on_one_line(&mut self.gathered, &outbound.bytes);
                self.gathered.push(b'\n');
            }
            if self.gathered.is_empty() {
                return Ok(());
            }
            while let Some(rest) = self.gathered.get(self.written..).filter(|rest| !rest.is_empty()) {
                self.written += self.pipe.try_write(rest)?;
            }
            self.written = 0;
            self.gathered.clear();
            // One long message shall not keep its room for ever.
            self.gathered.shrink_to(2 * GATHERED);
        }
    }
}

/// A promise to write, kept when it is dropped.
struct Due<'a>(&'a Pen);

impl Drop for Due<'_> {
    fn drop(&mut self) {
        // Who finds it taken back has put its message in too late for this time, and writes itself.
        self.0.is_due.swap(false, Ordering::AcqRel);
        self.0.write();
    }
}

/// Closes the child's input when dropped, whoever still holds the pen.
struct Closing(Arc<Pen>);

impl Drop for Closing {
    fn drop(&mut self) {
        *self.0.desk.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};

    use super::*;
    use crate::connection::QUEUE;
    use crate::connection::outlet::Outlet;

    struct Line {
        outlet: Outlet,
        ending: Arc<Ending>,
        patience: tokio::task::JoinHandle<()>,
        child: pipe::Receiver,
    }

    fn line() -> Line {
        let (parent, child) = pipe::pipe().unwrap();
        let (outlet, queue) = Outlet::new();
        let ending = Arc::new(Ending::default());
        let (pen, patience) = Pen::new(parent, queue, Arc::clone(&ending));
        Line { outlet: outlet.with_pen(pen), ending, patience: tokio::spawn(patience), child }
    }

    fn message(text: impl Into<Bytes>) -> Outbound {
        Outbound::unasked(text.into())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn what_many_say_at_once_arrives_whole_and_each_ones_in_order() {
        const EACH: usize = 2000;
        let Line { outlet, patience, child, .. } = line();
        let filling = "x".repeat(200);
        for speaker in 0..4 {
            let (outlet, filling) = (outlet.clone(), filling.clone());
            tokio::spawn(async move {
                for number in 0..EACH {
                    outlet.send(message(format!("{speaker}\n{number} {filling}"))).await.unwrap();
                }
            });
        }
        let mut heard = [0; 4];
        let mut lines = BufReader::new(child).lines();
        while heard.iter().sum::<usize>() < 4 * EACH {
            let line = lines.next_line().await.unwrap().unwrap();
            let mut words = line.split(' ');
            let speaker: usize = words.next().unwrap().parse().unwrap();
            assert_eq!(words.next().unwrap(), heard[speaker].to_string());
            assert_eq!(words.next().unwrap(), filling);
            heard[speaker] += 1;
        }
        patience.abort();
    }

    #[tokio::test]
    async fn a_child_that_does_not_read_keeps_no_more_waiting_than_the_queue_holds() {
        let Line { outlet, patience, mut child, .. } = line();
        // More than a pipe holds.
        let long = Bytes::from(vec![b'x'; 1 << 20]);
        outlet.send(message(long.clone())).await.unwrap();
        let taken = (0..QUEUE + 9).take_while(|_| outlet.try_send(message("{}")).is_ok()).count();
        assert_eq!(taken, QUEUE);
        let mut read = vec![0; long.len() + 1 + 3 * QUEUE];
        child.read_exact(&mut read).await.unwrap();
        assert!(read.ends_with(b"{}\n{}\n"));
        outlet.send(message("{}")).await.unwrap();
        patience.abort();
    }

    #[tokio::test]
    async fn a_request_whose_caller_leaves_takes_others_along() {
        let Line { outlet, patience, mut child, .. } = line();
        outlet.put(message("1")).await.unwrap();
        let mut leaving = Box::pin(outlet.push_out());
        assert!(futures_util::poll!(&mut leaving).is_pending());
        outlet.send(message("2")).await.unwrap();
        drop(leaving);
        let mut read = [0; 4];
        child.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"1\n2\n");
        patience.abort();
    }

    #[tokio::test]
    async fn the_input_is_closed_with_the_connection_and_the_connection_with_the_input() {
        let Line { outlet, patience, mut child, .. } = line();
        patience.abort();
        assert_eq!(child.read(&mut [0]).await.unwrap(), 0);
        assert!(outlet.send(message("{}")).await.is_err());

        let Line { outlet, ending, child, patience } = line();
        drop(child);
        while outlet.send(message("{}")).await.is_ok() {
            tokio::task::yield_now().await;
        }
        assert!(ending.ended().await.starts_with("the process closed its input"));
        patience.abort();
    }
}
