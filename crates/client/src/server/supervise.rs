//! The life of a server: asleep, connecting, ready, down, and again, until it is stopped.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use toolgate_protocol::Era;

use super::Shared;
use super::connect::{Connected, EXIT};
use super::{health, subscriptions};
use crate::backoff::Backoff;
use crate::child::Child;
use crate::connection::{Wire, WireError, listening};
use crate::link::Link;
use crate::status::State;

/// A connection that lasted this long was a good one: the next failure is a first one again.
const GOOD: Duration = Duration::from_secs(10);

/// How often idle HTTP connections are looked through.
const PRUNING: Duration = Duration::from_secs(30);

/// How a connection ended.
enum End {
    Lost(String),
    Idle,
    Stopped,
}

/// Supervises a server until it is stopped.
pub(super) async fn supervise(shared: Arc<Shared>) {
    let _ended = shared.stopped.clone().drop_guard();
    tokio::select! {
        () = live(&shared) => {}
        never = shared.board.settle() => match never {},
        never = health::look_after(&shared) => match never {},
    }
    shared.drain();
}

async fn live(shared: &Arc<Shared>) {
    let mut backoff = Backoff::default();
    let mut asleep = shared.spec.on_demand;
    loop {
        if std::mem::take(&mut asleep) {
            shared.set(State::Asleep, None, None);
            shared.asleep.store(true, Ordering::Release);
            tokio::select! {
                () = shared.demand.notified() => {}
                () = shared.stop.cancelled() => return,
            }
            shared.asleep.store(false, Ordering::Release);
        }
        // A server that is down stays so while it is tried again: calls fail at once, and since when is kept.
        if shared.board.status().state != State::Down {
            shared.set(State::Connecting, None, None);
        }
        let connected = tokio::select! {
            connected = shared.connect() => connected,
            () = shared.stop.cancelled() => return,
        };
        let (cause, was_ready) = match connected {
            Err(cause) => (cause, false),
            Ok(connected) => {
                let begun = Instant::now();
                let end = shared.stay(connected).await;
                if begun.elapsed() >= GOOD {
                    backoff.succeed();
                }
                match end {
                    End::Stopped => return,
                    End::Idle => {
                        asleep = true;
                        continue;
                    }
                    End::Lost(cause) => (cause, true),
                }
            }
        };
        tracing::warn!(server = %shared.spec.name, "{cause}");
        shared.rest(cause, was_ready, &mut backoff).await;
        asleep = shared.spec.on_demand;
        if shared.stop.is_cancelled() {
            return;
        }
    }
}

impl Shared {
    /// Waits before the next attempt.
    async fn rest(&self, cause: String, was_ready: bool, backoff: &mut Backoff) {
        let wait = backoff.fail();
        if was_ready && backoff.failures() == 1 {
            // Calls wait for the new connection rather than fail.
            self.set(State::Connecting, Some(cause), Some(wait));
        } else {
            self.set(State::Down, Some(cause), Some(wait));
        }
        tokio::select! {
            () = sleep(wait) => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Serves over a connection until it ends, and cleans up behind it.
    async fn stay(self: &Arc<Self>, connected: Connected) -> End {
        let Connected { link, mut tasks, mut child, errands } = connected;
        let attended = Arc::clone(&link);
        if let Some(queue) = errands {
            tasks.spawn(async move {
                if let Wire::Http(http) = &attended.wire {
                    http.run_errands(queue).await;
                }
            });
        }
        self.attend(&link, &mut tasks);
        self.link.store(Some(Arc::clone(&link)));
        // Calls that came before have been served by now; what they asked for is no reason to wake again later.
        let _ = futures_util::FutureExt::now_or_never(self.demand.notified());
        if self.is_draining() {
            self.board.greeted(link.greeting.clone());
        } else {
            self.board.ready(link.greeting.clone());
        }
        let end = self.watch(&link, &mut child).await;
        self.link.store(None);
        let end = match end {
            End::Lost(cause) => End::Lost(exit_of(&mut child).await.unwrap_or(cause)),
            other => other,
        };
        let cause = match &end {
            End::Lost(cause) => cause.clone(),
            End::Idle | End::Stopped => "the server was stopped".to_owned(),
        };
        link.wire.hearing().inflight.close(&WireError::Broken(cause));
        self.unanswered.clear();
        tasks.shutdown().await;
        if let (Wire::Http(http), End::Stopped | End::Idle) = (&link.wire, &end) {
            http.farewell().await;
        }
        if let Some(child) = child {
            child.close().await;
        }
        end
    }

    /// Starts what the era and the transport need besides calls.
    fn attend(self: &Arc<Self>, link: &Arc<Link>, tasks: &mut tokio::task::JoinSet<()>) {
        let (shared, attended) = (Arc::clone(self), Arc::clone(link));
        match link.era() {
            Era::Modern => tasks.spawn(async move { subscriptions::modern(&shared, &attended).await }),
            Era::Legacy => tasks.spawn(async move { subscriptions::legacy(&shared, &attended).await }),
        };
        if let (Wire::Http(_), Era::Legacy) = (&link.wire, link.era()) {
            let attended = Arc::clone(link);
            tasks.spawn(async move {
                if let Wire::Http(http) = &attended.wire {
                    listening::listen(Arc::clone(&attended), http).await;
                }
            });
        }
    }

    async fn watch(&self, link: &Arc<Link>, child: &mut Option<Child>) -> End {
        let mut ailment = link.ailment();
        let idle_stop = self.spec.idle_stop.filter(|_| child.is_some());
        let begun = std::time::Instant::now();
        let mut pruning = interval(PRUNING);
        pruning.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                cause = link.ending.ended() => return End::Lost(cause),
                cause = finished(child) => return End::Lost(cause),
                () = self.stop.cancelled() => return End::Stopped,
                () = self.until_idle(idle_stop, begun) => {
                    // Calls that come from now on see no connection and wait; one that saw it just before is under way.
                    self.link.store(None);
                    if self.activity.is_still() {
                        return End::Idle;
                    }
                    self.link.store(Some(Arc::clone(link)));
                }
                Ok(()) = ailment.changed() => {
                    let cause = ailment.borrow_and_update().clone();
                    let state = if cause.is_some() { State::Degraded } else { State::Ready };
                    self.set(state, cause, None);
                }
                _ = pruning.tick() => {
                    if let Wire::Http(http) = &link.wire {
                        http.prune();
                    }
                }
            }
        }
    }

    async fn until_idle(&self, limit: Option<Duration>, begun: std::time::Instant) {
        match limit {
            Some(limit) => loop {
                self.activity.until_still_for(limit, begun).await;
                if self.unanswered.is_empty() {
                    return;
                }
                self.unanswered.until_none().await;
            },
            None => std::future::pending().await,
        }
    }

    /// Writes a state. One that is being stopped stays so, but calls that still wait for it are told that it failed.
    fn set(&self, state: State, cause: Option<String>, retry_after: Option<Duration>) {
        if !self.is_draining() || state == State::Down {
            self.board.set(state, cause, retry_after);
        }
    }
}

async fn finished(child: &mut Option<Child>) -> String {
    match child {
        Some(child) => child.finished().await,
        None => std::future::pending().await,
    }
}

/// How a child ended that has closed a pipe, if it ends soon.
async fn exit_of(child: &mut Option<Child>) -> Option<String> {
    match child {
        Some(child) => timeout(EXIT, child.finished()).await.ok(),
        None => None,
    }
}
