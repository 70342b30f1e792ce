//! The ledger as the rest of the program sees it: open, append, ask, close.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::calendar::Calendar;
use crate::journal::ReadError;
use crate::journal::folder::Folder;
use crate::journal::health::{Health, HealthLog};
use crate::journal::reader::Reader;
use crate::journal::recover::recover;
use crate::journal::sync::Syncer;
use crate::journal::writer::{AppendError, Durability, Queued, Receipt, Writer};
use crate::private;
use crate::record::RecordRef;
use crate::replay::{self, Replay};
use crate::retention::Retention;
use crate::store::{CarriedUse, Shipper, ShipperSettings, Store, StoreError, Sums};

/// The longest name a writer may have, so that a segment's header stays small.
const LONGEST_NAME: usize = 64;
const SMALLEST_SEGMENT: u64 = 4 << 10;

/// How a ledger is kept.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder of the ledger; made if it is not there.
    pub root: PathBuf,
    /// The name of this writer, followed by a number: letters, digits, `.`, `_` and `-`.
    pub replica: String,
    /// When the disk is asked to confirm what was written.
    pub durability: Durability,
    /// A segment is closed before it grows beyond this.
    pub segment_bytes: u64,
    /// How long the shipper rests between batches.
    pub ship_interval: Duration,
    /// How long and how much is kept.
    pub retention: Retention,
    /// The days by which sums are kept.
    pub calendar: Calendar,
}

impl Settings {
    /// The usual settings for a ledger in `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            replica: "local".to_owned(),
            durability: Durability::Interval(Duration::from_millis(200)),
            segment_bytes: 64 << 20,
            ship_interval: Duration::from_millis(500),
            retention: Retention::default(),
            calendar: Calendar::default(),
        }
    }
}

/// Why a ledger could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The name of the writer cannot be a folder's name.
    #[error(
        "{0:?} cannot name a ledger's writer; use up to {LONGEST_NAME} of a-z, A-Z, 0-9, '.', '_' and '-'"
    )]
    Name(String),
    /// The operating system refused.
    #[error("cannot open the ledger in {}: {source}", root.display())]
    Io {
        /// The folder of the ledger.
        root: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The journal could not be read.
    #[error(transparent)]
    Journal(#[from] ReadError),
    /// The index could not be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// An open ledger. Dropping it is closing it.
#[derive(Debug)]
pub struct Ledger {
    // Fields are dropped in this order: first the disk confirms all, then all that is copied into the index.
    syncer: Option<Syncer>,
    shipper: Shipper,
    writer: Arc<Writer>,
    store: Store,
    health: Arc<HealthLog>,
    settings: Settings,
}

impl Ledger {
    /// Opens the ledger, cutting an unfinished last write of a process that was killed.
    pub fn open(settings: Settings) -> Result<Self, OpenError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let name = &settings.replica;
        if name.is_empty()
            || name.len() > LONGEST_NAME
            || name.starts_with('.')
            || !name.bytes().all(is_plain)
        {
            return Err(OpenError::Name(name.clone()));
        }
        let failed = |source| OpenError::Io { root: settings.root.clone(), source };
        private::make_folder(&settings.root).map_err(failed)?;
        let folder = Folder::claim(&settings.root, name).map_err(failed)?;
        let recovered = recover(folder.path())?;
        let findings = recovered.findings.iter().map(ToString::to_string).collect();
        let health = Arc::new(HealthLog::new(findings));
        let segment_bytes = settings.segment_bytes.max(SMALLEST_SEGMENT);
        let writer = Writer::new(folder, recovered, segment_bytes, settings.durability, Arc::clone(&health))
            .map_err(failed)?;
        let writer = Arc::new(writer);
        let store = Store::open(&settings.root)?;
        let shipper_settings = ShipperSettings {
            root: settings.root.clone(),
            interval: settings.ship_interval,
            calendar: settings.calendar.clone(),
            retention: settings.retention,
        };
        let shipper =
            Shipper::start(shipper_settings, store.clone(), Arc::clone(&writer), Arc::clone(&health))
                .map_err(failed)?;
        let syncer = match settings.durability {
            Durability::Interval(interval) => {
                Some(Syncer::start(&writer, interval, Arc::clone(&health)).map_err(failed)?)
            }
            Durability::Always => None,
        };
        Ok(Self { syncer, shipper, writer, store, health, settings })
    }

    /// Writes a record. When this returns a receipt, a killed process does not lose it.
    pub fn append(&self, record: &RecordRef<'_>) -> Result<Receipt, AppendError> {
        self.writer.append(record)
    }

    /// Puts a record among those that the next write takes along; see [`Ledger::write`].
    pub fn enqueue(&self, record: &RecordRef<'_>) -> Result<Queued, AppendError> {
        self.writer.enqueue(record)
    }

    /// Writes a queued record with all others that wait, unless that has been done. When this returns a receipt, a
    /// killed process does not lose it.
    pub fn write(&self, queued: &Queued) -> Result<Receipt, AppendError> {
        self.writer.write(queued)
    }

    /// The name under which this process's records are known.
    pub fn replica(&self) -> &str {
        self.writer.replica()
    }

    /// How the ledger is doing.
    pub fn health(&self) -> Health {
        self.health.snapshot()
    }

    /// Whether the journal could be written, and the disk confirmed that, when it was last tried.
    pub fn takes_records(&self) -> bool {
        self.health.is_writable() && self.health.is_confirmed()
    }

    /// The index, for questions.
    pub fn store(&self) -> Store {
        self.store.clone()
    }

    /// The journal, for the whole records that the index names.
    pub fn reader(&self) -> Reader {
        Reader::new(&self.settings.root)
    }

    /// The folder of the ledger.
    pub fn root(&self) -> &Path {
        &self.settings.root
    }

    /// All records since a moment, across all writers on this root.
    pub fn replay_since(&self, since_us: i64) -> Result<Replay, ReadError> {
        Replay::since(&self.settings.root, since_us)
    }

    /// What counters need of records since a moment whose segments are gone.
    pub fn carried_since(&self, since_us: i64) -> Result<Vec<CarriedUse>, StoreError> {
        self.store.carried(&self.settings.root, since_us)
    }

    /// What every caller's calls of a month (`yyyymm`) add up to, those included that are not in the index yet.
    pub fn month_totals(&self, month: i32) -> Result<Vec<(String, Sums)>, StoreError> {
        let totals = replay::month_totals(&self.settings.root, &self.store, &self.settings.calendar, month)?;
        Ok(totals.into_iter().collect())
    }

    /// Has the disk confirm all that was appended, and returns when it is in the index.
    pub fn catch_up(&self) -> io::Result<()> {
        self.writer.write_landed().map_err(io::Error::other)?;
        self.writer.sync()?;
        self.shipper.catch_up();
        Ok(())
    }

    /// Has the disk confirm all that was appended, copies it into the index and stops the threads.
    pub fn close(self) {
        drop(self);
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        // The shipper copies only what is confirmed, and it stops after this.
        self.syncer = None;
        // What cannot be written is noted by the writer, and is found by the next one.
        let _ = self.writer.write_landed();
        if let Err(error) = self.writer.sync() {
            self.health.note_sync_failure(&error.to_string());
        }
    }
}
