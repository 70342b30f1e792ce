//! How the journal is doing, for metrics, alerts and the decision to go on without a record.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

/// The state of a ledger at one moment.
#[derive(Debug, Clone, Serialize)]
pub struct Health {
    /// Whether the journal could be written when that was last tried.
    pub writable: bool,
    /// Records appended since the ledger was opened.
    pub appended: u64,
    /// Appends that failed since the ledger was opened.
    pub failed: u64,
    /// Bytes written to the journal since the ledger was opened.
    pub bytes_written: u64,
    /// Whether the disk confirmed what was written when it was last asked to.
    pub confirmed: bool,
    /// Writes that the disk did not confirm when asked to.
    pub sync_failures: u64,
    /// Whether the index could be filled when that was last tried.
    pub indexed: bool,
    /// Records copied into the index since the ledger was opened.
    pub shipped: u64,
    /// The last thing that went wrong, even if all is well again.
    pub last_error: Option<Failure>,
    /// What was found when the journal was opened: a cut tail, damage.
    pub findings: Vec<String>,
}

/// Something that went wrong, and when.
#[derive(Debug, Clone, Serialize)]
pub struct Failure {
    /// When, in microseconds since 1970.
    pub time_us: i64,
    /// What, where, and what to do.
    pub message: String,
}

/// The counters behind [`Health`], shared by the threads of one ledger.
#[derive(Debug)]
pub struct HealthLog {
    writable: AtomicBool,
    appended: AtomicU64,
    failed: AtomicU64,
    bytes_written: AtomicU64,
    confirmed: AtomicBool,
    sync_failures: AtomicU64,
    indexed: AtomicBool,
    shipped: AtomicU64,
    last_error: Mutex<Option<Failure>>,
    findings: Vec<String>,
}

impl HealthLog {
    pub(crate) fn new(findings: Vec<String>) -> Self {
        Self {
            writable: AtomicBool::new(true),
            appended: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            confirmed: AtomicBool::new(true),
            sync_failures: AtomicU64::new(0),
            indexed: AtomicBool::new(true),
            shipped: AtomicU64::new(0),
            last_error: Mutex::new(None),
            findings,
        }
    }

    pub(crate) fn note_batch(&self, records: u64, bytes: u64) {
        self.writable.store(true, Ordering::Relaxed);
        self.appended.fetch_add(records, Ordering::Relaxed);
        self.bytes_written.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn note_failed_batch(&self, records: u64, message: &str) {
        self.writable.store(false, Ordering::Relaxed);
        self.failed.fetch_add(records, Ordering::Relaxed);
        self.note_error(message);
    }

    /// Records that have landed cannot be written. They are not lost and will be tried again.
    pub(crate) fn note_unwritable(&self, message: &str) {
        self.writable.store(false, Ordering::Relaxed);
        self.note_error(message);
    }

    /// Whether the journal could be written when that was last tried.
    pub(crate) fn is_writable(&self) -> bool {
        self.writable.load(Ordering::Relaxed)
    }

    pub(crate) fn note_sync_failure(&self, message: &str) {
        self.confirmed.store(false, Ordering::Relaxed);
        self.sync_failures.fetch_add(1, Ordering::Relaxed);
        self.note_error(message);
    }

    pub(crate) fn note_synced(&self) {
        self.confirmed.store(true, Ordering::Relaxed);
    }

    /// Whether the disk confirmed what was written when it was last asked to.
    pub(crate) fn is_confirmed(&self) -> bool {
        self.confirmed.load(Ordering::Relaxed)
    }

    pub(crate) fn note_index_failure(&self, message: &str) {
        self.indexed.store(false, Ordering::Relaxed);
        self.note_error(message);
    }

    pub(crate) fn note_indexed(&self) {
        self.indexed.store(true, Ordering::Relaxed);
    }

    pub(crate) fn note_shipped(&self, records: u64) {
        self.shipped.fetch_add(records, Ordering::Relaxed);
    }

    pub(crate) fn note_error(&self, message: &str) {
        let failure = Failure { time_us: now_us(), message: message.to_owned() };
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
    }

    /// The state now.
    pub fn snapshot(&self) -> Health {
        Health {
            writable: self.is_writable(),
            appended: self.appended.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            bytes_written: self.bytes_written.load(Ordering::Relaxed),
            confirmed: self.is_confirmed(),
            sync_failures: self.sync_failures.load(Ordering::Relaxed),
            indexed: self.indexed.load(Ordering::Relaxed),
            shipped: self.shipped.load(Ordering::Relaxed),
            last_error: self.last_error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            findings: self.findings.clone(),
        }
    }
}

/// Microseconds since 1970; a clock before that counts as 1970.
pub(crate) fn now_us() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_micros() as i64)
}
