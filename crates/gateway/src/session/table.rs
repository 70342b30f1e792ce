//! The sessions that are alive in this process, by their ids.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use foldhash::fast::RandomState;

use crate::principal::Principal;
use crate::seal::Seal;
use crate::session::{Session, sealed};

/// How many tables the sessions are spread over, so that clients do not wait for one lock.
const SHARDS: usize = 16;
/// How many ended sessions are remembered, so that their ids stay refused.
const MAX_ENDED: usize = 4096;

/// All sessions.
#[derive(Debug)]
pub struct Sessions {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    max_per_shard: usize,
}

#[derive(Debug, Default)]
struct Shard {
    alive: HashMap<Arc<str>, Arc<Session>>,
    /// Keys of ended sessions, oldest first.
    ended: std::collections::VecDeque<u64>,
}

impl Sessions {
    /// Room for about `max` sessions; beyond it the one unheard of for longest makes room. It comes back by its id.
    pub fn new(max: usize) -> Sessions {
        Sessions {
            shards: Default::default(),
            hasher: RandomState::default(),
            max_per_shard: max.div_ceil(SHARDS).max(1),
        }
    }

    /// Enters a session under its id.
    pub fn insert(&self, id: Arc<str>, session: Arc<Session>) {
        let mut shard = self.shard(&id);
        make_room(&mut shard, self.max_per_shard);
        shard.alive.insert(id, session);
    }

    /// The session with this id, brought back from the id itself where this process does not know it yet.
    pub fn find(&self, id: &str, principal: &Arc<Principal>, seal: &Seal) -> Option<Arc<Session>> {
        let mut shard = self.shard(id);
        if let Some(session) = shard.alive.get(id) {
            return session.principal.is_same_as(principal).then(|| Arc::clone(session));
        }
        let session = sealed::open(seal, id, principal)?;
        if shard.ended.contains(&session.key) {
            return None;
        }
        let session = Arc::new(session);
        make_room(&mut shard, self.max_per_shard);
        shard.alive.insert(id.into(), Arc::clone(&session));
        Some(session)
    }

    /// Ends a session: its id is refused from now on, what is under way is cancelled.
    pub fn end(&self, id: &str) -> Option<Arc<Session>> {
        let mut shard = self.shard(id);
        let session = shard.alive.remove(id)?;
        if shard.ended.len() >= MAX_ENDED {
            shard.ended.pop_front();
        }
        shard.ended.push_back(session.key);
        drop(shard);
        session.inflight.cancel_all();
        Some(session)
    }

    /// Calls `each` for all sessions that are alive.
    pub fn for_each(&self, mut each: impl FnMut(&Arc<Session>)) {
        for shard in &self.shards {
            let alive: Vec<_> = lock(shard).alive.values().cloned().collect();
            alive.iter().for_each(&mut each);
        }
    }

    /// How many are alive.
    pub fn count(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).alive.len()).sum()
    }

    fn shard(&self, id: &str) -> MutexGuard<'_, Shard> {
        let at = self.hasher.hash_one(id) as usize % SHARDS;
        lock(&self.shards[at])
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Only when the shard is full, so the search for the oldest does not weigh on ordinary requests.
fn make_room(shard: &mut Shard, max: usize) {
    while shard.alive.len() >= max {
        let oldest = shard.alive.iter().min_by_key(|(_, session)| session.last_seen());
        let Some(id) = oldest.map(|(id, _)| Arc::clone(id)) else { return };
        shard.alive.remove(&id);
    }
}
