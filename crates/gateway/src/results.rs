//! Results that were too long to pass on, kept whole for a while for the callers who got their beginnings.
//!
//! Each lies in a file of its own, in a folder that no other process uses and no other user can look into. What is kept
//! is bounded three times: in bytes, in number and in time; the oldest go first. A file ends with its entry, and entries
//! end with the process; what a killed one left is deleted by the next.

mod address;
mod folder;

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use address::{Address, Range, RangeError};
use folder::Folder;

use crate::router::Target;
use crate::seal::{Seal, SealError};

/// The scheme of the addresses under which results are read.
pub const SCHEME: &str = "result://";
/// The template of these addresses.
pub const TEMPLATE: &str = "result://{id}{?offset,length}";

/// How much is kept, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// All results together, in bytes.
    pub max_bytes: u64,
    /// How many results.
    pub max_count: usize,
    /// After this time a result is deleted.
    pub keep_for: Duration,
}

/// What is to be kept.
#[derive(Debug)]
pub struct Whole {
    /// The text, or the JSON of the result where there is more to it than text.
    pub content: String,
    /// What kind of text it is.
    pub media: &'static str,
}

/// All results that are kept.
#[derive(Debug)]
pub struct Results {
    folder: Option<Folder>,
    limits: Limits,
    shelf: Mutex<Shelf>,
}

/// One result. Its file is deleted with it.
#[derive(Debug)]
pub struct Kept {
    id: Box<str>,
    path: PathBuf,
    size: u64,
    media: &'static str,
    /// Who may read it.
    owner: Arc<str>,
    /// The tool that gave it.
    tool: Target,
    until: Instant,
}

/// A part of a result, as it is read.
#[derive(Debug, PartialEq, Eq)]
pub struct Part {
    /// The text, from character to character.
    pub text: String,
    /// Where it begins.
    pub offset: u64,
    /// Where the next part begins.
    pub end: u64,
}

/// Why a result is not kept.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("there is no state folder to keep results in; name one with state_dir")]
    NoFolder,
    #[error("it has {size} bytes, and results.max_bytes is {limit}")]
    TooLarge { size: u64, limit: u64 },
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
}

#[derive(Debug, Default)]
struct Shelf {
    by_id: HashMap<Box<str>, Arc<Kept>>,
    /// The oldest first. All are kept equally long, so this is also the order in which they expire.
    order: VecDeque<Box<str>>,
    /// Of all that is kept or being written.
    bytes: u64,
}

impl Results {
    /// Keeps results under a state folder, or none without one. Deletes what earlier processes left there.
    pub fn under(state_dir: Option<&Path>, limits: Limits) -> Results {
        let folder = state_dir.and_then(|state_dir| match Folder::claim(&state_dir.join("results")) {
            Ok(folder) => Some(folder),
            Err(error) => {
                tracing::warn!(%error, "long results cannot be kept and are only cut");
                None
            }
        });
        Results { folder, limits, shelf: Mutex::default() }
    }

    /// How long a result is kept.
    pub fn keep_for(&self) -> Duration {
        self.limits.keep_for
    }

    /// Keeps a result for its owner. Waits for the disk.
    pub fn keep(
        &self,
        seal: &Seal,
        owner: &Arc<str>,
        tool: &Target,
        whole: &Whole,
    ) -> Result<Arc<Kept>, KeepError> {
        let folder = self.folder.as_ref().ok_or(KeepError::NoFolder)?;
        let size = whole.content.len() as u64;
        if size > self.limits.max_bytes || self.limits.max_count == 0 {
            return Err(KeepError::TooLarge { size, limit: self.limits.max_bytes });
        }
        // Nobody can guess it; the owner is asked for all the same.
        let id = format!("{:016x}{:016x}", seal.random_number()?, seal.random_number()?).into_boxed_str();
        let path = folder.path().join(&*id);
        self.reserve(size);
        if let Err(cause) = write(&path, whole.content.as_bytes()) {
            self.lock().bytes -= size;
            drop(fs::remove_file(&path));
            return Err(KeepError::Io { path, cause });
        }
        let kept = Arc::new(Kept {
            id,
            path,
            size,
            media: whole.media,
            owner: Arc::clone(owner),
            tool: tool.clone(),
            until: Instant::now() + self.limits.keep_for,
        });
        let mut shelf = self.lock();
        shelf.order.push_back(kept.id.clone());
        shelf.by_id.insert(kept.id.clone(), Arc::clone(&kept));
        Ok(kept)
    }

    /// The result with this id, for the caller who owns it.
    pub fn find(&self, id: &str, caller: &str) -> Option<Arc<Kept>> {
        let kept = self.lock().by_id.get(id).cloned()?;
        (*kept.owner == *caller && kept.until > Instant::now()).then_some(kept)
    }

    /// Deletes the results whose time is over.
    pub fn sweep(&self) {
        let now = Instant::now();
        let mut shelf = self.lock();
        let mut gone = Vec::new();
        while shelf.oldest().is_some_and(|oldest| oldest.until <= now) {
            gone.extend(shelf.take_oldest());
        }
        drop(shelf);
        // Files are deleted here, where nobody waits for the lock.
        drop(gone);
    }

    /// Counts a new result in, and makes room for it.
    fn reserve(&self, size: u64) {
        let mut shelf = self.lock();
        let mut gone = Vec::new();
        while shelf.by_id.len() >= self.limits.max_count || shelf.bytes + size > self.limits.max_bytes {
            let Some(oldest) = shelf.take_oldest() else { break };
            gone.push(oldest);
        }
        shelf.bytes += size;
        drop(shelf);
        drop(gone);
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    fn oldest(&self) -> Option<&Arc<Kept>> {
        self.by_id.get(self.order.front()?)
    }

    fn take_oldest(&mut self) -> Option<Arc<Kept>> {
        let kept = self.by_id.remove(&self.order.pop_front()?)?;
        self.bytes -= kept.size;
        Some(kept)
    }
}

impl Kept {
    /// The address under which all of it is read.
    pub fn uri(&self) -> String {
        format!("{SCHEME}{}", self.id)
    }

    /// How many bytes it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// What kind of text it is.
    pub fn media(&self) -> &'static str {
        self.media
    }

    /// The tool that gave it.
    pub fn tool(&self) -> &Target {
        &self.tool
    }

    /// Reads a part, from the first whole character in `range` to the last. Waits for the disk.
    pub fn read(&self, range: Range) -> io::Result<Part> {
        let wanted = range.length.min(self.size.saturating_sub(range.offset));
        let mut bytes = vec![0; usize::try_from(wanted).unwrap_or_default()];
        File::open(&self.path)?.read_exact_at(&mut bytes, range.offset)?;
        // An offset inside of a character: its rest belongs to the part before.
        let torn = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
        let whole = bytes.get(torn..).unwrap_or_default();
        let valid = match std::str::from_utf8(whole) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(whole.get(..error.valid_up_to()).unwrap_or_default())
                .map_err(io::Error::other)?,
        };
        let offset = range.offset + torn as u64;
        Ok(Part { text: valid.to_owned(), offset, end: offset + valid.len() as u64 })
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a kept result could not be deleted");
        }
    }
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(content)
}

#[cfg(test)]
mod tests;
