//! Counters survive a restart because the ledger does: what it recorded is counted again under the rules of today.

use jiff::Timestamp;

use super::Meters;
use crate::Micros;
use crate::standing::Standing;
use crate::subject::Subject;

/// Uses that a record, or a sum of records, tells about.
#[derive(Clone, Copy, Debug)]
pub struct PastUse<'a> {
    /// What was used.
    pub subject: Subject<'a>,
    /// When; for a sum of records any moment in the stretch they were summed over.
    pub at: Timestamp,
    /// How many uses passed the gate.
    pub uses: u64,
    /// What was charged for them together.
    pub charged: Micros,
}

impl Meters {
    /// Counts past uses by the caller of `standing`, as far as they fall into windows that are open at `now`. Every record must be
    /// replayed once, before the first call. Says whether there was room for all counters.
    pub fn replay(&self, standing: &Standing, past: &PastUse<'_>, now: Timestamp) -> bool {
        let grant = standing.grant(&past.subject);
        let Ok(wanted) = self.wanted(standing, &grant, now) else { return false };
        for wanted in wanted {
            let mut counts = wanted.meter.lock();
            counts.roll(&wanted.quota, now);
            counts.replay(&wanted.quota, grant.kind.action(), past.at, past.uses, past.charged);
        }
        true
    }
}
