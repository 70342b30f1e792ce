//! One supervised server.

mod activity;
mod ask;
mod connect;
mod health;
mod lineage;
mod pool;
mod subscriptions;
mod supervise;
mod unanswered;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::{Notify, mpsc, watch};
use tokio_util::sync::CancellationToken;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Era, Message, Method};

use crate::board::Board;
use crate::call::{Answer, Call, CallError};
use crate::capacity::Capacity;
use crate::handshake::Known;
use crate::link::Link;
use crate::news::News;
use crate::ourselves;
use crate::outbox::Outbox;
use crate::spec::{ServerSpec, Transport};
use crate::status::Status;
use activity::{Active, Activity};
use health::Pings;
use lineage::Lineage;
use pool::Pool;
use unanswered::Unanswered;

/// A handle to a supervised server. Cloning it gives another handle to the same one; when the last one is dropped, the
/// server is stopped without patience.
#[derive(Clone, Debug)]
pub struct Server {
    /// The only process or connection, or the first of several.
    shared: Arc<Shared>,
    /// All processes, where there are several.
    pool: Option<Arc<Pool>>,
    _owner: Arc<Owner>,
}

/// What the handles and the supervisor of one process or connection have in common.
#[derive(Debug)]
struct Shared {
    spec: ServerSpec,
    board: Arc<Board>,
    /// The connection, while there is one. Read with every call, so without a lock.
    link: ArcSwapOption<Link>,
    /// Shared by all processes of a server.
    capacity: Arc<Capacity>,
    activity: Activity,
    wishes: watch::Sender<Wishes>,
    /// Someone wants a server that is asleep.
    demand: Notify,
    /// It is not started, but could be.
    asleep: AtomicBool,
    /// It is connected and does not answer.
    blocked: AtomicBool,
    pings: Pings,
    known: Mutex<Option<Known>>,
    draining: AtomicBool,
    /// Who gets the calls that come while this one drains.
    successor: OnceLock<Server>,
    /// What it has in common with those before and after it, where there are any.
    lineage: OnceLock<Arc<Lineage>>,
    unanswered: Unanswered,
    /// Stop now; those under way have had their time.
    stop: CancellationToken,
    /// The supervisor has ended, and nothing of the server is left.
    stopped: CancellationToken,
}

/// What the clients want to be told by the server unasked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Wishes {
    uris: BTreeSet<String>,
    log_level: Option<String>,
}

/// Stops the supervisor when the last handle is gone.
#[derive(Debug)]
struct Owner {
    stop: CancellationToken,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Server {
    /// Begins to supervise a server. Must be called within a tokio runtime.
    pub fn start(spec: ServerSpec, news: mpsc::Sender<News>) -> Server {
        let stop = CancellationToken::new();
        let capacity = Arc::new(Capacity::new(spec.max_concurrency, spec.max_waiting));
        let _owner = Arc::new(Owner { stop: stop.clone() });
        if let (true, Transport::Stdio { .. }) = (spec.processes > 1, &spec.transport) {
            let (pool, shared) = Pool::start(&spec, &capacity, news, &stop);
            return Server { shared, pool: Some(pool), _owner };
        }
        let board = Arc::new(Board::new(Arc::clone(&spec.name), news));
        Server { shared: Shared::start(spec, board, capacity, stop), pool: None, _owner }
    }

    /// The name it was given.
    pub fn name(&self) -> &Arc<str> {
        &self.shared.spec.name
    }

    /// How many calls it gets at a time.
    pub fn max_concurrency(&self) -> usize {
        self.shared.spec.max_concurrency
    }

    /// Whether both are handles to the same server.
    pub fn is_same(&self, other: &Server) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// In which state it is. Of several processes it is the best state, and the cause tells of the worst.
    pub fn status(&self) -> Status {
        match &self.pool {
            None => self.shared.board.status(),
            Some(pool) => pool.status(),
        }
    }

    /// For how long nothing has been asked of it; nothing while something is under way.
    pub fn quiet_for(&self) -> Option<Duration> {
        let quiet: Option<Vec<_>> = self.processes().iter().map(|one| one.activity.still_for()).collect();
        quiet?.into_iter().min()
    }

    /// How long calls under way can take to end: each may wait for its place, and for the connection, before its own
    /// time begins.
    pub fn patience(&self) -> Duration {
        let spec = &self.shared.spec;
        spec.longest_call().saturating_mul(2).saturating_add(spec.connect_timeout)
    }

    /// Asks the server and waits for its answer. Dropping the future tells the server that nobody waits any more.
    pub async fn call(&self, call: impl Into<Arc<Call>>, outbox: &Arc<Outbox>) -> Result<Answer, CallError> {
        let call = call.into();
        let elder = self.elder_that_asked(&call.message);
        let mut server = elder.as_ref().unwrap_or(self);
        let (mut process, mut active) = loop {
            let process = server.process_for(&call.message);
            let entered = match elder {
                // It takes no calls any more but waits for this one.
                Some(_) => Some(process.activity.enter()),
                None => process.enter(),
            };
            match (entered, server.shared.successor.get()) {
                (Some(active), _) => break (process, active),
                (None, Some(successor)) => server = successor,
                (None, None) => return Err(process.unavailable(server.status())),
            }
        };
        let limit = call.timeout.unwrap_or(process.spec.call_timeout);
        let _place = match process.capacity.place_at_once() {
            Some(place) => place,
            None => {
                let place = process.wait_for_a_place(call.line, limit).await?;
                // Whoever had the fewest calls when the waiting began may have the most by now, or be gone.
                process = server.process_for(&call.message);
                active = process.activity.enter();
                place
            }
        };
        process.call(active, limit, &call, outbox).await
    }

    /// A request of our own (a page of a list): the whole answer, a result or an error.
    pub async fn request(&self, method: Method, params: Bytes) -> Result<Answer, CallError> {
        let process = self.pool.as_ref().map_or(&self.shared, |pool| pool.least_busy());
        process.request(method, &params).await
    }

    /// Tells the server something, if it is connected and its era has such a notification.
    pub async fn notify(&self, method: Method, params: Option<Bytes>) {
        for process in self.processes() {
            let Some(link) = process.link.load_full() else { continue };
            // The modern era has no notifications from clients but cancellation, which calls send themselves.
            if link.era() == Era::Legacy {
                let told = link.wire.tell(ourselves::notification(method, params.as_deref())).await;
                if let Err(error) = told {
                    tracing::debug!(server = %self.name(), %error, "'{}' was not accepted", method.name());
                }
            }
        }
    }

    /// Which resources the server shall tell changes of: `resources/subscribe` or a new `subscriptions/listen`.
    pub fn subscribe(&self, uris: BTreeSet<String>) {
        for process in self.processes() {
            process.wishes.send_if_modified(|wishes| {
                let changed = wishes.uris != uris;
                wishes.uris.clone_from(&uris);
                changed
            });
        }
    }

    /// The lowest level of logs that any client wants: `logging/setLevel` for a legacy server.
    pub fn set_log_level(&self, level: &str) {
        for process in self.processes() {
            process.wishes.send_if_modified(|wishes| {
                let changed = wishes.log_level.as_deref() != Some(level);
                wishes.log_level = Some(level.to_owned());
                changed
            });
        }
    }

    /// Tells the server to say unasked what another one was told to.
    pub fn watch_like(&self, other: &Server) {
        let wishes = other.shared.wishes.borrow().clone();
        for process in self.processes() {
            process.wishes.send_replace(wishes.clone());
        }
    }

    /// The same as [`Server::stop`], but calls that still come to this handle are answered by `successor`, and answers to
    /// what this one has asked are waited for.
    pub async fn hand_over(&self, successor: Server, patience: Duration) {
        let lineage = self.shared.lineage.get_or_init(Arc::default);
        let _ = successor.shared.lineage.set(Arc::clone(lineage));
        let _elder = lineage.enter(self);
        // One that was handed over before keeps its first successor, which leads to the later ones.
        let _ = self.shared.successor.set(successor);
        self.drain();
        tokio::select! {
            _ = join_all(self.processes().iter().map(|process| process.until_all_answered(patience))) => {}
            () = lineage.over.cancelled() => {}
        }
        self.finish(patience).await;
    }

    /// Takes no new calls, lets those under way finish for `patience`, then closes: SIGTERM, SIGKILL for a child.
    pub async fn stop(&self, patience: Duration) {
        if let Some(lineage) = self.shared.lineage.get() {
            lineage.over.cancel();
        }
        self.drain();
        self.finish(patience).await;
    }

    /// From now on no call is taken.
    fn drain(&self) {
        self.processes().iter().for_each(|process| process.drain());
        if let Some(pool) = &self.pool {
            pool.show();
        }
    }

    async fn finish(&self, patience: Duration) {
        let processes = self.processes();
        let all_still = join_all(processes.iter().map(|process| process.activity.until_still()));
        let _ = tokio::time::timeout(patience, all_still).await;
        self.shared.stop.cancel();
        join_all(processes.iter().map(|process| process.stopped.cancelled())).await;
    }

    /// An earlier generation that waits for the answers that a request brings.
    fn elder_that_asked(&self, message: &Message) -> Option<Server> {
        let lineage = self.shared.lineage.get()?;
        lineage.asker(&message.field_text(Field::RequestState)?)
    }

    /// The process that a request of a client goes to.
    fn process_for(&self, message: &Message) -> &Arc<Shared> {
        self.pool.as_ref().map_or(&self.shared, |pool| pool.process_for(message))
    }

    fn processes(&self) -> &[Arc<Shared>] {
        match &self.pool {
            None => std::slice::from_ref(&self.shared),
            Some(pool) => pool.processes(),
        }
    }
}

impl Shared {
    /// Begins to supervise one process or connection, until `stop`.
    fn start(
        spec: ServerSpec,
        board: Arc<Board>,
        capacity: Arc<Capacity>,
        stop: CancellationToken,
    ) -> Arc<Shared> {
        let shared = Arc::new(Shared {
            board,
            link: ArcSwapOption::empty(),
            capacity,
            activity: Activity::new(),
            wishes: watch::Sender::new(Wishes::default()),
            demand: Notify::new(),
            asleep: AtomicBool::new(spec.on_demand),
            blocked: AtomicBool::new(false),
            pings: Pings::default(),
            known: Mutex::new(known_from(&spec)),
            draining: AtomicBool::new(false),
            successor: OnceLock::new(),
            lineage: OnceLock::new(),
            unanswered: Unanswered::default(),
            stop,
            stopped: CancellationToken::new(),
            spec,
        });
        tokio::spawn(supervise::supervise(Arc::clone(&shared)));
        shared
    }

    /// From now on no call is taken.
    fn drain(&self) {
        if !self.draining.swap(true, Ordering::SeqCst) {
            self.board.set(crate::status::State::Draining, Some("it is being stopped".to_owned()), None);
        }
    }

    fn is_draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// Something begins; nothing where no more is taken. In this order, so that whoever drains sees it, or it sees that.
    fn enter(&self) -> Option<Active<'_>> {
        let active = self.activity.enter();
        (!self.is_draining()).then_some(active)
    }

    /// Waits until nothing is asked any more, nor could be by a call under way, which gets as long as `patience`.
    async fn until_all_answered(&self, patience: Duration) {
        loop {
            let _ = tokio::time::timeout(patience, self.activity.until_still()).await;
            if self.unanswered.is_empty() {
                return;
            }
            self.unanswered.until_none().await;
        }
    }

    fn known(&self) -> Option<Known> {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remember(&self, known: Option<Known>) {
        let told = known_from(&self.spec);
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = told.or(known);
    }
}

/// What the operator said of the era.
fn known_from(spec: &ServerSpec) -> Option<Known> {
    match spec.era {
        Some(Era::Modern) => Some(Known::Modern),
        Some(Era::Legacy) => Some(Known::Legacy),
        None => None,
    }
}
