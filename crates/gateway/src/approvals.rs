//! Calls that wait for somebody to agree.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::sync::oneshot;

/// How many calls may wait.
const CAPACITY: usize = 1024;

/// A call that waits, as the people who decide see it.
#[derive(Clone, Debug, Serialize)]
pub struct ApprovalRequest {
    pub id: u64,
    pub caller: Arc<str>,
    pub server: Arc<str>,
    pub tool: Arc<str>,
    /// The arguments without secrets.
    pub arguments: Option<String>,
    /// The rule that wants agreement.
    pub rule: Arc<str>,
    /// Seconds since 1970.
    pub since: u64,
    /// Seconds since 1970.
    pub expires: u64,
}

/// What was decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Approved,
    Refused(String),
}

/// All calls that wait.
#[derive(Debug, Default)]
pub struct Approvals {
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    last: u64,
    calls: BTreeMap<u64, (ApprovalRequest, oneshot::Sender<Answer>)>,
}

/// A place among the calls that wait. Dropping it takes the call out.
#[derive(Debug)]
pub struct Place<'a> {
    id: u64,
    approvals: &'a Approvals,
    pub answer: oneshot::Receiver<Answer>,
}

/// No more calls may wait.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{CAPACITY} calls wait for approval already")]
pub struct TooMany;

impl Approvals {
    /// Lets a call wait. `request`'s id and times are given here.
    pub fn enter(&self, mut request: ApprovalRequest, patience: Duration) -> Result<Place<'_>, TooMany> {
        let (sender, answer) = oneshot::channel();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.calls.len() >= CAPACITY {
            return Err(TooMany);
        }
        waiting.last += 1;
        let id = waiting.last;
        request.id = id;
        request.since = now;
        request.expires = now + patience.as_secs();
        tracing::info!(id, caller = %request.caller, tool = %request.tool, "a call waits for approval");
        waiting.calls.insert(id, (request, sender));
        Ok(Place { id, approvals: self, answer })
    }

    /// The calls that wait, the oldest first.
    pub fn list(&self) -> Vec<ApprovalRequest> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.calls.values().map(|(request, _)| request.clone()).collect()
    }

    /// Decides about a call. False where no such call waits.
    pub fn answer(&self, id: u64, answer: Answer) -> bool {
        let call = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).calls.remove(&id);
        call.is_some_and(|(_, sender)| sender.send(answer).is_ok())
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.approvals.waiting.lock().unwrap_or_else(PoisonError::into_inner).calls.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> ApprovalRequest {
        let name: Arc<str> = "x".into();
        ApprovalRequest {
            id: 0,
            caller: Arc::clone(&name),
            server: Arc::clone(&name),
            tool: Arc::clone(&name),
            arguments: None,
            rule: name,
            since: 0,
            expires: 0,
        }
    }

    #[test]
    fn no_more_than_so_many_wait() {
        let approvals = Approvals::default();
        let enter = || approvals.enter(request(), Duration::from_secs(60));
        let mut places: Vec<Place<'_>> = (0..CAPACITY).map(|_| enter().unwrap()).collect();
        let refused = enter().unwrap_err();
        assert_eq!(refused.to_string(), "1024 calls wait for approval already");
        // Who leaves makes room, and so does who was answered.
        places.pop();
        places.push(enter().unwrap());
        assert!(enter().is_err());
        assert!(approvals.answer(1, Answer::Approved));
        assert!(!approvals.answer(1, Answer::Approved), "once");
        assert_eq!(places[0].answer.try_recv(), Ok(Answer::Approved));
        assert!(enter().is_ok());
    }
}
