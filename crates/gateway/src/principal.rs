//! On whose behalf a client acts.

use std::hash::BuildHasher;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use foldhash::fast::FixedState;
use toolgate_governance::{Policy, Standing};

/// The caller as policy, quotas and the ledger know it.
#[derive(Debug)]
pub struct Principal {
    pub id: Arc<str>,
    pub groups: Arc<[Arc<str>]>,
    /// Stands for the id where callers are told apart with every call. Two may share one, who then wait in one line.
    pub number: u64,
    /// What the rules have in store for it, worked out once for each policy.
    standing: ArcSwapOption<Standing>,
}

impl Principal {
    /// A caller in these groups.
    pub fn new(id: Arc<str>, groups: Arc<[Arc<str>]>) -> Principal {
        let number = FixedState::default().hash_one(&id);
        Principal { id, groups, number, standing: ArcSwapOption::empty() }
    }

    /// A caller without groups.
    pub fn named(id: &str) -> Principal {
        Principal::new(id.into(), Arc::from([]))
    }

    /// Whether another is the same caller with the same rights. One that has other groups now must not go on with the
    /// rights of those it had.
    pub fn is_same_as(&self, other: &Principal) -> bool {
        self.id == other.id && self.groups == other.groups
    }

    /// What a policy has in store for it.
    pub fn standing(&self, policy: &Arc<Policy>) -> Arc<Standing> {
        if let Some(standing) = &*self.standing.load()
            && Arc::ptr_eq(standing.policy(), policy)
        {
            return Arc::clone(standing);
        }
        let standing = Arc::new(policy.standing(Arc::clone(&self.id), Arc::clone(&self.groups)));
        self.standing.store(Some(Arc::clone(&standing)));
        standing
    }
}
