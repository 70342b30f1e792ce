//! Waiting for somebody to agree to a call: the operator, or the person at the client.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::Instant;
use toolgate_client::{Call, Question, Reply};
use toolgate_governance::rules::Approver;
use toolgate_governance::{Permitted, Refusal, Waiting};
use toolgate_protocol::Method;

use crate::approvals::{Answer, ApprovalRequest};
use crate::gate::Gate;
use crate::recorder::Draft;

/// A rule that says longer than anybody can tell means this.
const FOR_EVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// How a call waits.
pub(crate) struct Consent {
    /// What gives the decision.
    pub decision: BoxFuture<'static, Result<Permitted<Call>, Refusal>>,
    /// The question, where the client's person is asked.
    pub question: Option<Question>,
    /// When the decision will have been made, if only by the time that has passed.
    pub decide_by: Instant,
}

/// Begins to wait.
pub(crate) fn begin(gate: &Arc<Gate>, waiting: Waiting<Call>, draft: &Draft) -> Consent {
    let patience = Duration::from_secs(waiting.needed().timeout_seconds);
    let now = Instant::now();
    let decide_by = now.checked_add(patience).unwrap_or(now + FOR_EVER);
    match waiting.needed().by {
        Approver::Operator => {
            let decision = by_operator(Arc::clone(gate), waiting, draft.clone(), patience);
            Consent { decision: Box::pin(decision), question: None, decide_by }
        }
        Approver::User => {
            let (question, reply) = question(draft, &waiting);
            let decision = by_user(waiting, reply, decide_by);
            Consent { decision: Box::pin(decision), question: Some(question), decide_by }
        }
    }
}

async fn by_operator(
    gate: Arc<Gate>,
    waiting: Waiting<Call>,
    draft: Draft,
    patience: Duration,
) -> Result<Permitted<Call>, Refusal> {
    let arguments = draft.arguments.as_ref().map(|json| {
        // Whoever is asked reads them, whether or not there is a ledger.
        String::from_utf8_lossy(&gate.without_secrets(json)).into_owned()
    });
    let request = ApprovalRequest {
        id: 0,
        caller: Arc::clone(&draft.principal.id),
        server: Arc::clone(&draft.target.server),
        tool: Arc::clone(&draft.target.exposed),
        arguments,
        rule: Arc::clone(&waiting.needed().rule),
        since: 0,
        expires: 0,
    };
    let mut place = match gate.approvals.enter(request, patience) {
        Ok(place) => place,
        Err(error) => return Err(waiting.refuse(&error.to_string())),
    };
    let answer = tokio::time::timeout(patience, &mut place.answer).await;
    drop(place);
    match answer {
        Ok(Ok(Answer::Approved)) => Ok(waiting.approve()),
        Ok(Ok(Answer::Refused(reason))) if reason.is_empty() => Err(waiting.refuse("it was refused")),
        Ok(Ok(Answer::Refused(reason))) => Err(waiting.refuse(&format!("it was refused: {reason}"))),
        Ok(Err(_)) | Err(_) => Err(waiting.refuse("nobody agreed in time")),
    }
}

async fn by_user(
    waiting: Waiting<Call>,
    reply: oneshot::Receiver<Reply>,
    decide_by: Instant,
) -> Result<Permitted<Call>, Refusal> {
    match tokio::time::timeout_at(decide_by, reply).await {
        // A modern client may bring the answer when it likes; nobody has looked at the clock meanwhile.
        _ if Instant::now() >= decide_by => Err(waiting.refuse("the user did not answer in time")),
        Ok(Ok(Reply::Result(result))) if agrees(&result) => Ok(waiting.approve()),
        Ok(Ok(Reply::Result(_))) => Err(waiting.refuse("the user did not agree")),
        Ok(Ok(Reply::Error(_))) | Ok(Err(_)) => {
            Err(waiting.refuse("the client's user cannot be asked, because the client has no elicitation"))
        }
        Err(_) => Err(waiting.refuse("the user did not answer in time")),
    }
}

fn question(draft: &Draft, waiting: &Waiting<Call>) -> (Question, oneshot::Receiver<Reply>) {
    let (answer, reply) = oneshot::channel();
    let arguments = draft.arguments.as_deref().map(String::from_utf8_lossy).unwrap_or_default();
    let message = format!(
        "Allow the call of {} on server {}? Rule {} asks for your agreement. Arguments: {arguments}",
        draft.target.exposed,
        draft.target.server,
        waiting.needed().rule
    );
    let params = json!({
        "mode": "form",
        "message": message,
        "requestedSchema": {
            "type": "object",
            "properties": {"approve": {"type": "boolean", "title": "Allow this call", "default": false}},
            "required": ["approve"],
        },
    });
    (Question { method: Method::Elicit, params: Bytes::from(params.to_string()), answer }, reply)
}

fn agrees(result: &[u8]) -> bool {
    let Ok(result) = serde_json::from_slice::<serde_json::Value>(result) else { return false };
    result["action"] == "accept" && result["content"]["approve"] == true
}
