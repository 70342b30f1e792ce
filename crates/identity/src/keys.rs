//! API keys: long random words that we know only by their hash.

mod file;
mod secret;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

pub use self::file::{KeyFile, KeyFileError, NewKey};
pub use self::secret::ApiKey;

use crate::caller::{Caller, How};
use crate::denied::Reason;

/// What is stored about a key: everything but the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// A short name for lists and for revoking.
    pub id: String,
    /// The caller that the key stands for.
    pub caller: String,
    /// The groups of that caller.
    #[serde(default)]
    pub groups: Vec<String>,
    /// The SHA-256 of the key, in hexadecimal digits.
    pub sha256: String,
    /// The last four characters of the key, to tell keys apart.
    pub last_four: String,
    /// When the key was made, in seconds since 1970.
    pub created: u64,
    /// When the key ends by itself.
    #[serde(default)]
    pub expires: Option<u64>,
    /// When the key was revoked.
    #[serde(default)]
    pub revoked: Option<u64>,
}

impl KeyRecord {
    /// Whether the key opens anything at this time, in seconds since 1970.
    pub fn is_valid_at(&self, now: u64) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|end| now < end)
    }
}

/// All keys, ready to be looked up.
#[derive(Debug, Default)]
pub struct Keys {
    by_hash: HashMap<[u8; 32], Known>,
    callers: HashSet<Arc<str>>,
}

#[derive(Debug)]
struct Known {
    hash: [u8; 32],
    caller: Caller,
    expires: Option<u64>,
    revoked: bool,
}

impl Keys {
    /// Makes records ready. A record whose hash cannot be read can never match and is left out.
    pub fn new(records: &[KeyRecord]) -> Keys {
        let by_hash: HashMap<_, _> =
            records.iter().filter_map(Known::from_record).map(|known| (known.hash, known)).collect();
        let callers = by_hash.values().map(|known| Arc::clone(&known.caller.id)).collect();
        Keys { by_hash, callers }
    }

    /// How many keys there are, with those that are revoked or over.
    pub fn len(&self) -> usize {
        self.by_hash.len()
    }

    /// Whether there is no key at all.
    pub fn is_empty(&self) -> bool {
        self.by_hash.is_empty()
    }

    /// Whether any key, even a revoked one, stands for the caller.
    pub fn has_caller(&self, caller: &str) -> bool {
        self.callers.contains(caller)
    }

    /// Who holds this key? One hash and one look-up, however many keys there are. What the time it takes could tell is the hash of a
    /// guess, which its author knows already; the last comparison takes the same time for every hash all the same.
    pub(crate) fn look_up(&self, presented: &[u8], now: u64) -> Result<Caller, Reason> {
        let hash = sha256(presented);
        let known = self.by_hash.get(&hash).filter(|known| equal_in_constant_time(&known.hash, &hash));
        match known {
            None => Err(Reason::UnknownKey),
            Some(known) if known.revoked => Err(Reason::RevokedKey),
            Some(known) if known.expires.is_some_and(|end| now >= end) => Err(Reason::ExpiredKey),
            Some(known) => Ok(known.caller.clone()),
        }
    }
}

impl Known {
    fn from_record(record: &KeyRecord) -> Option<Known> {
        let groups: Vec<Arc<str>> = record.groups.iter().map(|group| group.as_str().into()).collect();
        let caller = Caller {
            id: record.caller.as_str().into(),
            groups: Arc::default(),
            how: How::ApiKey(record.id.as_str().into()),
            valid_until: record.expires,
        };
        Some(Known {
            hash: from_hexadecimal(&record.sha256)?,
            caller: caller.in_groups(&groups),
            expires: record.expires,
            revoked: record.revoked.is_some(),
        })
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

fn to_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hexadecimal(text: &str) -> Option<[u8; 32]> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (place, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some(hash)
}

fn equal_in_constant_time(left: &[u8; 32], right: &[u8; 32]) -> bool {
    std::hint::black_box(left.iter().zip(right).fold(0, |difference, (a, b)| difference | (a ^ b))) == 0
}

#[cfg(test)]
mod tests;
