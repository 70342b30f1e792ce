//! What every call passes: the policy, the counters, the record, the approvals.

use std::sync::Arc;

use arc_swap::ArcSwap;
use toolgate_governance::rules::Rules;
use toolgate_governance::{Meters, Policy, Standing};

use crate::approvals::Approvals;
use crate::principal::Principal;
use crate::recorder::Recorder;

/// The gate of a gateway. The policy is swapped as a whole; counters and approvals outlive it.
#[derive(Debug)]
pub struct Gate {
    policy: ArcSwap<Policy>,
    pub meters: Meters,
    pub approvals: Approvals,
    /// The record of every call; nothing where the operator keeps none.
    pub recorder: Option<Recorder>,
}

impl Default for Gate {
    /// A gate that lets everything through and keeps no record.
    fn default() -> Gate {
        Gate::new(Policy::compile(&Rules::default(), 0).0, None)
    }
}

impl Gate {
    /// A gate with these rules.
    pub fn new(policy: Arc<Policy>, recorder: Option<Recorder>) -> Gate {
        Gate {
            policy: ArcSwap::new(policy),
            meters: Meters::default(),
            approvals: Approvals::default(),
            recorder,
        }
    }

    /// The rules of now.
    pub fn policy(&self) -> Arc<Policy> {
        self.policy.load_full()
    }

    /// Puts other rules in place. Calls under way finish under theirs.
    pub fn set_policy(&self, policy: Arc<Policy>) {
        self.policy.store(policy);
    }

    /// What the rules of now have in store for a caller.
    pub fn standing(&self, principal: &Principal) -> Arc<Standing> {
        principal.standing(&self.policy.load())
    }
}
