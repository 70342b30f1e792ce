//! Who is talking: the clients that are here, in either era.

pub mod inflight;
pub mod introduction;
pub mod mailbox;
pub mod questions;
pub mod sealed;
pub mod table;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use toolgate_client::Caller;
use toolgate_protocol::{Era, Version, era::Envelope};

pub use mailbox::Mailbox;

use crate::principal::Principal;

/// A legacy client from `initialize` to its end. Modern clients have none: each request stands for itself.
#[derive(Debug)]
pub struct Session {
    /// Tells it apart from all others of this process and any other; stays over a restart.
    pub key: u64,
    /// The revision that was negotiated; a client that has said nothing yet may change it.
    version: ArcSwap<Version>,
    pub principal: Arc<Principal>,
    /// What the client said of itself, and the log level it chose since.
    caller: ArcSwap<Caller>,
    /// What waits to be sent outside of calls.
    pub mailbox: Mailbox,
    pub inflight: inflight::Inflight,
    pub questions: questions::Questions,
    last_seen: AtomicU64,
    /// Whether the client has said who it is. A stream is open before that.
    begun: AtomicBool,
}

impl Session {
    /// A session that begins or that comes back after a restart.
    pub fn new(key: u64, version: Version, principal: Arc<Principal>, envelope: Envelope) -> Session {
        Session {
            key,
            version: ArcSwap::from_pointee(version),
            principal,
            caller: ArcSwap::from_pointee(Caller { key, envelope, log_level: None }),
            mailbox: Mailbox::default(),
            inflight: inflight::Inflight::default(),
            questions: questions::Questions::default(),
            last_seen: AtomicU64::new(0),
            begun: AtomicBool::new(true),
        }
    }

    /// A session whose client has opened a stream and said nothing yet.
    pub fn unnamed(key: u64, version: Version, principal: Arc<Principal>) -> Session {
        let envelope = Envelope::new(Era::Legacy, bytes::Bytes::from_static(b"{}"), None);
        let session = Session::new(key, version, principal, envelope);
        session.begun.store(false, Ordering::Release);
        session
    }

    /// Whether the client has said who it is.
    pub fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    /// The revision that was negotiated.
    pub fn version(&self) -> Version {
        **self.version.load()
    }

    /// The client as servers see it.
    pub fn caller(&self) -> Arc<Caller> {
        self.caller.load_full()
    }

    /// The client wants logs of this level and above.
    pub fn set_log_level(&self, level: &str) {
        let caller = self.caller.load();
        self.caller.store(Arc::new(Caller {
            key: caller.key,
            envelope: caller.envelope.clone(),
            log_level: Some(level.to_owned()),
        }));
    }

    /// Takes over what another session's client said of itself. So a client over HTTP+SSE, whose stream is older than
    /// its `initialize`, becomes known.
    pub fn introduce(&self, begun: &Session) {
        let caller = begun.caller();
        self.caller.store(Arc::new(Caller {
            key: self.key,
            envelope: caller.envelope.clone(),
            log_level: None,
        }));
        self.version.store(begun.version.load_full());
        self.begun.store(true, Ordering::Release);
    }

    /// Notes that the client was heard of at `tick`.
    pub fn seen(&self, tick: u64) {
        self.last_seen.store(tick, Ordering::Relaxed);
    }

    /// When it was last heard of.
    pub fn last_seen(&self) -> u64 {
        self.last_seen.load(Ordering::Relaxed)
    }
}

/// The client behind one request.
#[derive(Clone, Debug)]
pub enum Client {
    /// One with a session.
    Legacy(Arc<Session>),
    /// One that says all of itself in the request.
    Modern { caller: Arc<Caller>, principal: Arc<Principal> },
}

impl Client {
    /// How it speaks.
    pub fn era(&self) -> Era {
        match self {
            Client::Legacy(_) => Era::Legacy,
            Client::Modern { .. } => Era::Modern,
        }
    }

    /// The client as servers see it.
    pub fn caller(&self) -> Arc<Caller> {
        match self {
            Client::Legacy(session) => session.caller(),
            Client::Modern { caller, .. } => Arc::clone(caller),
        }
    }

    /// On whose behalf it acts.
    pub fn principal(&self) -> &Arc<Principal> {
        match self {
            Client::Legacy(session) => &session.principal,
            Client::Modern { principal, .. } => principal,
        }
    }
}
