//! The folder of one process for the results it keeps, held by a lock for as long as the process lives.
//!
//! Several gateways may share a state folder, so each has a folder of its own in it. The lock dies with its process,
//! however that ends: a folder that can be locked belongs to nobody any more, and all in it is deleted.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

const LOCK_FILE: &str = "lock";
/// More gateways than ever share a state folder; the bound keeps a broken file system from being searched for ever.
const MAX_FOLDERS: usize = 256;

/// A folder and the right to write in it.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Takes the first numbered folder under `root` that no living process holds. All that dead ones left is deleted.
    pub(super) fn claim(root: &Path) -> io::Result<Folder> {
        let mut claimed = None;
        for number in 0..MAX_FOLDERS {
            let path = root.join(number.to_string());
            if claimed.is_some() && !path.exists() {
                break;
            }
            DirBuilder::new().recursive(true).mode(0o700).create(&path)?;
            if let Some(lock) = held(&path)? {
                clear(&path)?;
                claimed = claimed.or(Some(Folder { path, _lock: lock }));
            }
        }
        claimed
            .ok_or_else(|| io::Error::new(io::ErrorKind::ResourceBusy, "too many gateways keep results here"))
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// The lock of a folder; nothing where another process has it.
fn held(path: &Path) -> io::Result<Option<File>> {
    let lock =
        OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path.join(LOCK_FILE))?;
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn clear(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        if entry.file_name() != LOCK_FILE {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
