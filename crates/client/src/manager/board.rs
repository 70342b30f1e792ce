//! What all servers listed, who answers for each of them, and the registry that is made of it.
//!
//! A server whose record changed is started anew beside the old one, which answers until the new one has listed or
//! failed. Then the new one takes over; what the old one listed stays where the new one could not list, and whoever holds
//! an old registry is answered by the new one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use futures_util::future::join_all;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::lists::{Kind, Lists};
use crate::server::Server;
use crate::status::State;
use crate::tool_registry::figures::Figures;
use crate::tool_registry::{Offer, ToolFigures, ToolRegistry};

/// What all servers listed, and the registry made of it.
#[derive(Debug)]
pub(super) struct Board {
    listings: Mutex<BTreeMap<Arc<str>, Listing>>,
    registry: ArcSwap<ToolRegistry>,
    figures: Arc<Figures>,
    /// Told when a server has been heard of.
    heard: Notify,
    reserved: BTreeSet<String>,
    max_result_chars: usize,
    begun: AtomicU64,
    /// How long lists are trusted, in milliseconds; for ever where it is nothing.
    trusted_ms: AtomicU64,
    /// Servers that finish what they have.
    leaving: TaskTracker,
    /// Cancelled when they have had their time.
    over: CancellationToken,
}

/// Tells a server apart from an earlier one of the same name, whose last news must not count for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Generation(u64);

#[derive(Debug)]
struct Listing {
    /// The one that answers.
    server: Server,
    generation: Generation,
    /// Whether it has been heard of: it listed, or it failed.
    settled: bool,
    /// The one that will answer once it has been heard of.
    successor: Option<(Server, Generation)>,
    lists: Lists,
    offer: Offer,
}

impl Board {
    pub(super) fn new(reserved: BTreeSet<String>, max_result_chars: usize) -> Board {
        Board {
            listings: Mutex::default(),
            registry: ArcSwap::default(),
            figures: Arc::default(),
            heard: Notify::new(),
            reserved,
            max_result_chars,
            begun: AtomicU64::new(0),
            trusted_ms: AtomicU64::new(0),
            leaving: TaskTracker::new(),
            over: CancellationToken::new(),
        }
    }

    pub(super) fn registry(&self) -> Arc<ToolRegistry> {
        self.registry.load_full()
    }

    pub(super) fn figures(&self) -> BTreeMap<String, ToolFigures> {
        self.figures.all()
    }

    /// How many tools a server has for the agent.
    pub(super) fn tools_of(&self, name: &str) -> usize {
        self.registry().definitions().filter(|definition| *definition.server == *name).count()
    }

    /// What all servers list of a kind.
    pub(super) fn listed(&self, kind: Kind) -> Vec<(Arc<str>, Value)> {
        let listings = self.listings();
        let of_server = |(name, listing): (&Arc<str>, &Listing)| {
            listing.lists.of(kind).iter().map(|listed| (Arc::clone(name), listed.clone())).collect::<Vec<_>>()
        };
        listings.iter().flat_map(of_server).collect()
    }

    /// The server of this name that answers.
    pub(super) fn answering(&self, name: &str) -> Option<Server> {
        self.listings().get(name).map(|listing| listing.server.clone())
    }

    /// How long lists are trusted of which no change is announced.
    pub(super) fn trusted_for(&self) -> Option<Duration> {
        Some(self.trusted_ms.load(Ordering::Relaxed)).filter(|time| *time > 0).map(Duration::from_millis)
    }

    pub(super) fn trust_for(&self, time: Duration) {
        self.trusted_ms.store(u64::try_from(time.as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// A server that will be heard of. Where one of that name answers, it goes on until then.
    pub(super) fn expect(&self, server: &Server, offer: Offer) -> Generation {
        let generation = Generation(self.begun.fetch_add(1, Ordering::Relaxed));
        let mut listings = self.listings();
        let Some(listing) = listings.get_mut(server.name()) else {
            let listing = Listing {
                server: server.clone(),
                generation,
                settled: false,
                successor: None,
                lists: Lists::default(),
                offer,
            };
            listings.insert(Arc::clone(server.name()), listing);
            return generation;
        };
        listing.offer = offer;
        if let Some((unused, _)) = listing.successor.replace((server.clone(), generation)) {
            self.retire(unused, None);
        }
        // One that does not answer makes way at once.
        if matches!(listing.server.status().state, State::Down | State::Asleep) {
            self.take_over(listing);
            listing.settled = false;
        }
        generation
    }

    /// What is offered of a server that stays as it is.
    pub(super) fn offer(&self, name: &str, offer: Offer) {
        if let Some(listing) = self.listings().get_mut(name) {
            listing.offer = offer;
        }
    }

    /// Lets all servers go but these, and shows what is there now.
    pub(super) fn keep_only<'a>(&self, names: impl Iterator<Item = &'a String>) {
        let names: BTreeSet<&str> = names.map(String::as_str).collect();
        self.listings().retain(|name, listing| {
            let stays = names.contains(&**name);
            if !stays {
                self.retire(listing.server.clone(), None);
                if let Some((unused, _)) = listing.successor.take() {
                    self.retire(unused, None);
                }
            }
            stays
        });
        self.publish();
    }

    /// Waits until every server has been heard of, at most for `patience`.
    pub(super) async fn settled(&self, patience: Duration) {
        let all_settled = async {
            loop {
                let heard = self.heard.notified();
                tokio::pin!(heard);
                heard.as_mut().enable();
                if self.listings().values().all(|listing| listing.settled && listing.successor.is_none()) {
                    return;
                }
                heard.await;
            }
        };
        if tokio::time::timeout(patience, all_settled).await.is_err() {
            tracing::warn!("some servers are still connecting; their tools come later");
        }
    }

    /// What a server lists now; what it could not list stays as it was.
    pub(super) fn heard(&self, name: &str, generation: Generation, lists: Vec<(Kind, Vec<Value>)>) {
        {
            let mut listings = self.listings();
            let Some(listing) = listings.get_mut(name) else { return };
            if listing.successor.as_ref().is_some_and(|(_, successor)| *successor == generation) {
                self.take_over(listing);
            }
            if listing.generation != generation {
                return;
            }
            listing.settled = true;
            for (kind, listed) in lists {
                listing.lists.set(kind, listed);
            }
        }
        // Published before anybody is told.
        self.publish();
        self.heard.notify_waiters();
    }

    /// Stops all servers; calls under way get `patience`.
    pub(super) async fn close(&self, patience: Duration) {
        let listings = std::mem::take(&mut *self.listings());
        let servers: Vec<Server> = listings
            .into_values()
            .flat_map(|listing| [Some(listing.server), listing.successor.map(|(server, _)| server)])
            .flatten()
            .collect();
        self.leaving.close();
        let left = async { drop(tokio::time::timeout(patience, self.leaving.wait()).await) };
        tokio::join!(join_all(servers.iter().map(|server| server.stop(patience))), left);
        self.over.cancel();
        self.leaving.wait().await;
    }

    /// The successor answers from now on.
    fn take_over(&self, listing: &mut Listing) {
        let Some((server, generation)) = listing.successor.take() else { return };
        let before = std::mem::replace(&mut listing.server, server.clone());
        listing.generation = generation;
        self.retire(before, Some(server));
    }

    /// Lets a server finish what it has. Calls that still come to it are answered by its successor.
    fn retire(&self, server: Server, successor: Option<Server>) {
        let over = self.over.clone();
        self.leaving.spawn(async move {
            let patience = server.patience();
            let leave = async {
                match successor {
                    Some(successor) => server.hand_over(successor, patience).await,
                    None => server.stop(patience).await,
                }
            };
            tokio::select! {
                () = leave => {}
                () = over.cancelled() => server.stop(Duration::ZERO).await,
            }
        });
    }

    fn publish(&self) {
        let listings = self.listings();
        let tools =
            listings.iter().map(|(name, listing)| (&**name, &listing.offer, listing.lists.of(Kind::Tools)));
        let servers = listings.values().map(|listing| listing.server.clone()).collect();
        let figures = Arc::clone(&self.figures);
        let registry = ToolRegistry::new(tools, servers, &self.reserved, self.max_result_chars, figures);
        self.figures.keep_only(|tool| registry.get(tool).is_some());
        self.registry.store(Arc::new(registry));
    }

    fn listings(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Listing>> {
        self.listings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
