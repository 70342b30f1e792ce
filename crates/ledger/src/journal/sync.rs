//! Asking the disk to confirm what was written, in a thread of its own.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::Position;
use super::health::HealthLog;
use super::writer::Writer;

/// How long a disk that did not confirm is left alone.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

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

/// The thread that confirms writes at an interval. Stopping it confirms what is left.
#[derive(Debug)]
pub struct Syncer {
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncer {
    /// Starts the thread for `writer`.
    pub fn start(writer: &Arc<Writer>, interval: Duration, health: Arc<HealthLog>) -> io::Result<Self> {
        let (stop, stopped) = sync_channel::<()>(0);
        let writer = Arc::downgrade(writer);
        let run = move || {
            let mut stopping = false;
            while !stopping {
                // Each failure begins a segment, so a disk that fails is asked less often.
                let pause = if health.is_confirmed() { interval } else { interval.max(AFTER_FAILURE) };
                stopping = stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout);
                if !sync_once(&writer, &health) {
                    return;
                }
            }
        };
        let thread = thread::Builder::new().name("ledger-sync".to_owned()).spawn(run)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A panic of that thread has been reported by the panic hook already.
            let _ = thread.join();
        }
    }
}

/// Says whether the writer still exists.
fn sync_once(writer: &Weak<Writer>, health: &HealthLog) -> bool {
    let Some(writer) = writer.upgrade() else { return false };
    match writer.sync() {
        Ok(()) => health.note_synced(),
        Err(error) => health.note_sync_failure(&error.to_string()),
    }
    true
}
