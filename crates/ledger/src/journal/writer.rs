//! Appending, from many threads at once, without losing an acknowledged record.
//!
//! A record is on its way to the disk (the `write` call has returned) before [`Writer::write`] does. To make that
//! cheap, appenders put their encoded record into a queue and then ask for the end of the journal. Whoever gets it
//! finds either that somebody before has written its record along, or writes everything that is queued in one call.
//! So the queue is locked for a copy, hashing happens once per record outside of it, and the write is shared.
//! The longer an appender waits between the two steps, the more share one write; that is for it to judge.

use std::cell::RefCell;
use std::io;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use super::Position;
use super::folder::Folder;
use super::health::HealthLog;
use super::recover::Recovered;
use super::segment::{FRAME_HEADER_LENGTH, MAXIMUM_PAYLOAD_LENGTH, put_frame};
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

/// A record that waits to be written together with others. It is in the journal once [`Writer::write`] says so.
#[derive(Debug)]
#[must_use = "a record may stay in memory until somebody asks for it to be written"]
pub struct Queued {
    batch: Arc<Batch>,
    index: u64,
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
    queue: Mutex<Queue>,
    tail: Mutex<Tail>,
    syncing: Mutex<()>,
    durability: Durability,
    health: Arc<HealthLog>,
    replica: Arc<str>,
}

/// Encoded records that wait to be written together.
#[derive(Debug, Default)]
struct Queue {
    payloads: Vec<u8>,
    lengths: Vec<usize>,
    batch: Arc<Batch>,
}

/// What became of records that were written together: the sequence of the first, or why none was written.
#[derive(Debug, Default)]
struct Batch {
    outcome: OnceLock<Result<u64, AppendError>>,
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
        let tail = Tail::open(folder, recovered, segment_bytes)?;
        Ok(Self {
            queue: Mutex::default(),
            tail: Mutex::new(tail),
            syncing: Mutex::default(),
            durability,
            health,
            replica,
        })
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
        let (queued, is_full) = SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            scratch.shrink_to(KEPT_SCRATCH);
            record.encode(scratch);
            if scratch.len() > MAXIMUM_PAYLOAD_LENGTH {
                return Err(AppendError::TooLarge { size: scratch.len(), limit: MAXIMUM_PAYLOAD_LENGTH });
            }
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let queued = Queued { batch: Arc::clone(&queue.batch), index: queue.lengths.len() as u64 };
            queue.payloads.extend_from_slice(scratch);
            queue.lengths.push(scratch.len());
            Ok((queued, queue.payloads.len() > MAXIMUM_QUEUED))
        })?;
        if is_full {
            // How that ended is told to all who are in the queue when they ask.
            let _ = self.write(&queued);
        }
        Ok(queued)
    }

    /// Writes a queued record with all others that wait, unless that has been done. When this returns a receipt, a
    /// killed process does not lose it.
    pub fn write(&self, queued: &Queued) -> Result<Receipt, AppendError> {
        let written = |first: u64| Receipt { sequence: first + queued.index };
        if let Some(outcome) = queued.batch.outcome.get() {
            return outcome.clone().map(written);
        }
        let mut tail = self.lock_tail();
        let outcome = queued.batch.outcome.get_or_init(|| self.write_queue(&mut tail));
        outcome.clone().map(written)
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
        let _turn = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Writes all that is queued. The caller holds the tail, so the queue's batch is the caller's own.
    fn write_queue(&self, tail: &mut Tail) -> Result<u64, AppendError> {
        {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.batch = Arc::default();
            mem::swap(&mut queue.payloads, &mut tail.payloads);
            mem::swap(&mut queue.lengths, &mut tail.lengths);
        }
        let records = tail.lengths.len() as u64;
        let written = self.write_frames(tail);
        tail.payloads.clear();
        tail.payloads.shrink_to(KEPT_SCRATCH);
        tail.lengths.clear();
        tail.frames.clear();
        tail.frames.shrink_to(KEPT_SCRATCH);
        match written {
            Ok((first, bytes)) => {
                self.health.note_batch(records, bytes);
                Ok(first)
            }
            Err(error) => {
                let message = format!("{}: {error}", tail.path().display());
                self.health.note_failed_batch(records, &message);
                Err(AppendError::Write { message: Arc::from(message) })
            }
        }
    }

    fn write_frames(&self, tail: &mut Tail) -> io::Result<(u64, u64)> {
        let bytes = tail.payloads.len() + tail.lengths.len() * FRAME_HEADER_LENGTH;
        tail.make_ready(bytes as u64)?;
        let first = tail.next_sequence;
        let (mut sequence, mut chain) = (first, tail.chain);
        let mut rest = tail.payloads.as_slice();
        for length in &tail.lengths {
            let (payload, others) = rest.split_at(*length);
            rest = others;
            chain = chain.next(sequence, payload);
            put_frame(&mut tail.frames, sequence, &chain, payload);
            sequence += 1;
        }
        tail.write_out(self.durability)?;
        tail.next_sequence = sequence;
        tail.chain = chain;
        Ok((first, bytes as u64))
    }

    pub(super) fn lock_tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
