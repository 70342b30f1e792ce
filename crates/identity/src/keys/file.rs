//! The file of keys: read by the gateway, changed by the command line, possibly at the same time. A change takes a lock beside the
//! file and replaces the file as a whole, so a reader sees the old state or the new one and a crash loses neither.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::secret::ApiKey;
use super::{KeyRecord, Keys, sha256, to_hexadecimal};
use crate::caller::is_name;

/// The largest file that is read, in bytes.
const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// The most keys that one file may hold.
const MAX_KEYS: usize = 50_000;

/// Something is wrong with the file of keys.
#[derive(Debug, Error)]
pub enum KeyFileError {
    /// The file cannot be read or written.
    #[error("{what} {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The content is not a list of keys.
    #[error("{path} is not a file of keys: {reason}; restore it, or move it away and make new keys", path = path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        reason: String,
    },
    /// Others could put their own keys into it.
    #[error("{path} can be changed by other users of this machine; run `chmod 600` on it", path = path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// There are too many keys.
    #[error("there are {MAX_KEYS} keys already; revoke some and remove them from the file")]
    Full,
    /// The name of a caller cannot be used.
    #[error("`{0}` cannot be the name of a caller: use at most 128 letters, digits and . _ : @ / + -")]
    BadCaller(String),
    /// No such key.
    #[error("there is no key with the id `{0}`; list the keys to see their ids")]
    NoSuchKey(String),
    /// The system gave no random numbers.
    #[error("the system gave no random numbers, so no key could be made; try again")]
    NoRandomness,
}

/// What a new key is for.
#[derive(Clone, Debug, Default)]
pub struct NewKey {
    /// The caller it stands for.
    pub caller: String,
    /// The groups of that caller.
    pub groups: Vec<String>,
    /// When it ends by itself, in seconds since 1970.
    pub expires: Option<u64>,
}

/// A file of keys at a place.
#[derive(Clone, Debug)]
pub struct KeyFile {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    keys: Vec<KeyRecord>,
}

impl KeyFile {
    /// The file at `path`, which need not exist yet.
    pub fn at(path: impl Into<PathBuf>) -> KeyFile {
        KeyFile { path: path.into() }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the keys for looking them up. A file that does not exist has none.
    pub fn load(&self) -> Result<Keys, KeyFileError> {
        Ok(Keys::new(&self.list()?))
    }

    /// All keys, the oldest first.
    pub fn list(&self) -> Result<Vec<KeyRecord>, KeyFileError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(problem) => return Err(self.failed("cannot open", problem)),
        };
        let metadata = file.metadata().map_err(|problem| self.failed("cannot look at", problem))?;
        if can_be_changed_by_others(&metadata) {
            return Err(KeyFileError::Exposed { path: self.path.clone() });
        }
        let mut bytes = Vec::new();
        let read = Read::by_ref(&mut file).take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes);
        read.map_err(|problem| self.failed("cannot read", problem))?;
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Err(self.not_keys(format!("it is larger than {MAX_FILE_BYTES} bytes")));
        }
        let content: Content =
            serde_json::from_slice(&bytes).map_err(|problem| self.not_keys(problem.to_string()))?;
        Ok(content.keys)
    }

    /// Makes a key and stores its hash. The key is returned once and is nowhere else.
    pub fn create(&self, new: NewKey, now: u64) -> Result<(ApiKey, KeyRecord), KeyFileError> {
        if !is_name(new.caller.as_bytes()) {
            return Err(KeyFileError::BadCaller(new.caller));
        }
        let key = ApiKey::generate().ok_or(KeyFileError::NoRandomness)?;
        let sha256 = to_hexadecimal(&sha256(key.reveal().as_bytes()));
        let record = KeyRecord {
            // Enough of the hash to be unique; it says nothing about the key.
            id: sha256.get(..12).unwrap_or_default().to_owned(),
            caller: new.caller,
            groups: new.groups,
            sha256,
            last_four: key.last_four().to_owned(),
            created: now,
            expires: new.expires,
            revoked: None,
        };
        self.change(|keys| {
            if keys.len() >= MAX_KEYS {
                return Err(KeyFileError::Full);
            }
            keys.push(record.clone());
            Ok(())
        })?;
        Ok((key, record))
    }

    /// Revokes a key. One that is revoked already keeps its first date.
    pub fn revoke(&self, id: &str, now: u64) -> Result<KeyRecord, KeyFileError> {
        self.change(|keys| {
            let record = keys.iter_mut().find(|record| record.id == id);
            let record = record.ok_or_else(|| KeyFileError::NoSuchKey(id.to_owned()))?;
            record.revoked.get_or_insert(now);
            Ok(record.clone())
        })
    }

    fn change<T>(
        &self,
        edit: impl FnOnce(&mut Vec<KeyRecord>) -> Result<T, KeyFileError>,
    ) -> Result<T, KeyFileError> {
        let lock_path = self.beside("lock");
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true)).open(&lock_path);
        let lock = lock.map_err(|problem| self.failed("cannot make the lock beside", problem))?;
        // Released when the file is closed, even by a crash.
        lock.lock().map_err(|problem| self.failed("cannot lock", problem))?;
        let mut keys = self.list()?;
        let outcome = edit(&mut keys)?;
        self.replace(&Content { keys }).map_err(|problem| self.failed("cannot write", problem))?;
        Ok(outcome)
    }

    fn replace(&self, content: &Content) -> io::Result<()> {
        let new_path = self.beside("new");
        let mut new = private(OpenOptions::new().create(true).truncate(true).write(true)).open(&new_path)?;
        let mut bytes = serde_json::to_vec_pretty(content)?;
        bytes.push(b'\n');
        new.write_all(&bytes)?;
        new.sync_all()?;
        fs::rename(&new_path, &self.path)?;
        // Without this the rename itself could be lost with the power.
        if let Some(directory) = self.path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
            File::open(directory)?.sync_all()?;
        }
        Ok(())
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(ending);
        name.into()
    }

    fn failed(&self, what: &'static str, source: io::Error) -> KeyFileError {
        KeyFileError::Io { what, path: self.path.clone(), source }
    }

    fn not_keys(&self, reason: String) -> KeyFileError {
        KeyFileError::Content { path: self.path.clone(), reason }
    }
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    options.mode(0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &OpenOptions {
    options
}

#[cfg(unix)]
fn can_be_changed_by_others(metadata: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o022 != 0
}

#[cfg(not(unix))]
fn can_be_changed_by_others(_: &fs::Metadata) -> bool {
    false
}
