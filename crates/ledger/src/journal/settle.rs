//! Seeing to it that a journal holds all that its writer has accepted, before somebody reads it.
//!
//! A living writer needs a moment for that, which is waited for. For one that was killed it is done here.

use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use super::ReadError;
use super::folder::{Folder, folders};
use super::landing;
use super::recover::{Recovered, recover};
use super::tail::Tail;
use super::writer::Durability;

/// A living writer writes what has landed within milliseconds, unless its disk does not take it.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);

/// Settles the journals of all writers under `root`, as far as that is possible; a journal that cannot be written is
/// left as it is.
pub fn settle(root: &Path) -> Result<(), ReadError> {
    for path in folders(root).map_err(ReadError::io(root))? {
        let marks = || landing::marks(&path).map_err(ReadError::io(&path));
        let Some(accepted) = marks()?.filter(|marks| marks.landed > marks.written) else { continue };
        if let Ok(Some(folder)) = Folder::try_hold(path.clone()) {
            settle_abandoned(folder)?;
            continue;
        }
        let begun = Instant::now();
        while marks()?.is_some_and(|marks| marks.written < accepted.landed) && begun.elapsed() < LONGEST_WAIT
        {
            thread::sleep(BETWEEN_LOOKS);
        }
    }
    Ok(())
}

/// Brings an abandoned journal to the state that its writer would leave: no unfinished frame, all that was accepted, all
/// of it on the disk.
pub(crate) fn settle_abandoned(folder: Folder) -> Result<Folder, ReadError> {
    let path = folder.path().to_owned();
    let recovered = recover(&path)?;
    // A journal without any segment has nothing to be confirmed.
    if recovered.open_segment.is_none() && recovered.landed.is_empty() {
        return Ok(folder);
    }
    let settled = take_in(folder, recovered, u64::MAX).and_then(|tail| {
        landing::remove(&path)?;
        Ok(tail.into_folder())
    });
    settled.map_err(ReadError::io(&path))
}

/// Opens the end of a journal and writes what its last writer accepted and did not write.
pub(super) fn take_in(folder: Folder, mut recovered: Recovered, segment_bytes: u64) -> io::Result<Tail> {
    let landed = std::mem::take(&mut recovered.landed);
    let mut tail = Tail::open(folder, recovered, segment_bytes)?;
    if !landed.is_empty() {
        tail.append(landed.iter().map(Vec::as_slice), Durability::Always)?;
    }
    Ok(tail)
}
