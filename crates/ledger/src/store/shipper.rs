//! The thread that fills the index and keeps the journal within its bounds.
//!
//! It follows its own writer up to what the disk has confirmed. Folders whose writer is gone are taken over for as
//! long as it takes to copy what that one left, so that no record waits for a process that never comes back.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::batch::{KnownIds, ship_folder};
use super::{Store, StoreError};
use crate::calendar::Calendar;
use crate::journal::folder::{Folder, folders};
use crate::journal::health::HealthLog;
use crate::journal::settle::settle_abandoned;
use crate::journal::writer::Writer;
use crate::journal::{Position, ReadError, page_cache};
use crate::retention::{self, Retention};

/// How often abandoned folders and old segments are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// How far it stands back when the processors are busy.
const NICENESS: i32 = 10;
/// Waiting requests to catch up; more than one at a time makes no sense.
const MAXIMUM_REQUESTS: usize = 4;

/// What the shipper works with.
#[derive(Debug, Clone)]
pub struct ShipperSettings {
    /// The root of the ledger.
    pub root: PathBuf,
    /// How long it rests between batches; what came meanwhile makes the next one.
    pub interval: Duration,
    /// The days by which sums are kept.
    pub calendar: Calendar,
    /// What may be removed.
    pub retention: Retention,
}

/// The owner of the thread. Dropping it copies what is left and stops it.
#[derive(Debug)]
pub struct Shipper {
    requests: Option<SyncSender<SyncSender<()>>>,
    thread: Option<JoinHandle<()>>,
}

impl Shipper {
    /// Starts the thread.
    pub fn start(
        settings: ShipperSettings,
        store: Store,
        writer: Arc<Writer>,
        health: Arc<HealthLog>,
    ) -> io::Result<Self> {
        let (requests, received) = sync_channel::<SyncSender<()>>(MAXIMUM_REQUESTS);
        let interval = settings.interval;
        let released = writer.synced();
        let mut work = Work {
            settings,
            store,
            writer,
            health,
            connection: None,
            known: KnownIds::default(),
            swept: None,
            released,
        };
        let run = move || {
            // Calls come first: while they need every processor the index may lag behind, and nothing is lost by that.
            // Where it is not allowed, it shares the processors like everybody.
            let _ = rustix::process::nice(NICENESS);
            loop {
                let request = received.recv_timeout(interval);
                work.run();
                match request {
                    // Whoever asked may have stopped waiting.
                    Ok(done) => drop(done.try_send(())),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        };
        let thread = thread::Builder::new().name("ledger-shipper".to_owned()).spawn(run)?;
        Ok(Self { requests: Some(requests), thread: Some(thread) })
    }

    /// Copies all that the disk has confirmed, and returns when it is in the index.
    pub fn catch_up(&self) {
        let (done, waiting) = sync_channel(1);
        if let Some(requests) = &self.requests
            && requests.send(done).is_ok()
        {
            // An error means that the thread is gone, and with it all there was to wait for.
            let _ = waiting.recv();
        }
    }
}

impl Drop for Shipper {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been reported by the panic hook already.
            let _ = thread.join();
        }
    }
}

struct Work {
    settings: ShipperSettings,
    store: Store,
    writer: Arc<Writer>,
    health: Arc<HealthLog>,
    connection: Option<Connection>,
    known: KnownIds,
    swept: Option<Instant>,
    /// Up to here the journal need not be in memory any more.
    released: Position,
}

impl Work {
    /// One round. A failure is noted; the next round tries again with a new connection.
    fn run(&mut self) {
        match self.ship_and_sweep() {
            Ok(()) => self.health.note_indexed(),
            Err(error) => {
                let message = format!("cannot fill the ledger's index, will try again: {error}");
                self.health.note_index_failure(&message);
                self.connection = None;
            }
        }
    }

    fn ship_and_sweep(&mut self) -> Result<(), StoreError> {
        let end = self.writer.synced();
        let own = self.settings.root.join(&**self.writer.replica());
        self.ship(&own, Some(end))?;
        page_cache::release(&own, std::mem::replace(&mut self.released, end), end);
        if self.swept.is_some_and(|last| last.elapsed() < SWEEP_INTERVAL) {
            return Ok(());
        }
        self.swept = Some(Instant::now());
        self.prune(&own)?;
        let root = &self.settings.root;
        for path in folders(root).map_err(ReadError::io(root))? {
            if path != own
                && let Some(folder) = Folder::try_hold(path.clone()).map_err(ReadError::io(&path))?
            {
                let folder = settle_abandoned(folder)?;
                self.ship(folder.path(), None)?;
                self.prune(folder.path())?;
            }
        }
        Ok(())
    }

    fn ship(&mut self, folder: &Path, end: Option<Position>) -> Result<(), StoreError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.store.connect()?,
        };
        let shipped =
            ship_folder(&self.store, &mut connection, folder, end, &self.settings.calendar, &mut self.known)?;
        self.connection = Some(connection);
        self.health.note_shipped(shipped.records);
        for damage in shipped.damage {
            self.health.note_error(&format!("passed over while filling the ledger's index: {damage}"));
        }
        Ok(())
    }

    fn prune(&mut self, folder: &Path) -> Result<(), StoreError> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let now_us = crate::journal::health::now_us();
        // Names and series may go with the calls.
        self.known = KnownIds::default();
        retention::prune(connection, &self.store, folder, &self.settings, now_us)?;
        Ok(())
    }
}
