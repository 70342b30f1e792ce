//! What has been worked out about things, so that it is worked out once.
//!
//! Most rules are about few things or few callers, so the rules about one thing are few: [`ThingRules`] holds them, and for each
//! combination of them that covers some caller one [`Grant`] that all those callers share. Memory then grows with the number of
//! things and not with callers times things.

use std::hash::BuildHasher;
use std::sync::{Arc, PoisonError, RwLock};

use foldhash::HashMap;
use foldhash::fast::RandomState;

use crate::grant::Grant;
use crate::index::RuleNumber;
use crate::subject::{Kind, Subject};

/// Enough that threads rarely meet.
const SHARDS: usize = 32;

/// How many rules about one thing are compared with a caller's at every call. With more, each class of callers remembers for itself.
const MAX_SHARED_RULES: usize = 32;

/// How many combinations of rules are remembered for one thing.
const MAX_COMBINATIONS: usize = 64;

/// Things with longer names are not remembered. Names may come from outside, and memory must not be filled with them.
pub(crate) const LONGEST_REMEMBERED: usize = 512;

/// The rules about one thing, whomever they cover.
#[derive(Debug)]
pub(crate) struct ThingRules {
    everyone: Vec<RuleNumber>,
    selected: Vec<RuleNumber>,
    grants: RwLock<Vec<Combination>>,
}

/// The rules about the thing that single out some callers, and what they grant together with the rules for everyone.
#[derive(Debug)]
struct Combination {
    selected: Vec<RuleNumber>,
    grant: Arc<Grant>,
}

/// Remembers one value for each thing, in parts with a lock each.
#[derive(Debug)]
pub(crate) struct Memory<T> {
    shards: Box<[RwLock<Things<T>>]>,
    capacity_of_shard: usize,
    hasher: RandomState,
}

/// Values by kind, server and name.
#[derive(Debug)]
pub(crate) struct Things<T> {
    count: usize,
    tools: ByServer<T>,
    resources: ByServer<T>,
    prompts: ByServer<T>,
}

type ByServer<T> = HashMap<Box<str>, HashMap<Box<str>, Arc<T>>>;

impl ThingRules {
    /// Rules that cover everyone, and rules that single out some callers.
    pub(crate) fn new(everyone: Vec<RuleNumber>, selected: Vec<RuleNumber>) -> ThingRules {
        ThingRules { everyone, selected, grants: RwLock::default() }
    }

    /// The rules that count for callers whom the rules `singling_out` single out, in the order of the file.
    pub(crate) fn counting(&self, singling_out: &[RuleNumber]) -> Vec<RuleNumber> {
        let mut numbers = self.everyone.clone();
        numbers.extend(self.selected.iter().filter(|number| singling_out.binary_search(number).is_ok()));
        numbers.sort_unstable();
        numbers
    }

    /// The grant for callers whom the rules `singling_out` single out, shared with all for whom the same rules about this thing count.
    /// `None` if there are too many rules about it to compare them at every call.
    pub(crate) fn shared_grant(
        &self,
        singling_out: &[RuleNumber],
        compile: impl FnOnce(&[RuleNumber]) -> Grant,
    ) -> Option<Arc<Grant>> {
        if self.selected.len() > MAX_SHARED_RULES {
            return None;
        }
        let counts = |number: &&RuleNumber| singling_out.binary_search(number).is_ok();
        let grants = self.grants.read().unwrap_or_else(PoisonError::into_inner);
        let same = |known: &&Combination| self.selected.iter().filter(counts).eq(&known.selected);
        if let Some(known) = grants.iter().find(same) {
            return Some(Arc::clone(&known.grant));
        }
        drop(grants);
        let selected = self.selected.iter().filter(counts).copied().collect();
        let grant = Arc::new(compile(&self.counting(singling_out)));
        let mut grants = self.grants.write().unwrap_or_else(PoisonError::into_inner);
        if grants.len() >= MAX_COMBINATIONS {
            grants.clear();
        }
        grants.push(Combination { selected, grant: Arc::clone(&grant) });
        Some(grant)
    }
}

impl<T> Memory<T> {
    /// Remembers about `capacity` things. Addresses of resources come from outside, so there is an end: a full part is emptied.
    pub(crate) fn with_capacity(capacity: usize) -> Memory<T> {
        Memory {
            shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            capacity_of_shard: capacity.div_ceil(SHARDS),
            hasher: RandomState::default(),
        }
    }

    /// What is remembered of the thing, or else what `work_out` says.
    pub(crate) fn recall(&self, subject: &Subject<'_>, work_out: impl FnOnce() -> T) -> Arc<T> {
        if subject.name.len() > LONGEST_REMEMBERED {
            return Arc::new(work_out());
        }
        let place = self.hasher.hash_one(subject.name) as usize % SHARDS;
        let Some(shard) = self.shards.get(place) else { return Arc::new(work_out()) };
        if let Some(known) = shard.read().unwrap_or_else(PoisonError::into_inner).get(subject) {
            return known;
        }
        let value = Arc::new(work_out());
        let mut things = shard.write().unwrap_or_else(PoisonError::into_inner);
        if things.len() >= self.capacity_of_shard {
            *things = Things::default();
        }
        things.insert(subject, Arc::clone(&value));
        value
    }
}

impl<T> Things<T> {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn get(&self, subject: &Subject<'_>) -> Option<Arc<T>> {
        let by_server = match subject.kind {
            Kind::Tool => &self.tools,
            Kind::Resource => &self.resources,
            Kind::Prompt => &self.prompts,
        };
        by_server.get(subject.server)?.get(subject.name).cloned()
    }

    /// Says whether the thing is new.
    pub(crate) fn insert(&mut self, subject: &Subject<'_>, value: Arc<T>) -> bool {
        let by_server = match subject.kind {
            Kind::Tool => &mut self.tools,
            Kind::Resource => &mut self.resources,
            Kind::Prompt => &mut self.prompts,
        };
        let by_name = by_server.entry(subject.server.into()).or_default();
        let is_new = by_name.insert(subject.name.into(), value).is_none();
        self.count += usize::from(is_new);
        is_new
    }
}

impl<T> Default for Things<T> {
    fn default() -> Self {
        Things {
            count: 0,
            tools: ByServer::default(),
            resources: ByServer::default(),
            prompts: ByServer::default(),
        }
    }
}
