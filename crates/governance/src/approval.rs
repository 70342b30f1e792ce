//! Must someone agree before this call runs?

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;

use crate::condition::Facts;
use crate::entry::{Answer, Approval, Clause, answer};
use crate::grant::Grant;
use crate::rules::{ApprovalMode, Approver};
use crate::standing::Standing;

/// The agreement a call has to wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalNeeded {
    /// The rule that asks for it.
    pub rule: Arc<str>,
    /// Who is asked.
    pub by: Approver,
    /// How many seconds the call waits.
    pub timeout_seconds: u64,
}

/// Goes through the approval rules in the order of the file until one decides.
pub(crate) fn needed(standing: &Standing, grant: &Grant, facts: &Facts<'_>) -> Option<ApprovalNeeded> {
    let rules = grant.approvals.iter().filter_map(|number| standing.policy().entry(*number));
    for entry in rules {
        let Clause::Approval(approval) = &entry.clause else { continue };
        match wants_agreement(approval, facts) {
            Some(true) => {
                let (by, timeout_seconds) = (approval.by, approval.timeout_seconds);
                return Some(ApprovalNeeded { rule: Arc::clone(&entry.id), by, timeout_seconds });
            }
            Some(false) => return None,
            None => {}
        }
    }
    None
}

/// What one rule says: yes, no, or nothing. A condition without an answer is on the side of asking.
fn wants_agreement(approval: &Approval, facts: &Facts<'_>) -> Option<bool> {
    // Without a condition, `policy` leaves the matter to the rules below.
    if approval.mode == ApprovalMode::Policy && approval.condition.is_none() {
        return None;
    }
    match (approval.mode, answer(approval.condition.as_ref(), facts)) {
        (ApprovalMode::Never, Answer::Applies) => Some(false),
        (ApprovalMode::Always | ApprovalMode::Policy, Answer::Applies | Answer::Undecided | Answer::Open) => {
            Some(true)
        }
        (ApprovalMode::Never, _) | (_, Answer::Silent) => None,
    }
}
