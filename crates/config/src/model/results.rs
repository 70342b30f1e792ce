//! Section `results`: long results that are kept for their callers.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::byte_size::{self, ByteSizeText};
use crate::duration::{self, DurationText};

/// Long results that are kept for their callers, of servers with `long_output: spill`. They lie in `results` in the state
/// folder; the oldest make room for new ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResultsConfig {
    /// All of them together. A result that is larger alone is only cut.
    #[serde(with = "byte_size::plain")]
    #[schemars(with = "ByteSizeText")]
    pub max_bytes: usize,
    /// How many there are at one time.
    pub max_count: usize,
    /// How long each can be read.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub keep_for: Duration,
}

impl Default for ResultsConfig {
    fn default() -> Self {
        Self { max_bytes: 256 << 20, max_count: 1_000, keep_for: Duration::from_secs(3_600) }
    }
}
