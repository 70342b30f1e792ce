//! A compiled quota: its limits, its calendar, and who shares its counters.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use jiff::tz::TimeZone;
use thiserror::Error;

use super::window::Calendar;
use crate::grant::Grant;
use crate::rules::{Per, Quota};
use crate::selector::WhoSelector;
use crate::standing::Standing;
use crate::subject::Kind;
use crate::{Measure, Micros};

/// A quota that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum QuotaError {
    #[error("the time zone `{name}` is not known ({reason}); write one like `Europe/Berlin` or `UTC`")]
    TimeZone { name: String, reason: String },
}

/// A quota, ready to count.
#[derive(Debug)]
pub(crate) struct CompiledQuota {
    pub(crate) id: Arc<str>,
    counters: Arc<str>,
    /// Tells apart whom and what it counts, and in which windows.
    coverage: u64,
    per: Per,
    pub(crate) budget_per_month: Option<Micros>,
    pub(crate) max_per_call: Option<Micros>,
    pub(crate) calls_per_minute: Option<u64>,
    pub(crate) calls_per_day: Option<u64>,
    pub(crate) reads_per_minute: Option<u64>,
    pub(crate) concurrency: Option<u64>,
    pub(crate) calendar: Calendar,
}

/// Which counters: those of a quota, for one of those it counts apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MeterKey {
    counters: Arc<str>,
    scope: Scope,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Scope {
    Everyone,
    Caller(Arc<str>),
    /// `None` stands for callers without a group that the quota names: they must not escape it.
    Group(Option<Arc<str>>),
    Thing(Kind, Arc<str>, Arc<str>),
    CallerAndThing(Arc<str>, Kind, Arc<str>, Arc<str>),
}

impl CompiledQuota {
    pub(crate) fn compile(
        id: Arc<str>,
        counters: Arc<str>,
        quota: &Quota,
    ) -> Result<CompiledQuota, QuotaError> {
        let zone = match quota.time_zone.as_deref() {
            None => TimeZone::UTC,
            Some(name) => TimeZone::get(name).map_err(|reason| QuotaError::TimeZone {
                name: name.to_owned(),
                reason: reason.to_string(),
            })?,
        };
        Ok(CompiledQuota {
            id,
            counters,
            coverage: coverage_of(quota),
            per: quota.per,
            budget_per_month: quota.budget_per_month,
            max_per_call: quota.max_per_call,
            calls_per_minute: quota.calls_per_minute,
            calls_per_day: quota.calls_per_day,
            reads_per_minute: quota.reads_per_minute,
            concurrency: quota.concurrency,
            calendar: Calendar::new(zone),
        })
    }

    /// The name of its counters.
    pub(crate) fn counters(&self) -> &Arc<str> {
        &self.counters
    }

    /// Whether what another quota counted is all that this one would have counted.
    pub(crate) fn goes_on_from(&self, before: &CompiledQuota) -> bool {
        let counted = |measure| before.limits().any(|(known, _)| known == measure);
        self.counters == before.counters
            && self.coverage == before.coverage
            && self.limits().all(|(measure, _)| !measure.is_windowed() || counted(measure))
    }

    /// The counters that a call of this caller moves.
    pub(crate) fn meter_keys(&self, who: &WhoSelector, standing: &Standing, grant: &Grant) -> Vec<MeterKey> {
        let thing = || (grant.kind, Arc::clone(&grant.server), Arc::clone(&grant.name));
        let key = |scope| MeterKey { counters: Arc::clone(&self.counters), scope };
        match self.per {
            Per::All => vec![key(Scope::Everyone)],
            Per::Caller => vec![key(Scope::Caller(Arc::clone(standing.caller())))],
            Per::Tool => {
                let (kind, server, name) = thing();
                vec![key(Scope::Thing(kind, server, name))]
            }
            Per::CallerAndTool => {
                let (kind, server, name) = thing();
                vec![key(Scope::CallerAndThing(Arc::clone(standing.caller()), kind, server, name))]
            }
            Per::Group => {
                let mut groups: Vec<&Arc<str>> =
                    standing.groups().iter().filter(|group| who.names_group(group)).collect();
                groups.sort_unstable();
                groups.dedup();
                if groups.is_empty() {
                    return vec![key(Scope::Group(None))];
                }
                groups.into_iter().map(|group| key(Scope::Group(Some(Arc::clone(group))))).collect()
            }
        }
    }

    /// Every limit that is set, with what it counts.
    pub(crate) fn limits(&self) -> impl Iterator<Item = (Measure, u64)> {
        let micros = |limit: Option<Micros>| limit.map(|limit| limit.0);
        [
            (Measure::BudgetPerMonth, micros(self.budget_per_month)),
            (Measure::MaxPerCall, micros(self.max_per_call)),
            (Measure::CallsPerMinute, self.calls_per_minute),
            (Measure::CallsPerDay, self.calls_per_day),
            (Measure::ReadsPerMinute, self.reads_per_minute),
            (Measure::Concurrency, self.concurrency),
        ]
        .into_iter()
        .filter_map(|(measure, limit)| Some((measure, limit?)))
    }
}

impl MeterKey {
    /// The name of the counters of its quota.
    pub(crate) fn counters(&self) -> &Arc<str> {
        &self.counters
    }
}

fn coverage_of(quota: &Quota) -> u64 {
    let mut hasher = DefaultHasher::new();
    format!("{:?} {:?} {:?} {:?}", quota.who, quota.what, quota.per, quota.time_zone).hash(&mut hasher);
    hasher.finish()
}
