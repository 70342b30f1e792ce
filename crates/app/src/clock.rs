//! The time as keys, tokens and approvals count it.

use std::time::SystemTime;

/// Now, in seconds since 1970.
pub(crate) fn seconds_since_1970() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}
