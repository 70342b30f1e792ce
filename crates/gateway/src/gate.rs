//! What every call passes: the policy, the counters, the record, the approvals.

use std::borrow::Cow;
use std::sync::Arc;

use arc_swap::ArcSwap;
use toolgate_governance::rules::Rules;
use toolgate_governance::{Meters, Policy, Standing};
use toolgate_ledger::redact::UNREADABLE;
use toolgate_ledger::{RedactionRules, Redactor};

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
    /// Takes the secrets out of arguments that people are shown.
    redactor: Option<Redactor>,
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
            redactor: Redactor::new(&RedactionRules::default()).ok(),
        }
    }

    /// The same with other rules for what people are not shown.
    #[must_use]
    pub fn hiding(self, redactor: Redactor) -> Gate {
        Gate { redactor: Some(redactor), ..self }
    }

    /// Arguments as people are shown them who are asked about a call.
    pub fn without_secrets<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        self.redactor.as_ref().map_or(Cow::Borrowed(UNREADABLE), |redactor| redactor.redact(json))
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
