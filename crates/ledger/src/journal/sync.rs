//! Asking the disk to confirm what was written, in a thread of its own.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::Position;
use super::health::HealthLog;
use super::writer::Writer;

/// How long a disk that did not confirm is left alone.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// How long records that have landed wait for others to be written with. Longer is not cheaper, and readers see them later.
const GATHERING: Duration = Duration::from_millis(10);

/// Files written to since they were last confirmed.
#[derive(Debug, Default)]
pub(crate) struct Unsynced {
    pub(super) files: Vec<Arc<File>>,
    /// The folder, if files were added to it.
    pub(super) folder: Option<PathBuf>,
    /// Where the journal ended when these were taken.
    pub(super) end: Position,
}

impl Unsynced {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.folder.is_none()
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        for file in &self.files {
            file.sync_data()?;
        }
        match &self.folder {
            Some(folder) => File::open(folder)?.sync_all(),
            None => Ok(()),
        }
    }
}

/// The thread that writes what has landed, and has the disk confirm writes at an interval. Stopping it confirms what is
/// left.
#[derive(Debug)]
pub struct Syncer {
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// Starts the thread for `writer`.
    pub fn start(writer: &Arc<Writer>, interval: Duration, health: Arc<HealthLog>) -> io::Result<Self> {
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let served = Arc::downgrade(writer);
        let run = move || {
            let mut synced = Instant::now();
            loop {
                // Each failure begins a segment, so a disk that fails is asked less often.
                let pause = if health.is_confirmed() { interval } else { interval.max(AFTER_FAILURE) };
                thread::park_timeout(pause.saturating_sub(synced.elapsed()));
                let is_last = stop.load(Ordering::Acquire);
                if !is_last && synced.elapsed() < pause {
                    // Something has landed; more will have in a moment.
                    thread::park_timeout(GATHERING);
                }
                let Some(writer) = served.upgrade() else { return };
                // What cannot be written is noted by the writer, and stays where it is until the next time.
                let _ = writer.write_landed();
                if is_last || synced.elapsed() >= pause {
                    synced = Instant::now();
                    match writer.sync() {
                        Ok(()) => health.note_synced(),
                        Err(error) => health.note_sync_failure(&error.to_string()),
                    }
                }
                if is_last {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("ledger-sync".to_owned()).spawn(run)?;
        writer.lend_a_hand(thread.thread());
        Ok(Self { stopping, thread: Some(thread) })
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of that thread has been reported by the panic hook already.
            let _ = thread.join();
        }
    }
}
