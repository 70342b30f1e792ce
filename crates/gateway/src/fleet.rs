//! The servers behind the gate: which there are, what they list, and what they have to say.

mod place;
pub mod refresh;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolgate_client::{News, Server, ServerSpec, State, Status, Transport};
use toolgate_governance::{Micros, Pattern};

use crate::catalog::{Entry, Kind, Listing};
use place::Place;

/// How many pieces of news may wait. A server that floods waits with them.
const NEWS: usize = 1024;

/// One server as the operator wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Desired {
    pub spec: ServerSpec,
    /// Whether every client gets a server of its own.
    pub isolated: bool,
    /// The longest result that is passed on, in bytes; longer ones are cut and marked.
    pub max_output_bytes: Option<usize>,
    /// Whether all of a longer result is kept for its caller.
    pub keeps_long_output: bool,
    /// How long calls of single tools may take, where it is not the server's usual time. The first pattern counts.
    pub tool_timeouts: Vec<(Pattern, Duration)>,
    /// Whether the prices that its tools name themselves count where the operator named none.
    pub trusts_prices: bool,
    /// Whether it is a worker of ours, which knows what each of its tools looks at: who calls is told to those that want to
    /// know, and to nobody else; the others get their arguments.
    pub is_worker: bool,
    /// What stands before the names of its tools and prompts in place of its own name.
    pub namespace: Option<Arc<str>>,
    /// Tells the versions of its own files apart, where they are watched.
    pub files: Option<u64>,
}

impl From<ServerSpec> for Desired {
    /// A server that all clients share, and whose results pass on as they are.
    fn from(spec: ServerSpec) -> Desired {
        Desired {
            spec,
            isolated: false,
            max_output_bytes: None,
            keeps_long_output: false,
            tool_timeouts: Vec::new(),
            trusts_prices: false,
            is_worker: false,
            namespace: None,
            files: None,
        }
    }
}

/// One server that is there.
#[derive(Debug)]
pub struct Member {
    pub desired: Desired,
    pub server: Server,
    /// Shared with earlier and later generations of this server.
    place: Arc<Place>,
    /// Whether nothing but its files is new. Should these not work, its predecessor stays.
    only_files_are_new: bool,
    /// What it listed last, in this run or an earlier one.
    pub listing: ArcSwapOption<Listing>,
    /// Whether it has been heard of: it listed, or it failed. Until then the first clients wait for it.
    settled: AtomicBool,
    /// Which lists shall be fetched again, a bit for each kind.
    stale: AtomicU8,
    /// Which lists the server itself said have changed since clients were last told.
    told: AtomicU8,
    refresh: Notify,
    /// Cancelled when it has been removed, or replaced by a newer generation.
    stop: CancellationToken,
}

/// All servers, in the order of the configuration.
#[derive(Debug)]
pub struct Fleet {
    members: ArcSwap<Vec<Arc<Member>>>,
    news: mpsc::Sender<News>,
    /// Told when a member settles.
    settled: Notify,
    tracker: TaskTracker,
}

impl Fleet {
    /// A fleet without servers, and where their news arrive.
    pub fn new(tracker: TaskTracker) -> (Fleet, mpsc::Receiver<News>) {
        let (news, arriving) = mpsc::channel(NEWS);
        let fleet = Fleet { members: ArcSwap::default(), news, settled: Notify::new(), tracker };
        (fleet, arriving)
    }

    /// All servers.
    pub fn members(&self) -> Arc<Vec<Arc<Member>>> {
        self.members.load_full()
    }

    /// One server by its name.
    pub fn member(&self, name: &str) -> Option<Arc<Member>> {
        self.members.load().iter().find(|member| &**member.server.name() == name).cloned()
    }

    /// Where the news of further servers go.
    pub fn news(&self) -> mpsc::Sender<News> {
        self.news.clone()
    }

    /// Makes the servers those that are wanted: equal ones stay as they are, calls of removed ones finish, changed ones
    /// take their calls until their successors can. `remembered` gives what a server listed in an earlier run. Gives the
    /// new members, whose lists must be kept fresh.
    pub fn apply(
        &self,
        desired: Vec<Desired>,
        remembered: impl Fn(&Desired) -> Option<Listing>,
    ) -> Vec<Arc<Member>> {
        let before = self.members();
        let mut begun = Vec::new();
        let members: Vec<_> = desired
            .into_iter()
            .map(|desired| {
                if let Some(member) = before.iter().find(|member| member.desired == desired) {
                    return Arc::clone(member);
                }
                let predecessor = before.iter().find(|member| *member.server.name() == desired.spec.name);
                let listed = || predecessor.and_then(|member| member.listing.load_full());
                let known = || remembered(&desired).map(Arc::new);
                // In sight is what the one lists that takes the calls.
                let waits = predecessor.is_some_and(|member| !member.makes_way_for(&desired));
                let listing = if waits { listed().or_else(known) } else { known().or_else(listed) };
                let member = Arc::new(self.begin(desired, listing, predecessor));
                begun.push(Arc::clone(&member));
                member
            })
            .collect();
        self.members.store(Arc::new(members.clone()));
        for old in before.iter().filter(|old| !members.iter().any(|new| Arc::ptr_eq(old, new))) {
            if members.iter().any(|new| Arc::ptr_eq(&old.place, &new.place)) {
                old.place.supersede(&old.server, &old.stop, &self.tracker);
            } else {
                old.place.close(&old.server, &old.stop, &self.tracker);
            }
        }
        for member in &begun {
            self.catch_up(member);
        }
        begun
    }

    fn begin(
        &self,
        desired: Desired,
        listing: Option<Arc<Listing>>,
        predecessor: Option<&Arc<Member>>,
    ) -> Member {
        let mut spec = desired.spec.clone();
        // What it lists must be learned once; only then can it sleep until it is called.
        spec.on_demand &= listing.is_some();
        let server = Server::start(spec, self.news.clone());
        let place = match predecessor {
            Some(predecessor) => {
                server.watch_like(&predecessor.server);
                Arc::clone(&predecessor.place)
            }
            None => Arc::new(Place::of(server.clone())),
        };
        Member {
            server,
            place,
            only_files_are_new: predecessor
                .is_some_and(|before| before.desired.differs_in_files_only(&desired)),
            settled: AtomicBool::new(listing.is_some()),
            listing: ArcSwapOption::new(listing),
            desired,
            stale: AtomicU8::new(0),
            told: AtomicU8::new(0),
            refresh: Notify::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Does what the state of a new member asks for: news of it that came before it was a member were not heard.
    fn catch_up(&self, member: &Member) {
        if member.makes_way_for(&member.desired) {
            self.take_over(member);
        }
        match member.server.status().state {
            State::Ready | State::Degraded => member.make_stale(&Kind::ALL),
            State::Down => self.settled(member),
            State::Asleep | State::Connecting | State::Draining => {}
        }
    }

    /// Waits until every server has listed something or has failed, at most for `patience`.
    pub async fn settle(&self, patience: Duration) {
        if self.is_settled() {
            return;
        }
        let settled = async {
            loop {
                let told = self.settled.notified();
                tokio::pin!(told);
                told.as_mut().enable();
                if self.is_settled() {
                    return;
                }
                told.await;
            }
        };
        if tokio::time::timeout(patience, settled).await.is_err() {
            tracing::warn!("some servers are still starting; clients see what there is");
        }
    }

    fn is_settled(&self) -> bool {
        self.members.load().iter().all(|member| member.settled.load(Ordering::Acquire))
    }

    /// From now on this member takes the calls of its place.
    pub fn take_over(&self, member: &Member) {
        member.place.take_over(&member.server, &member.stop, &self.tracker);
    }

    /// Notes that a server has been heard of. If it failed, calls are told so by it, not answered by its predecessor,
    /// unless that one is the same but for its files.
    pub fn settled(&self, member: &Member) {
        if !member.is_held_back() {
            self.take_over(member);
        }
        if !member.settled.swap(true, Ordering::AcqRel) {
            self.settled.notify_waiters();
        }
    }

    /// Stops all servers.
    pub async fn stop(&self, patience: Duration) {
        let members = self.members();
        futures_util::future::join_all(members.iter().map(|member| {
            member.stop.cancel();
            member.place.stop(&member.server, patience)
        }))
        .await;
    }
}

impl Desired {
    fn differs_in_files_only(&self, other: &Desired) -> bool {
        self.files != other.files && Desired { files: other.files, ..self.clone() } == *other
    }
}

impl Member {
    /// In which state it is. While it does not work and its predecessor still answers, both are told.
    pub fn status(&self) -> Status {
        let status = self.server.status();
        if status.state != State::Down || !self.is_held_back() {
            return status;
        }
        let cause = status.cause.unwrap_or_default();
        let cause = format!("its files have changed and do not work, so those before stay in use: {cause}");
        Status { state: State::Degraded, cause: Some(cause), ..self.answering().status() }
    }

    /// Whether its predecessor answers and is to go on with it should this one fail.
    fn is_held_back(&self) -> bool {
        self.only_files_are_new && !self.answering().is_same(&self.server) && !self.place.is_vacant()
    }

    /// What calls go to: this server, or its predecessor until this one is ready.
    pub fn answering(&self) -> Server {
        self.place.answering()
    }

    /// Whether a server that follows in its place takes the calls at once, whatever it lists: calls would have to wait
    /// for the present one or fail, or the new one starts only when it is called.
    fn makes_way_for(&self, desired: &Desired) -> bool {
        desired.spec.on_demand || self.place.is_vacant()
    }

    /// The server says that lists have changed: they are fetched again, and clients are told even if they find no
    /// difference.
    pub fn changed(&self, kinds: &[Kind]) {
        self.told.fetch_or(bits(kinds), Ordering::AcqRel);
        self.make_stale(kinds);
    }

    /// Asks for a list to be fetched again.
    pub fn make_stale(&self, kinds: &[Kind]) {
        let bits = bits(kinds);
        self.stale.fetch_or(bits, Ordering::AcqRel);
        self.refresh.notify_one();
    }

    /// How long a call of this tool may take, where it is not the server's usual time.
    pub fn timeout(&self, tool: &str) -> Option<Duration> {
        let timeouts = &self.desired.tool_timeouts;
        timeouts.iter().find(|(pattern, _)| pattern.fits(tool)).map(|(_, timeout)| *timeout)
    }

    /// What stands for it in names.
    pub fn namespace(&self) -> Arc<str> {
        self.desired.namespace.as_ref().unwrap_or(self.server.name()).clone()
    }

    /// What it says one of its entries costs, if it is believed.
    pub fn declared_price(&self, entry: &Entry) -> Option<Micros> {
        entry.price().filter(|_| self.desired.trusts_prices)
    }

    /// Whether it is reached by HTTP.
    pub fn over_http(&self) -> bool {
        matches!(self.desired.spec.transport, Transport::Http { .. })
    }

    /// Whether it runs in this process. Such a server trusts the gate with all that concerns callers.
    pub fn is_in_process(&self) -> bool {
        matches!(self.desired.spec.transport, Transport::InProcess(_))
    }

    /// Whether it answers at the moment.
    pub fn is_ready(&self) -> bool {
        matches!(self.status().state, State::Ready | State::Degraded)
    }

    /// The lists that clients must be told of.
    pub fn take_told(&self) -> Vec<Kind> {
        kinds(self.told.swap(0, Ordering::AcqRel))
    }

    fn take_stale(&self) -> Vec<Kind> {
        kinds(self.stale.swap(0, Ordering::AcqRel))
    }
}

/// A set of kinds as bits, and back.
fn bits(kinds: &[Kind]) -> u8 {
    kinds.iter().fold(0, |bits, kind| bits | 1 << kind.index())
}

fn kinds(bits: u8) -> Vec<Kind> {
    Kind::ALL.into_iter().filter(|kind| bits & (1 << kind.index()) != 0).collect()
}
