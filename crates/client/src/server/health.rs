//! Whether a server still listens.
//!
//! One that is stuck keeps its pipes open, so only a question shows it. One that does not answer counts as degraded, gets
//! no new calls while other processes of it can take them, and is begun anew if it is silent for longer than it has any
//! reason to be.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use toolgate_protocol::{Era, Message, Method};

use super::Shared;
use crate::connection::WireError;
use crate::link::Link;
use crate::spec::Transport;

/// How often a process of several is asked while it has calls under way: others could take the next ones.
const EVERY: Duration = Duration::from_secs(1);
/// How long a process of several may take to answer before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(3);
/// The same at most for one that is alone. Many servers do one thing after the other and are slow for no other reason.
const LONG_PATIENCE: Duration = Duration::from_secs(10);

/// What is known of a server's answers to `ping`.
#[derive(Debug, Default)]
pub(super) struct Pings {
    /// It has answered one.
    answered: AtomicBool,
    /// It answers none, but lists its tools: that is asked instead.
    ignored: AtomicBool,
}

/// Looks after one process or connection. Runs until dropped.
pub(super) async fn look_after(process: &Shared) -> Infallible {
    let several = process.spec.processes > 1 && matches!(process.spec.transport, Transport::Stdio { .. });
    let interval = process.spec.health_interval.filter(|interval| !interval.is_zero());
    let (pause, patience) = match (interval, several) {
        (None, false) => return std::future::pending().await,
        (Some(interval), false) => (interval, interval.clamp(PATIENCE, LONG_PATIENCE)),
        (interval, true) => (interval.unwrap_or(EVERY).min(EVERY), PATIENCE),
    };
    let mut asked = Instant::now();
    loop {
        sleep(pause).await;
        let due = interval.is_some_and(|interval| asked.elapsed() >= interval);
        let urgent = several && !process.activity.is_still();
        let Some(link) = process.link.load_full().filter(|_| due || urgent) else { continue };
        asked = Instant::now();
        examine(process, &link, patience).await;
    }
}

async fn examine(process: &Shared, link: &Arc<Link>, patience: Duration) {
    // What is under way may keep it from answering for as long as it may take. One without work has no such reason.
    let busy = !process.activity.is_still();
    let limit = if busy { process.spec.longest_call() } else { process.spec.connect_timeout }.max(patience);
    let mut answer = Box::pin(ask(process, link, limit));
    if let Ok(answer) = timeout(patience, &mut answer).await {
        return judge(link, answer, None);
    }
    let _blocked = Blocked::mark(process, link, patience);
    judge(link, answer.await, Some(limit));
}

/// Asks what costs nothing. An error is an answer too.
async fn ask(process: &Shared, link: &Link, limit: Duration) -> Result<Message, WireError> {
    let pings = &process.pings;
    let question = match link.era() {
        Era::Modern => Method::Discover,
        Era::Legacy if pings.ignored.load(Ordering::Relaxed) => Method::ToolsList,
        Era::Legacy => Method::Ping,
    };
    let answer = link.request(question, b"{}", limit).await;
    match (question, &answer) {
        (Method::Ping, Ok(_)) => pings.answered.store(true, Ordering::Relaxed),
        (Method::Ping, Err(WireError::Broken(_)))
            if !pings.answered.load(Ordering::Relaxed) && link.is_able("tools", None) =>
        {
            // Some servers know nothing of `ping` and leave it unanswered, which is no reason to end them.
            let listed = link.request(Method::ToolsList, b"{}", limit).await;
            pings.ignored.store(listed.is_ok(), Ordering::Relaxed);
            return listed;
        }
        _ => {}
    }
    answer
}

/// Ends a connection over which nothing comes any more, or has not for this long; a new one is made.
fn judge(link: &Link, answer: Result<Message, WireError>, silent: Option<Duration>) {
    match answer {
        // What came back is no use, but something did.
        Ok(_) | Err(WireError::Unusable(_) | WireError::Refused { .. }) => {}
        // One exchange of many broke; the next question tells more. Other connections end by themselves when they break.
        Err(WireError::Broken(_)) => {
            if let Some(silent) = silent {
                link.ending.end(format!("it has answered nothing for {} s", silent.as_secs_f32()));
            }
        }
        Err(error @ (WireError::Unreachable(_) | WireError::Forgotten)) => link.ending.end(error.to_string()),
    }
}

/// A process that does not answer, until dropped.
struct Blocked<'a> {
    process: &'a Shared,
    link: &'a Link,
}

impl<'a> Blocked<'a> {
    fn mark(process: &'a Shared, link: &'a Link, patience: Duration) -> Blocked<'a> {
        process.blocked.store(true, Ordering::Release);
        let others = if process.spec.processes > 1 { " and gets no new calls" } else { "" };
        link.unwell(format!("it has not answered for {} s{others}", patience.as_secs_f32()));
        Blocked { process, link }
    }
}

impl Drop for Blocked<'_> {
    fn drop(&mut self) {
        self.process.blocked.store(false, Ordering::Release);
        // One that is given up is not well again.
        if !self.link.ending.has_ended() {
            self.link.healthy();
        }
    }
}
