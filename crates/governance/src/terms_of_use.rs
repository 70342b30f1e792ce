//! What is shown with a thing in lists: its price, the limits on it, and whether someone has to agree. The same for a whole
//! visibility class, so it can be part of lists that are built once.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::entry::Clause;
use crate::index::RuleNumber;
use crate::rules::ApprovalMode;
use crate::standing::Standing;
use crate::subject::Subject;
use crate::{Measure, Micros};

/// The price and the limits of one thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TermsOfUse {
    /// What one use costs, in micro-units: by the operator's rules, or what the tool says where it is believed.
    pub price: Option<Micros>,
    /// Every limit that counts uses of it, in the order of the file.
    pub limits: Vec<Limit>,
    /// Whether someone has to agree.
    pub approval: ApprovalShown,
}

/// One limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Limit {
    /// The quota.
    pub rule: Arc<str>,
    /// What it counts.
    pub measure: Measure,
    /// The limit; micro-units if it is about money.
    pub limit: u64,
}

/// Whether someone has to agree, as far as that is known before a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalShown {
    /// Nobody has to.
    Never,
    /// It depends on the call.
    Sometimes,
    /// Every time.
    Always,
}

impl Standing {
    /// What to show with the thing in this caller's lists. `declared` is what it says of its price, if it is believed.
    pub fn terms_of_use(&self, subject: &Subject<'_>, declared: Option<Micros>) -> TermsOfUse {
        let grant = self.grant(subject);
        let limits = grant.quotas.iter().flat_map(|granted| {
            let rule = &granted.quota.id;
            granted.quota.limits().map(|(measure, limit)| Limit { rule: Arc::clone(rule), measure, limit })
        });
        TermsOfUse {
            price: grant.price.as_ref().map(|price| price.price).or(declared),
            limits: limits.collect(),
            approval: self.approval_shown(&grant.approvals),
        }
    }

    /// Follows the approval rules as far as they can be known: the first without a condition settles the matter, unless one with a
    /// condition comes before it.
    fn approval_shown(&self, numbers: &[RuleNumber]) -> ApprovalShown {
        let mut shown = None;
        for entry in numbers.iter().filter_map(|number| self.policy().entry(*number)) {
            let Clause::Approval(approval) = &entry.clause else { continue };
            match (approval.mode, &approval.condition) {
                (ApprovalMode::Policy, None) => {}
                (_, Some(_)) => shown = Some(ApprovalShown::Sometimes),
                (ApprovalMode::Never, None) => return shown.unwrap_or(ApprovalShown::Never),
                (ApprovalMode::Always, None) => return shown.unwrap_or(ApprovalShown::Always),
            }
        }
        shown.unwrap_or(ApprovalShown::Never)
    }
}
