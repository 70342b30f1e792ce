//! Appending, from many threads at once, without losing an acknowledged record.
//!
//! Where it can, a record lands: it is copied into memory that outlives the process, and that is all who appends waits
//! for. A thread writes what has landed into the journal; whoever finds no room to land does it, too.
//!
//! Elsewhere, and where the disk must confirm every record, the `write` call has returned before [`Writer::write`] does.
//! To make that cheap, appenders put their encoded record into a queue and then ask for the end of the journal. Whoever gets
//! it finds either that somebody before has written its record along, or writes everything that is queued in one call.
//! The longer an appender waits between the two steps, the more share one write; that is for it to judge.

use std::cell::RefCell;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Duration;

use super::Position;
use super::folder::Folder;
use super::health::HealthLog;
use super::landing::{self, Area, Landing};
use super::queue::{Batch, Queue};
use super::recover::Recovered;
use super::segment::MAXIMUM_PAYLOAD_LENGTH;
use super::settle::take_in;
use super::tail::Tail;
use crate::record::RecordRef;

/// A scratch buffer that grew beyond this is given back, so that one large record does not stay in memory.
const KEPT_SCRATCH: usize = 64 << 10;
/// Whoever makes the queue longer than this writes it at once.
const MAXIMUM_QUEUED: usize = 1 << 20;

/// When the disk is asked to confirm what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// In the background at this interval: a killed process loses nothing, a power cut at most this long.
    Interval(Duration),
    /// Before every append returns: nothing is lost at all, at the price of the disk's latency.
    Always,
}

/// Proof that a record was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The number of the record in the journal of its writer.
    pub sequence: u64,
}

/// A record on its way into the journal.
#[derive(Debug)]
#[must_use = "a record may stay in memory until somebody asks for it to be written"]
pub struct Queued(Way);

#[derive(Debug)]
enum Way {
    /// It is in memory that outlives the process.
    Landed { sequence: u64 },
    /// It waits to be written together with others, and is safe once [`Writer::write`] says so.
    Waiting { batch: Arc<Batch>, index: u64 },
}

impl Queued {
    /// Whether the record is safe already, so that nothing is gained by waiting for company.
    pub fn is_safe(&self) -> bool {
        matches!(self.0, Way::Landed { .. })
    }
}

/// Why a record was not written.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppendError {
    /// The record is larger than any reader would believe.
    #[error("the record has {size} bytes, at most {limit} are written; lower the body limits of the ledger")]
    TooLarge {
        /// The size of the encoded record.
        size: usize,
        /// The largest size.
        limit: usize,
    },
    /// The journal could not be written; nothing of the record is in it.
    #[error(
        "cannot write the journal: {message}; free space or repair the disk, appending then goes on by itself"
    )]
    Write {
        /// What the operating system said, and about which file.
        message: Arc<str>,
    },
}

/// The one writer of a folder.
#[derive(Debug)]
pub struct Writer {
    // Who needs both locks takes the tail's first.
    tail: Mutex<Tail>,
    landing: Option<Mutex<Landing>>,
    queue: Mutex<Queue>,
    /// The thread that writes what has landed.
    hand: OnceLock<Thread>,
    syncing: Mutex<()>,
    durability: Durability,
    health: Arc<HealthLog>,
    replica: Arc<str>,
}

impl Writer {
    /// Goes on where `recovered` says. A new segment is begun when one is full.
    pub fn new(
        folder: Folder,
        recovered: Recovered,
        segment_bytes: u64,
        durability: Durability,
        health: Arc<HealthLog>,
    ) -> io::Result<Self> {
        let replica = Arc::clone(folder.replica());
        let path = folder.path().to_owned();
        let mut tail = take_in(folder, recovered, segment_bytes)?;
        let landing = match durability {
            // Without a landing every record is written by itself, so that is no reason to fail.
            Durability::Interval(_) => Landing::open(&path, tail.next_sequence()).unwrap_or_default(),
            Durability::Always => None,
        };
        let landing = match landing {
            Some((landing, area)) => {
                tail.landed = Some(area);
                Some(Mutex::new(landing))
            }
            None => {
                landing::remove(&path)?;
                None
            }
        };
        Ok(Self {
            tail: Mutex::new(tail),
            landing,
            queue: Mutex::default(),
            hand: OnceLock::new(),
            syncing: Mutex::default(),
            durability,
            health,
            replica,
        })
    }

    /// From now on `hand` is woken when records have landed; it calls [`Writer::write_landed`].
    pub(super) fn lend_a_hand(&self, hand: &Thread) {
        let _ = self.hand.set(hand.clone());
    }

    /// The name under which this writer's records are known.
    pub fn replica(&self) -> &Arc<str> {
        &self.replica
    }

    /// Writes a record. When this returns a receipt, a killed process does not lose it.
    pub fn append(&self, record: &RecordRef<'_>) -> Result<Receipt, AppendError> {
        self.write(&self.enqueue(record)?)
    }

    /// Puts a record among those that the next write takes along.
    pub fn enqueue(&self, record: &RecordRef<'_>) -> Result<Queued, AppendError> {
        thread_local! {
            static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
        }
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            scratch.shrink_to(KEPT_SCRATCH);
            record.encode(scratch);
            if scratch.len() > MAXIMUM_PAYLOAD_LENGTH {
                return Err(AppendError::TooLarge { size: scratch.len(), limit: MAXIMUM_PAYLOAD_LENGTH });
            }
            match &self.landing {
                Some(landing) => self.land(landing, scratch).map(|sequence| Queued(Way::Landed { sequence })),
                None => Ok(self.wait_in_queue(scratch)),
            }
        })
    }

    /// Makes sure that a queued record is written, with all others that wait. When this returns a receipt, a killed
    /// process does not lose it.
    pub fn write(&self, queued: &Queued) -> Result<Receipt, AppendError> {
        let (batch, index) = match &queued.0 {
            Way::Landed { sequence } => return Ok(Receipt { sequence: *sequence }),
            Way::Waiting { batch, index } => (batch, *index),
        };
        let written = |first: u64| Receipt { sequence: first + index };
        if let Some(outcome) = batch.outcome.get() {
            return outcome.clone().map(written);
        }
        let mut tail = self.lock_tail();
        let outcome = batch.outcome.get_or_init(|| self.write_queue(&mut tail));
        outcome.clone().map(written)
    }

    /// Writes into the journal what has landed.
    pub fn write_landed(&self) -> Result<(), AppendError> {
        let Some(landing) = &self.landing else { return Ok(()) };
        self.write_all_landed(&mut self.lock_tail(), landing)
    }

    /// How far the journal is written: nothing before this changes any more.
    pub fn written(&self) -> Position {
        self.lock_tail().written()
    }

    /// How far the disk has confirmed the journal. The index is filled up to here and no further, so that it never
    /// knows of a record that a power cut could still take.
    pub fn synced(&self) -> Position {
        self.lock_tail().synced()
    }

    /// Asks the disk to confirm all that is written. Appending goes on meanwhile.
    ///
    /// A disk that has refused once is not asked for the same again: the operating system may have given the pages up, and
    /// would say yes. What is in the segment stays, its end may be lost in a power cut, and a new segment is begun.
    pub fn sync(&self) -> io::Result<()> {
        // One at a time, so that who finds nothing to do knows that it is done.
        let _turn = lock(&self.syncing);
        let Some(unsynced) = self.lock_tail().take_unsynced() else { return Ok(()) };
        let synced = unsynced.sync();
        let mut tail = self.lock_tail();
        match synced {
            Ok(()) => {
                tail.note_synced(unsynced.end);
                Ok(())
            }
            Err(error) => {
                let suspect = tail.path().display().to_string();
                let begun = match tail.leave_suspect(unsynced) {
                    Ok(()) => "a new segment is begun".to_owned(),
                    Err(error) => format!("no new segment can be begun: {error}"),
                };
                Err(io::Error::new(
                    error.kind(),
                    format!(
                        "the disk did not confirm {suspect}: {error}; a power cut may take its end; {begun}; look after \
                         the disk and run `toolgate ledger verify`"
                    ),
                ))
            }
        }
    }

    fn land(&self, landing: &Mutex<Landing>, payload: &[u8]) -> Result<u64, AppendError> {
        // A disk that does not confirm may not take pages of the landing either, which would end the process.
        if payload.len() > landing::LONGEST_PAYLOAD || !self.health.is_confirmed() {
            return self.write_without_landing(landing, payload);
        }
        // While the journal cannot be written, nobody is told that it will be.
        if !self.health.is_writable() {
            self.write_landed()?;
        }
        loop {
            let landed = lock(landing).put(payload);
            match landed {
                Some(landed) => {
                    if let Some(hand) = self.hand.get().filter(|_| landed.is_news) {
                        hand.unpark();
                    }
                    return Ok(landed.sequence);
                }
                None => self.write_landed()?,
            }
        }
    }

    /// Writes a record that cannot land, after all that have.
    fn write_without_landing(&self, landing: &Mutex<Landing>, payload: &[u8]) -> Result<u64, AppendError> {
        let mut tail = self.lock_tail();
        loop {
            self.write_all_landed(&mut tail, landing)?;
            let mut landing = lock(landing);
            // Nothing may land between the records before this one and those behind it.
            if landing.is_empty() {
                let first = self.append_to(&mut tail, std::iter::once(payload))?;
                landing.set_next_sequence(tail.next_sequence());
                landing.note_written(tail.next_sequence());
                return Ok(first);
            }
        }
    }

    fn write_all_landed(&self, tail: &mut Tail, landing: &Mutex<Landing>) -> Result<(), AppendError> {
        let Some(mut area) = tail.landed.take() else { return Ok(()) };
        let before = tail.next_sequence();
        // Records that could not be written last time come first.
        let mut written = self.write_area(tail, &mut area);
        if written.is_ok() && lock(landing).swap(&mut area) {
            written = self.write_area(tail, &mut area);
        }
        if tail.next_sequence() > before {
            lock(landing).note_written(tail.next_sequence());
        }
        tail.landed = Some(area);
        written
    }

    fn write_area(&self, tail: &mut Tail, area: &mut Area) -> Result<(), AppendError> {
        while !area.is_empty() {
            let frames = tail.fitting(area.frames());
            let bytes = tail.append_frames(frames, self.durability).map_err(|error| {
                let error = write_error(tail, &error);
                self.health.note_unwritable(&error.to_string());
                error
            })?;
            self.health.note_batch(frames.records, bytes);
            let written = frames.bytes.len();
            area.note_written(written);
        }
        Ok(())
    }

    fn wait_in_queue(&self, payload: &[u8]) -> Queued {
        let mut queue = lock(&self.queue);
        let queued = Queued(Way::Waiting { batch: Arc::clone(&queue.batch), index: queue.records.count() });
        queue.records.push(payload);
        let is_full = queue.records.size() > MAXIMUM_QUEUED;
        drop(queue);
        if is_full {
            // How that ended is told to all who are in the queue when they ask.
            let _ = self.write(&queued);
        }
        queued
    }

    /// Writes all that is queued. The caller holds the tail, so the queue's batch is the caller's own.
    fn write_queue(&self, tail: &mut Tail) -> Result<u64, AppendError> {
        let mut records = mem::take(&mut tail.queued);
        {
            let mut queue = lock(&self.queue);
            queue.batch = Arc::default();
            mem::swap(&mut queue.records, &mut records);
        }
        let written = self.append_to(tail, records.iter());
        records.clear();
        tail.queued = records;
        written
    }

    /// Writes records that nobody has been promised anything about.
    fn append_to<'a>(
        &self,
        tail: &mut Tail,
        payloads: impl Iterator<Item = &'a [u8]> + Clone,
    ) -> Result<u64, AppendError> {
        let records = payloads.clone().count() as u64;
        let first = tail.next_sequence();
        match tail.append(payloads, self.durability) {
            Ok(bytes) => {
                self.health.note_batch(records, bytes);
                Ok(first)
            }
            Err(error) => {
                let error = write_error(tail, &error);
                self.health.note_failed_batch(records, &error.to_string());
                Err(error)
            }
        }
    }

    pub(super) fn lock_tail(&self) -> MutexGuard<'_, Tail> {
        lock(&self.tail)
    }
}

fn write_error(tail: &Tail, error: &io::Error) -> AppendError {
    AppendError::Write { message: format!("{}: {error}", tail.path().display()).into() }
}

/// What is behind these locks is whole between any two steps, so a panic elsewhere takes nothing away.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
