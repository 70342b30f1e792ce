//! Quotas that a change of the rules brought must not begin with nothing: what they would have counted has happened.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::quota::CompiledQuota;
use super::{Meters, lock};
use crate::entry::Clause;
use crate::policy::Policy;

/// The quotas of a policy that are new, or count more than they did.
#[derive(Debug)]
pub struct Recount {
    /// By the names of their counters.
    quotas: HashMap<Arc<str>, Arc<CompiledQuota>>,
}

impl Recount {
    /// Whether all quotas go on with what they have counted.
    pub fn is_empty(&self) -> bool {
        self.quotas.is_empty()
    }
}

impl Policy {
    /// The quotas that do not simply go on from those of an earlier policy.
    pub fn recount_since(&self, before: &Policy) -> Recount {
        let is_new = |quota: &&Arc<CompiledQuota>| !quotas(before).any(|known| quota.goes_on_from(known));
        let new = quotas(self).filter(is_new);
        Recount { quotas: new.map(|quota| (Arc::clone(quota.counters()), Arc::clone(quota))).collect() }
    }
}

impl Meters {
    /// Takes over what `counted`, into which the past was replayed, says of these quotas. What is known to be used or under
    /// way stays counted. Says whether there was room for all counters.
    pub fn take_over(&self, counted: &Meters, recount: &Recount, now: Timestamp) -> bool {
        let mut has_room = true;
        for shard in &counted.shards {
            for (key, past) in &lock(shard).meters {
                let Some(quota) = recount.quotas.get(key.counters()) else { continue };
                let Some(meter) = self.meter(key.clone(), now) else {
                    has_room = false;
                    continue;
                };
                let past = past.lock();
                let mut counts = meter.lock();
                counts.roll(quota, now);
                counts.at_least(&past);
            }
        }
        has_room
    }
}

fn quotas(policy: &Policy) -> impl Iterator<Item = &Arc<CompiledQuota>> {
    policy.all_entries().filter_map(|entry| match &entry.clause {
        Clause::Quota(quota) => Some(quota),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Quota, Rules, What};
    use crate::{Measure, Micros, PastUse, Subject};

    const TOOL: Subject<'_> = Subject { kind: crate::Kind::Tool, server: "s", name: "t", exposed: "t" };

    fn policy(quotas: Vec<Quota>) -> Arc<Policy> {
        let (policy, problems) = Policy::compile(&Rules { quotas, ..Rules::default() }, 1);
        assert_eq!(problems, []);
        policy
    }

    fn daily(limit: u64) -> Quota {
        Quota { id: Some("q".into()), calls_per_day: Some(limit), ..Quota::default() }
    }

    #[test]
    fn only_what_counts_more_than_before_is_counted_again() {
        let before = policy(vec![daily(5)]);
        let other_tools = What { tools: vec!["u*".into()], ..What::default() };
        for (quota, expected) in [
            (daily(9), false),
            (Quota { concurrency: Some(1), max_per_call: Some(Micros(1)), ..daily(5) }, false),
            (Quota { budget_per_month: Some(Micros(9)), ..daily(5) }, true),
            (Quota { id: Some("new".into()), ..daily(5) }, true),
            (Quota { what: other_tools, ..daily(5) }, true),
            (Quota { time_zone: Some("Europe/Berlin".into()), ..daily(5) }, true),
        ] {
            let recount = policy(vec![quota.clone()]).recount_since(&before);
            assert_eq!(!recount.is_empty(), expected, "{quota:?}");
        }
    }

    #[test]
    fn a_new_quota_begins_with_what_was_used() {
        let now: Timestamp = "2026-08-03T12:00:10Z".parse().unwrap();
        let earlier: Timestamp = "2026-08-03T09:00:00Z".parse().unwrap();
        let (before, after) = (policy(vec![]), policy(vec![daily(5)]));
        let (meters, counted) = (Meters::default(), Meters::default());
        let standing = after.standing("anna".into(), Arc::default());
        let past = PastUse { subject: TOOL, at: earlier, uses: 3, charged: Micros(0) };
        assert!(counted.replay(&standing, &past, now));
        assert!(meters.take_over(&counted, &after.recount_since(&before), now));
        let remaining = meters.remaining(&standing, &TOOL, now);
        assert_eq!((remaining[0].measure, remaining[0].remaining), (Measure::CallsPerDay, 2));
        // Once more, and nothing is counted twice.
        assert!(meters.take_over(&counted, &after.recount_since(&before), now));
        assert_eq!(meters.remaining(&standing, &TOOL, now)[0].remaining, 2);
    }
}
