//! Whether a process that has calls under way still listens.
//!
//! A worker that is stuck keeps its pipes open, so only a question shows it. One that does not answer gets no new calls
//! while others can take them, and ends if it is silent for longer than a call may take.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{sleep, timeout};
use toolgate_protocol::{Era, Method};

use super::Shared;
use crate::link::Link;

/// How often a process with calls under way is asked.
const EVERY: Duration = Duration::from_secs(1);
/// How long it may take to answer before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(3);

/// Looks after one process of several. Runs until dropped.
pub(super) async fn look_after(process: Arc<Shared>) {
    loop {
        sleep(EVERY).await;
        if process.activity.is_still() {
            continue;
        }
        if let Some(link) = process.link.load_full() {
            examine(&process, &link).await;
        }
    }
}

async fn examine(process: &Shared, link: &Link) {
    let longest = process.spec.call_timeout.max(PATIENCE);
    // Every era has a request that costs nothing; an error is an answer too.
    let question = match link.era() {
        Era::Legacy => Method::Ping,
        Era::Modern => Method::Discover,
    };
    let mut answer = Box::pin(link.request(question, b"{}", longest));
    if timeout(PATIENCE, &mut answer).await.is_ok() {
        return;
    }
    let _blocked = Blocked::mark(process, link);
    if answer.await.is_err() {
        link.ending.end(format!("it has answered nothing for {} s", longest.as_secs_f32()));
    }
}

/// A process that does not answer, until dropped.
struct Blocked<'a> {
    process: &'a Shared,
    link: &'a Link,
}

impl<'a> Blocked<'a> {
    fn mark(process: &'a Shared, link: &'a Link) -> Blocked<'a> {
        process.blocked.store(true, Ordering::Release);
        link.unwell(format!("it has not answered for {} s and gets no new calls", PATIENCE.as_secs()));
        Blocked { process, link }
    }
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.process.blocked.store(false, Ordering::Release);
        self.link.healthy();
    }
}
