//! On whose behalf a client acts.

use std::sync::Arc;

/// The caller as policy, quotas and the ledger know it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    pub id: Arc<str>,
    pub groups: Arc<[Arc<str>]>,
}

impl Principal {
    /// A caller without groups.
    pub fn named(id: &str) -> Principal {
        Principal { id: id.into(), groups: Arc::from([]) }
    }
}
