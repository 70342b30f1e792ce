//! The end of a call: the price is settled, the record written, the client told what is left.
//!
//! A write to the journal costs a tenth of a call, so the calls that end in one turn of a thread share one: each queues
//! its record, lets the others run that are ready, and writes what has gathered. Only then may its answer leave.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use toolgate_governance::{Micros, Outcome, Remaining, Terms};
use toolgate_ledger::{Queued, Status};

use crate::gate::Gate;
use crate::recorder::{Draft, End, Unrecorded};

/// What must be done when a call ends. A call that is dropped is recorded as given up.
#[derive(Debug)]
pub struct Closing {
    gate: Arc<Gate>,
    draft: Draft,
    begun: Instant,
    policy_revision: u64,
    terms: Option<Terms>,
    closed: bool,
    /// The record, until it is written.
    queued: Option<Queued>,
}

/// How a call ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended<'a> {
    pub status: Status,
    pub error_code: Option<i32>,
    /// The JSON of the result or the error.
    pub body: Option<&'a [u8]>,
}

impl Closing {
    /// The end of a call that begins now.
    pub fn new(gate: Arc<Gate>, draft: Draft, begun: Instant, policy_revision: u64) -> Closing {
        Closing { gate, draft, begun, policy_revision, terms: None, closed: false, queued: None }
    }

    /// The call runs under these terms.
    pub fn runs_under(&mut self, terms: Terms) {
        self.terms = Some(terms);
    }

    /// What is known of the call.
    pub fn draft(&self) -> &Draft {
        &self.draft
    }

    /// The gate that it passed.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// What is left of the caller's quotas while the call has taken nothing.
    pub fn remaining_now(&self) -> Vec<Remaining> {
        let Draft { principal, target, .. } = &self.draft;
        let standing = self.gate.standing(principal);
        self.gate.meters.remaining(&standing, &super::subject(target), Timestamp::now())
    }

    /// Closes the call: settles its price and writes it down. Gives what is left of the caller's quotas.
    pub fn close(&mut self, ended: Ended<'_>) -> Result<Vec<Remaining>, Unrecorded> {
        let remaining = self.begin_to_close(ended)?;
        self.write()?;
        Ok(remaining)
    }

    /// Settles the price of the call and queues its record, which [`Closing::on_record`] waits for. Gives what is left
    /// of the caller's quotas.
    pub fn begin_to_close(&mut self, ended: Ended<'_>) -> Result<Vec<Remaining>, Unrecorded> {
        self.closed = true;
        let succeeded = ended.status == Status::Ok;
        let (reserved, settled, remaining) = match self.terms.take() {
            None => (Micros::ZERO, Micros::ZERO, Vec::new()),
            Some(terms) => {
                let reserved = terms.price();
                // Most calls have no limits, and asking for the time is not free.
                let remaining =
                    if terms.are_limited() { terms.remaining(Timestamp::now()) } else { Vec::new() };
                let settled = terms.settle(if succeeded { Outcome::Succeeded } else { Outcome::Failed });
                (reserved, settled, remaining)
            }
        };
        if let Some(recorder) = &self.gate.recorder {
            let end = End {
                status: ended.status,
                error_code: ended.error_code,
                result: ended.body,
                duration_us: u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(u64::MAX),
                price_reserved: reserved.0,
                price_settled: settled.0,
                policy_revision: self.policy_revision,
            };
            self.queued = recorder.enqueue(&self.draft, &end)?;
        }
        Ok(remaining)
    }

    /// Returns when the call is written down, together with others that end now. Dropping the future loses nothing.
    pub async fn on_record(&mut self) -> Result<(), Unrecorded> {
        if self.queued.as_ref().is_some_and(|queued| !queued.is_safe()) {
            // Others that are ready, and those whose servers have answered by now, end before this goes on.
            tokio::task::yield_now().await;
        }
        self.write()
    }

    fn write(&mut self) -> Result<(), Unrecorded> {
        match (&self.gate.recorder, self.queued.take()) {
            (Some(recorder), Some(queued)) => recorder.write_queued(&queued),
            _ => Ok(()),
        }
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        // Nobody waits for an answer, so there is nobody to tell if this cannot be written; the alert has been raised.
        let _ = match self.closed {
            true => self.write(),
            false => self.close(Ended { status: Status::Cancelled, error_code: None, body: None }).map(drop),
        };
    }
}
