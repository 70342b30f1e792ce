//! The folder of one writer, held by a lock for as long as the writer lives.
//!
//! A writer takes the first folder nobody holds, so a restarted process goes on where it stopped and two processes on
//! one root never meet. The lock dies with its process, however that ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::private;

const LOCK_FILE: &str = "writer.lock";
const SEGMENT_EXTENSION: &str = "journal";
/// More processes than ever share a root; the bound keeps a broken file system from being searched for ever.
const MAXIMUM_FOLDERS: usize = 256;

/// A folder and the right to write in it.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    replica: Arc<str>,
    _lock: File,
}

impl Folder {
    /// Takes the first folder `{name}-{n}` under `root` that no living process holds.
    pub fn claim(root: &Path, name: &str) -> io::Result<Self> {
        for number in 0..MAXIMUM_FOLDERS {
            let replica = format!("{name}-{number}");
            let path = root.join(&replica);
            private::make_folder(&path)?;
            if let Some(folder) = Self::try_hold(path)? {
                return Ok(folder);
            }
        }
        Err(io::Error::new(
            io::ErrorKind::ResourceBusy,
            format!("all of {name}-0 to {name}-{} are held by other processes", MAXIMUM_FOLDERS - 1),
        ))
    }

    /// Takes an existing folder, unless a living process holds it.
    pub fn try_hold(path: PathBuf) -> io::Result<Option<Self>> {
        let lock = private::open_or_make_file(&path.join(LOCK_FILE))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Self { replica: replica_of(&path), path, _lock: lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The name of the writer.
    pub fn replica(&self) -> &Arc<str> {
        &self.replica
    }
}

/// The name of the writer of the folder at `path`.
pub fn replica_of(path: &Path) -> Arc<str> {
    path.file_name().map_or_else(|| Arc::from(""), |name| Arc::from(name.to_string_lossy()))
}

/// The file of segment `number` in `folder`.
pub fn segment_path(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:010}.{SEGMENT_EXTENSION}"))
}

/// The segments in `folder`, oldest first. Files with other names are left alone.
pub fn segments(folder: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == SEGMENT_EXTENSION)
            && let Some(number) = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok())
        {
            found.push((number, path));
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// The folders of all writers under `root`, living or not, by name.
pub fn folders(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.join(LOCK_FILE).is_file() {
            found.push(path);
        }
    }
    found.sort_unstable();
    Ok(found)
}
