//! The gateway as a whole: what lives as long as the process.

pub mod announce;
pub mod background;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolgate_client::capacity::Capacity;

use crate::catalog::{Memory, Naming};
use crate::downstream::cors::Cors;
use crate::downstream::door::{Annex, Authenticate, ByAddress};
use crate::downstream::origin::Origins;
use crate::downstream::sse::Streams;
use crate::fleet::{Desired, Fleet};
use crate::gate::Gate;
use crate::isolated::Isolated;
use crate::listen::Listeners;
use crate::published::Published;
use crate::relay::{Parked, Tasks, Traffic};
use crate::results::{Limits, Results};
use crate::seal::{Seal, SealError};
use crate::session::table::Sessions;
use crate::session::{Session, sealed};
use crate::subscriptions::Subscriptions;

/// How many calls may wait for each that is under way.
const WAITING_PER_PLACE: usize = 4;

/// What is decided at start.
#[derive(Clone, Debug)]
pub struct Settings {
    pub origins: Origins,
    /// What pages in browsers are told; nothing where they are told nothing.
    pub cors: Option<Cors>,
    pub max_body_bytes: usize,
    pub max_sessions: usize,
    /// How many calls are under way at a time, over all servers.
    pub max_concurrency: usize,
    /// After how long without news a client that wants to hear of progress is told that the call goes on.
    pub progress_after: Duration,
    /// How long lists are trusted whose changes a server does not announce; for ever where it is no time.
    pub lists_trusted_for: Duration,
    /// How long the first clients wait for servers that are starting.
    pub start_patience: Duration,
    /// Exposed names of tools, with the URIs of the skills that say how they are used.
    pub skills_of_tools: BTreeMap<String, String>,
    /// Where what servers listed is remembered; nowhere where nothing is said.
    pub state_dir: Option<PathBuf>,
    /// How much of long results is kept, in the state folder.
    pub results: Limits,
    /// The key of sessions and parked calls.
    pub key: [u8; 32],
}

impl Settings {
    /// What suits a gateway that serves this machine only and remembers nothing. Other values are said with
    /// `..Settings::on_this_machine(key)`.
    pub fn on_this_machine(key: [u8; 32]) -> Settings {
        Settings {
            origins: Origins { loopback_only: true, ..Origins::default() },
            cors: Some(Cors::default()),
            max_body_bytes: 10 << 20,
            max_sessions: 10_000,
            max_concurrency: 4_096,
            progress_after: Duration::from_secs(30),
            lists_trusted_for: Duration::from_secs(300),
            start_patience: Duration::from_secs(20),
            skills_of_tools: BTreeMap::new(),
            state_dir: None,
            results: Limits { max_bytes: 256 << 20, max_count: 1_000, keep_for: Duration::from_secs(3_600) },
            key,
        }
    }
}

/// The gateway.
#[derive(Debug)]
pub struct Gateway {
    pub settings: Settings,
    pub seal: Arc<Seal>,
    pub sessions: Sessions,
    pub streams: Streams,
    /// The client on standard input, where there is one.
    pub stdio: ArcSwapOption<Session>,
    pub fleet: Fleet,
    pub gate: Arc<Gate>,
    pub isolated: Isolated,
    pub traffic: Arc<Traffic>,
    pub results: Arc<Results>,
    pub listeners: Listeners,
    pub subscriptions: Arc<Subscriptions>,
    pub door: ArcSwap<Box<dyn Authenticate>>,
    pub annex: ArcSwapOption<Box<dyn Annex>>,
    /// Why the last reload changed nothing, where it did not.
    pub reload_problem: ArcSwapOption<String>,
    /// Settings that a reload found changed and that change with the next start only.
    pub needs_restart: ArcSwap<Vec<String>>,
    /// Servers that are configured and lack a value they need, and which one.
    pub disabled: ArcSwap<BTreeMap<String, String>>,
    /// What operators call servers, where that is not their name.
    pub display_names: ArcSwap<BTreeMap<String, String>>,
    pub started: Instant,
    /// Cancelled when the gateway stops.
    pub stopping: CancellationToken,
    pub tracker: TaskTracker,
    published: ArcSwap<Published>,
    /// How tools are named. Held while the catalogue is made anew.
    publishing: Mutex<Naming>,
    memory: Option<Memory>,
}

impl Gateway {
    /// A gateway without servers. Must be called within a tokio runtime.
    pub fn start(settings: Settings, gate: Gate) -> Result<Arc<Gateway>, SealError> {
        let seal = Arc::new(Seal::new(&settings.key)?);
        let max_waiting = settings.max_concurrency.saturating_mul(WAITING_PER_PLACE);
        let tracker = TaskTracker::new();
        let gate = Arc::new(gate);
        let subscriptions = Arc::new(Subscriptions::new(Arc::clone(&gate)));
        let (fleet, news) = Fleet::new(tracker.clone());
        let door: Box<dyn Authenticate> = Box::new(ByAddress::default());
        let gateway = Arc::new(Gateway {
            sessions: Sessions::new(settings.max_sessions),
            streams: Streams::default(),
            stdio: ArcSwapOption::empty(),
            fleet,
            gate,
            isolated: Isolated::new(Arc::clone(&subscriptions)),
            traffic: Arc::new(Traffic {
                capacity: Capacity::new(settings.max_concurrency, max_waiting),
                parked: Parked::new(Arc::clone(&seal)),
                tasks: Tasks::default(),
            }),
            results: Arc::new(Results::under(settings.state_dir.as_deref(), settings.results)),
            listeners: Listeners::default(),
            subscriptions,
            door: ArcSwap::from_pointee(door),
            annex: ArcSwapOption::empty(),
            reload_problem: ArcSwapOption::empty(),
            needs_restart: ArcSwap::default(),
            disabled: ArcSwap::default(),
            display_names: ArcSwap::default(),
            started: Instant::now(),
            stopping: CancellationToken::new(),
            published: ArcSwap::from_pointee(Published::of(&[], Naming::Prefixed, &BTreeMap::new())),
            publishing: Mutex::new(Naming::Prefixed),
            memory: settings.state_dir.as_deref().map(Memory::under),
            seal,
            tracker,
            settings,
        });
        background::begin(&gateway, news);
        Ok(gateway)
    }

    /// Makes the servers and the names of their tools those that are wanted. Equal servers stay connected, calls under
    /// way finish.
    pub fn apply(self: &Arc<Self>, desired: Vec<Desired>, naming: Naming) {
        *self.publishing.lock().unwrap_or_else(PoisonError::into_inner) = naming;
        let begun = self.fleet.apply(desired, |desired| self.remembered(desired));
        for member in begun {
            background::keep_fresh(self, member);
        }
        self.publish();
    }

    /// What clients see now. Not counted as a reference, which all threads would count at one place.
    pub fn published(&self) -> Guard<Arc<Published>> {
        self.published.load()
    }

    /// Enters a session and gives its id.
    pub fn enter_session(&self, session: &Arc<Session>) -> Result<String, SealError> {
        let id = sealed::seal(&self.seal, session)?;
        session.seen(self.tick());
        self.sessions.insert(id.as_str().into(), Arc::clone(session));
        Ok(id)
    }

    /// Ends a session: frees everything of its client.
    pub fn end_session(&self, id: &str) {
        if let Some(session) = self.sessions.end(id) {
            self.isolated.end_session(session.key);
            drop(session);
            self.sweep();
        }
    }

    /// Seconds since the start.
    pub fn tick(&self) -> u64 {
        self.started.elapsed().as_secs()
    }

    /// Stops: no new requests, those under way finish for `patience`, servers are stopped.
    pub async fn stop(&self, patience: Duration) {
        self.stopping.cancel();
        tokio::join!(self.fleet.stop(patience), self.isolated.stop(patience));
        self.tracker.close();
        if tokio::time::timeout(patience, self.tracker.wait()).await.is_err() {
            tracing::warn!("some work did not end in time and is given up");
        }
    }

    fn remembered(&self, desired: &Desired) -> Option<crate::catalog::Listing> {
        let memory = self.memory.as_ref()?;
        match memory.load(&desired.spec.name, &background::fingerprint(desired)) {
            Ok(listing) => listing,
            Err(error) => {
                tracing::warn!(server = %desired.spec.name, %error, "what the server listed before is not known");
                None
            }
        }
    }
}
