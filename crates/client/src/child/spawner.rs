//! The one thread that starts children.
//!
//! A child's parent-death signal comes when the *thread* that started it ends. Threads of a runtime come and go, so
//! children are started by one that lives as long as the process.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use tokio::process::{Child, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::child::guard;

/// How many starts may wait; the start gate lets far fewer through.
const CAPACITY: usize = 64;

struct Job {
    command: Command,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<Child>>,
}

/// Starts a command as the leader of its own process group, which dies with us.
pub(super) async fn spawn(command: Command) -> io::Result<Child> {
    static JOBS: OnceLock<Result<SyncSender<Job>, io::ErrorKind>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| begin().map_err(|error| error.kind())).as_ref().map_err(|kind| *kind)?;
    let (reply, answer) = oneshot::channel();
    let job = Job { command, runtime: Handle::current(), reply };
    jobs.try_send(job).map_err(|_| io::Error::other("too many children are being started"))?;
    answer.await.map_err(|_| io::Error::other("the thread that starts children has ended"))?
}

fn begin() -> io::Result<SyncSender<Job>> {
    let (sender, receiver) = sync_channel(CAPACITY);
    std::thread::Builder::new().name("start-children".to_owned()).spawn(move || work(&receiver))?;
    Ok(sender)
}

fn work(jobs: &Receiver<Job>) {
    while let Ok(Job { mut command, runtime, reply }) = jobs.recv() {
        guard::watch_over(&mut command);
        // A runtime that is shutting down panics; this thread serves others too.
        let started = catch_unwind(AssertUnwindSafe(|| {
            let _inside = runtime.enter();
            command.spawn()
        }));
        let started = started.unwrap_or_else(|_| Err(io::Error::other("the runtime is shutting down")));
        // Where nobody waits any more the child is dropped here; its group is ended with it.
        if let Err(Ok(unwanted)) = reply.send(started)
            && let Some(id) = unwanted.id()
        {
            drop(guard::Group::led_by(id));
        }
    }
}
