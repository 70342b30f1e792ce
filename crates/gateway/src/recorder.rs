//! Writing down what happened, before the answer leaves.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use toolgate_ledger::redact::{RedactedBody, Redactor};
use toolgate_ledger::{AppendError, Kind, Ledger, Queued, Receipt, RecordRef, Status};
use toolgate_protocol::Era;

use crate::principal::Principal;
use crate::router::Target;

/// The most that is kept of one body: a record has two and must stay below what the journal takes, with all else in it.
const MAX_BODY_BYTES: usize = 1536 * 1024;

/// What happens to calls while nothing can be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// They are refused.
    Deny,
    /// They go on without a record, because the operator said so.
    Continue,
}

/// The ledger as the gateway uses it.
#[derive(Debug)]
pub struct Recorder {
    pub ledger: Arc<Ledger>,
    redactor: Redactor,
    max_body_bytes: usize,
    on_failure: OnFailure,
    failing: AtomicBool,
    seen: Mutex<Seen>,
}

/// How the ledger was when it was last looked at.
#[derive(Debug)]
struct Seen {
    /// Whether it was written, confirmed, and indexed.
    state: [bool; 3],
    sync_failures: u64,
}

/// What is known of a call when it begins.
#[derive(Clone, Debug)]
pub struct Draft {
    pub time_us: i64,
    pub principal: Arc<Principal>,
    pub kind: Kind,
    pub target: Arc<Target>,
    pub era: Era,
    pub arguments: Option<Bytes>,
    pub trace_id: Option<[u8; 16]>,
}

/// What is known of it when it ends.
#[derive(Clone, Copy, Debug)]
pub struct End<'a> {
    pub status: Status,
    pub error_code: Option<i32>,
    pub result: Option<&'a [u8]>,
    pub duration_us: u64,
    pub price_reserved: u64,
    pub price_settled: u64,
    pub policy_revision: u64,
}

/// The call could not be written down and must not be answered.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the call could not be recorded, so its answer is withheld; the operator has been alerted")]
pub struct Unrecorded;

impl Recorder {
    /// Writes to a ledger.
    pub fn new(
        ledger: Arc<Ledger>,
        redactor: Redactor,
        max_body_bytes: usize,
        on_failure: OnFailure,
    ) -> Recorder {
        let max_body_bytes = max_body_bytes.min(MAX_BODY_BYTES);
        let seen = Mutex::new(Seen { state: [true; 3], sync_failures: 0 });
        Recorder { ledger, redactor, max_body_bytes, on_failure, failing: AtomicBool::new(false), seen }
    }

    /// Whether calls must be refused because the last record could not be written, or the disk did not confirm what was.
    /// Only another record, or another confirmation, changes that.
    pub fn refuses(&self) -> bool {
        self.on_failure == OnFailure::Deny
            && (self.failing.load(Ordering::Acquire) || !self.ledger.takes_records())
    }

    /// Looks how the ledger is doing beside the calls, and raises the alarm where that has become worse.
    pub fn look_after(&self) {
        let health = self.ledger.health();
        let state = [health.writable, health.confirmed, health.indexed];
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let [was_writable, was_confirmed, was_indexed] = std::mem::replace(&mut seen.state, state);
        let failures = std::mem::replace(&mut seen.sync_failures, health.sync_failures);
        drop(seen);
        let error = health.last_error.map(|error| error.message).unwrap_or_default();
        if was_writable && !health.writable {
            tracing::error!(alert = "ledger", error, "the journal cannot be written");
        }
        // A disk that fails between two looks and is well again has lost something all the same.
        if was_confirmed && !health.confirmed || health.sync_failures > failures {
            tracing::error!(alert = "ledger", error, "the disk did not confirm what was recorded");
        }
        if was_indexed && !health.indexed {
            tracing::error!(alert = "ledger", error, "the index of the ledger cannot be filled");
        }
        if state == [true; 3] && [was_writable, was_confirmed, was_indexed] != state {
            tracing::info!("the ledger is well again");
        }
    }

    /// How the ledger is, for reports.
    pub fn report(&self) -> serde_json::Value {
        let health = self.ledger.health();
        let is_recording = !self.failing.load(Ordering::Acquire) && health.writable;
        let is_well = is_recording && health.confirmed && health.indexed;
        serde_json::json!({
            "status": if is_well { "ok" } else { "failing" },
            "recording": is_recording,
            "confirmed": health.confirmed,
            "indexed": health.indexed,
            "last_error": health.last_error.map(|error| error.message),
        })
    }

    /// Whether records are written, confirmed and indexed.
    pub fn is_well(&self) -> bool {
        let health = self.ledger.health();
        !self.failing.load(Ordering::Acquire) && health.writable && health.confirmed && health.indexed
    }

    /// Writes a call down.
    pub fn write(&self, draft: &Draft, end: &End<'_>) -> Result<(), Unrecorded> {
        self.enqueue(draft, end)?.map_or(Ok(()), |queued| self.write_queued(&queued))
    }

    /// Puts a call among those that are written down together. There is nothing to write where that failed and calls
    /// go on without a record.
    pub fn enqueue(&self, draft: &Draft, end: &End<'_>) -> Result<Option<Queued>, Unrecorded> {
        let arguments = draft.arguments.as_ref().map(|json| RedactedBody::new(&self.redactor, json));
        let result = end.result.map(|json| RedactedBody::new(&self.redactor, json));
        let queued = self.ledger.enqueue(&RecordRef {
            time_us: draft.time_us,
            caller: &draft.principal.id,
            groups: &draft.principal.groups,
            kind: draft.kind,
            server: &draft.target.server,
            exposed: &draft.target.exposed,
            native: &draft.target.native,
            era: match draft.era {
                Era::Legacy => toolgate_ledger::Era::Legacy,
                Era::Modern => toolgate_ledger::Era::Modern,
            },
            arguments: arguments.as_ref().map(|body| body.for_record(self.max_body_bytes)),
            result: result.as_ref().map(|body| body.for_record(self.max_body_bytes)),
            status: end.status,
            error_code: end.error_code,
            duration_us: end.duration_us,
            price_reserved: end.price_reserved,
            price_settled: end.price_settled,
            trace_id: draft.trace_id,
            policy_revision: end.policy_revision,
        });
        match queued {
            Ok(queued) => Ok(Some(queued)),
            Err(error) => self.failed(&error).map(|()| None),
        }
    }

    /// Writes a queued call down, and all others that wait.
    pub fn write_queued(&self, queued: &Queued) -> Result<(), Unrecorded> {
        match self.ledger.write(queued) {
            Ok(Receipt { .. }) => {
                // Read before written, so that calls do not take this from each other's caches while all is well.
                if self.failing.load(Ordering::Relaxed) {
                    self.failing.store(false, Ordering::Release);
                }
                Ok(())
            }
            Err(error) => self.failed(&error),
        }
    }

    fn failed(&self, error: &AppendError) -> Result<(), Unrecorded> {
        tracing::error!(alert = "ledger", %error, "a call could not be recorded");
        // A record that is too large says nothing about the next one.
        if !matches!(error, AppendError::TooLarge { .. }) {
            self.failing.store(true, Ordering::Release);
        }
        match self.on_failure {
            OnFailure::Deny => Err(Unrecorded),
            OnFailure::Continue => Ok(()),
        }
    }
}
