//! Counting: money, rate and concurrency, for each caller, group and tool as the quotas say.
//!
//! A call takes from all its counters at once or from none, under the locks of those counters only and always in the same order,
//! so parallel calls cannot overspend by one unit, cannot block each other for good, and never wait for calls that share no
//! counter with them. Counters live longer than policies: a change of the rules keeps them.

mod meter;
mod quota;
mod recount;
mod replay;
mod reservation;
mod window;

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

pub(crate) use self::meter::Meter;
pub(crate) use self::quota::CompiledQuota;
pub use self::recount::Recount;
pub use self::replay::PastUse;
pub use self::reservation::Remaining;
pub(crate) use self::reservation::Reservation;

use self::meter::{Counts, Taken};
use self::quota::MeterKey;
use self::reservation::{Hold, remaining_of};
use self::window::Span;
use crate::grant::Grant;
use crate::standing::Standing;
use crate::subject::Subject;
use crate::{Micros, Refusal, Stage};

/// Enough that threads rarely meet.
const SHARDS: usize = 64;

/// How many sets of counters are kept by default.
const DEFAULT_CAPACITY: usize = 262_144;

/// All counters.
#[derive(Debug)]
pub struct Meters {
    shards: Box<[Mutex<Shard>]>,
    capacity_of_shard: usize,
    hasher: RandomState,
}

#[derive(Debug, Default)]
struct Shard {
    meters: HashMap<MeterKey, Arc<Meter>>,
    last_sweep: Option<Timestamp>,
}

/// Counters of a quota that a call is about to move.
#[derive(Debug)]
struct Wanted {
    /// Its place among the counters of the call, in the order of the file: the first refusal in that order is told.
    place: usize,
    quota: Arc<CompiledQuota>,
    meter: Arc<Meter>,
}

impl Wanted {
    fn address(&self) -> usize {
        Arc::as_ptr(&self.meter).addr()
    }
}

impl Default for Meters {
    fn default() -> Self {
        Meters::with_capacity(DEFAULT_CAPACITY)
    }
}

impl Meters {
    /// Keeps at most about `capacity` sets of counters. When all of them are in use, calls that need a new one are refused: names of
    /// callers may come from outside, and memory must not.
    pub fn with_capacity(capacity: usize) -> Meters {
        Meters {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            capacity_of_shard: capacity.div_ceil(SHARDS).max(1),
            hasher: RandomState::new(),
        }
    }

    /// Takes what a use of the thing costs from every quota that covers it, or says which one refuses: budgets before rates.
    pub(crate) fn reserve(
        &self,
        standing: &Standing,
        grant: &Grant,
        price: Micros,
        now: Timestamp,
    ) -> Result<Reservation, Refusal> {
        if grant.quotas.is_empty() {
            return Ok(Reservation::new(price, Vec::new()));
        }
        let wanted = self.wanted(standing, grant, now)?;
        let action = grant.kind.action();
        let mut guards: Vec<_> = wanted.iter().map(|wanted| (wanted, wanted.meter.lock())).collect();
        for (wanted, counts) in &mut guards {
            counts.roll(&wanted.quota, now);
        }
        for stage in [Stage::Budget, Stage::Rate] {
            let refusals = guards.iter().filter_map(|(wanted, counts)| {
                let refusal = counts.check(&wanted.quota, stage, price, action, now).err()?;
                Some((wanted.place, refusal))
            });
            if let Some((_, refusal)) = refusals.min_by_key(|(place, _)| *place) {
                return Err(refusal);
            }
        }
        let taken: Vec<_> =
            guards.iter_mut().map(|(wanted, counts)| counts.take(&wanted.quota, price, action)).collect();
        drop(guards);
        let mut held: Vec<(Wanted, Taken)> = wanted.into_iter().zip(taken).collect();
        held.sort_unstable_by_key(|(wanted, _)| wanted.place);
        let hold =
            |(wanted, taken): (Wanted, Taken)| Hold { quota: wanted.quota, meter: wanted.meter, taken };
        let holds = held.into_iter().map(hold).collect();
        Ok(Reservation::new(price, holds))
    }

    /// What a stage would say about a use of the thing, without taking anything.
    pub(crate) fn check(
        &self,
        standing: &Standing,
        grant: &Grant,
        stage: Stage,
        price: Micros,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let mut wanted = self.wanted(standing, grant, now)?;
        wanted.sort_by_key(|wanted| wanted.place);
        wanted.iter().try_for_each(|wanted| {
            let mut counts = wanted.meter.lock();
            counts.roll(&wanted.quota, now);
            counts.check(&wanted.quota, stage, price, grant.kind.action(), now)
        })
    }

    /// The state of every limit that counts uses of the thing by the caller.
    pub fn remaining(&self, standing: &Standing, subject: &Subject<'_>, now: Timestamp) -> Vec<Remaining> {
        let grant = standing.grant(subject);
        let Ok(mut wanted) = self.wanted(standing, &grant, now) else { return Vec::new() };
        wanted.sort_by_key(|wanted| wanted.place);
        wanted.iter().flat_map(|wanted| remaining_of(&wanted.quota, &wanted.meter, now)).collect()
    }

    /// How many sets of counters there are.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).meters.len()).sum()
    }

    /// Whether nothing has been counted yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The counters of a call, each once, in the order in which they have to be locked.
    fn wanted(&self, standing: &Standing, grant: &Grant, now: Timestamp) -> Result<Vec<Wanted>, Refusal> {
        let mut wanted = Vec::with_capacity(grant.quotas.len());
        for granted in &grant.quotas {
            let Some(entry) = standing.policy().entry(granted.number) else { continue };
            for key in granted.quota.meter_keys(&entry.who, standing, grant) {
                let meter = self.meter(key, now).ok_or_else(|| too_many(&granted.quota))?;
                wanted.push(Wanted { place: wanted.len(), quota: Arc::clone(&granted.quota), meter });
            }
        }
        wanted.sort_unstable_by_key(Wanted::address);
        // Locking the same counters twice would never end.
        wanted.dedup_by_key(|wanted| wanted.address());
        Ok(wanted)
    }

    fn meter(&self, key: MeterKey, now: Timestamp) -> Option<Arc<Meter>> {
        let place = self.hasher.hash_one(&key) as usize % SHARDS;
        let mut shard = lock(self.shards.get(place)?);
        if let Some(meter) = shard.meters.get(&key) {
            return Some(Arc::clone(meter));
        }
        if shard.meters.len() >= self.capacity_of_shard {
            shard.sweep(now);
        }
        if shard.meters.len() >= self.capacity_of_shard {
            return None;
        }
        Some(Arc::clone(shard.meters.entry(key).or_default()))
    }
}

impl Shard {
    /// Forgets counters that carry nothing. Windows end with minutes at the earliest, so once a minute is enough.
    fn sweep(&mut self, now: Timestamp) {
        if self.last_sweep.is_some_and(|last| Span::minute(last).contains(now)) {
            return;
        }
        self.last_sweep = Some(now);
        // Someone who holds a meter may be about to count in it.
        self.meters.retain(|_, meter| Arc::strong_count(meter) > 1 || !Counts::is_idle(&meter.lock(), now));
    }
}

fn lock(shard: &Mutex<Shard>) -> std::sync::MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn too_many(quota: &CompiledQuota) -> Refusal {
    let words = format!(
        "quota `{}`: so many callers are counted that there is no room for another one; try again in a minute",
        quota.id
    );
    Refusal {
        retryable: true,
        retry_after: Some(60),
        ..Refusal::by_rule(Stage::Rate, Arc::clone(&quota.id), words)
    }
}

#[cfg(test)]
mod tests;
