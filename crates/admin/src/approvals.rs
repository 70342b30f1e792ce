//! Calls that wait for an operator.

use serde_json::Value;
use toolgate_gateway::approvals::{self, Answer, ApprovalRequest};

use crate::answers::{Approval, Approvals, Decided};
use crate::problem::Problem;
use crate::questions::Decision;

/// The longest reason that is passed on to a caller, in bytes.
const LONGEST_REASON: usize = 4096;

/// All calls that wait.
pub(crate) fn list(waiting: &approvals::Approvals) -> Approvals {
    Approvals { approvals: waiting.list().into_iter().map(approval).collect() }
}

/// Decides about one of them.
pub(crate) fn decide(
    waiting: &approvals::Approvals,
    id: &str,
    decision: Decision,
) -> Result<Decided, Problem> {
    let missing =
        || Problem::not_found(format!("no call {id} waits: it was decided, given up, or never there"));
    let number: u64 = id.parse().map_err(|_| missing())?;
    let reason = decision.reason.unwrap_or_default();
    if reason.len() > LONGEST_REASON {
        return Err(Problem::invalid(format!("the reason is longer than {LONGEST_REASON} bytes")));
    }
    let answer = if decision.approve { Answer::Approved } else { Answer::Refused(reason) };
    if !waiting.answer(number, answer) {
        return Err(missing());
    }
    Ok(Decided { id: number, approved: decision.approve })
}

fn approval(request: ApprovalRequest) -> Approval {
    let arguments = request
        .arguments
        .map(|arguments| serde_json::from_str(&arguments).unwrap_or_else(|_| Value::String(arguments)));
    Approval {
        id: request.id,
        caller: request.caller.to_string(),
        server: request.server.to_string(),
        tool: request.tool.to_string(),
        arguments,
        rule: request.rule.to_string(),
        since: request.since,
        expires: request.expires,
    }
}
