//! What a call has taken from the meters, for as long as it runs. However the call ends, its share is given back or spent: a
//! reservation that is dropped gives its money back.

use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::meter::{Counts, Meter, Taken};
use super::quota::CompiledQuota;
use crate::{Measure, Micros};

/// A lease on money, rate and concurrency. The rate of a call that passed the gate stays counted whatever becomes of the call.
#[derive(Debug, Default)]
#[must_use = "a reservation that is dropped is refunded"]
pub(crate) struct Reservation {
    price: Micros,
    holds: Vec<Hold>,
}

/// One set of counters that the call moves.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) quota: Arc<CompiledQuota>,
    pub(crate) meter: Arc<Meter>,
    pub(crate) taken: Taken,
}

/// The state of one limit, for headers and `_meta`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Remaining {
    /// The quota.
    pub rule: Arc<str>,
    /// What the limit counts.
    pub measure: Measure,
    /// The limit; micro-units if it is about money.
    pub limit: u64,
    /// How much of it is used, with calls that are still running.
    pub used: u64,
    /// How much is left.
    pub remaining: u64,
    /// When the count starts again.
    pub resets_at: Option<Timestamp>,
}

impl Reservation {
    pub(crate) fn new(price: Micros, holds: Vec<Hold>) -> Reservation {
        Reservation { price, holds }
    }

    /// What was reserved.
    pub(crate) fn price(&self) -> Micros {
        self.price
    }

    /// Ends the call and charges it. No more than the reserved price can be charged, because more was never checked against the
    /// budget: where the real price is known only afterwards, the highest possible one has to be reserved. Says what was charged.
    pub(crate) fn settle(mut self, actual: Micros) -> Micros {
        let charged = actual.min(self.price);
        self.end(|counts, quota, taken| counts.settle(quota, taken, charged));
        charged
    }

    /// Takes back everything, rate included: the call did not pass the gate.
    pub(crate) fn undo(mut self) {
        self.end(Counts::undo);
    }

    /// Whether any limit counts the call.
    pub(crate) fn is_counted(&self) -> bool {
        !self.holds.is_empty()
    }

    /// The limits that count this call, with this call in them.
    pub(crate) fn remaining(&self, now: Timestamp) -> Vec<Remaining> {
        self.holds.iter().flat_map(|hold| remaining_of(&hold.quota, &hold.meter, now)).collect()
    }

    fn end(&mut self, finish: impl Fn(&mut Counts, &CompiledQuota, Taken)) {
        for hold in self.holds.drain(..) {
            finish(&mut hold.meter.lock(), &hold.quota, hold.taken);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.end(|counts, quota, taken| counts.settle(quota, taken, Micros::ZERO));
    }
}

/// The state of every limit of one quota.
pub(crate) fn remaining_of(quota: &CompiledQuota, meter: &Meter, now: Timestamp) -> Vec<Remaining> {
    let mut counts = meter.lock();
    counts.roll(quota, now);
    quota
        .limits()
        .map(|(measure, limit)| {
            let used = counts.used(measure);
            Remaining {
                rule: Arc::clone(&quota.id),
                measure,
                limit,
                used,
                remaining: limit.saturating_sub(used),
                resets_at: counts.resets_at(measure),
            }
        })
        .collect()
}
