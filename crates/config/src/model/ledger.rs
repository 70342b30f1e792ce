//! Section `ledger`: the record of every call.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Secret;
use crate::byte_size::{self, ByteSizeText};
use crate::duration::{self, DurationText};

/// The record of every call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LedgerConfig {
    /// Keep a record at all.
    pub enabled: bool,
    /// Folder of the journal. Without it, `ledger` in the state folder.
    pub dir: Option<PathBuf>,
    /// When records are forced to the disk. They are written before the answer leaves in any case.
    pub fsync: Fsync,
    /// Time between two forced writes with `fsync: interval`.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub fsync_interval: Duration,
    /// Arguments and results are kept up to this size each; the rest is cut and marked.
    #[serde(with = "byte_size::plain")]
    #[schemars(with = "ByteSizeText")]
    pub max_body_bytes: usize,
    /// What is replaced before anything is written.
    pub redact: Vec<Redaction>,
    /// How long records stay.
    pub retention: Retention,
    /// What happens to calls when the journal cannot be written.
    pub on_failure: OnLedgerFailure,
    /// Address that is told when the journal cannot be written.
    pub alert_webhook: Option<Secret>,
}

impl Default for LedgerConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            dir: None,
            fsync: Fsync::Interval,
            fsync_interval: Duration::from_millis(200),
            max_body_bytes: 64 << 10,
            redact: Vec::new(),
            retention: Retention::default(),
            on_failure: OnLedgerFailure::Deny,
            alert_webhook: None,
        }
    }
}

/// When records are forced to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fsync {
    /// In groups. A crash of the process loses nothing, a power cut at most one interval.
    Interval,
    /// Before every answer. A power cut loses nothing.
    Always,
}

/// What is replaced before anything is written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Redaction {
    /// Places in arguments and results, such as `/user/password`.
    pub paths: Vec<String>,
    /// Patterns of key names, at any depth, without regard to case.
    pub keys: Vec<String>,
    /// What is put there instead, for whichever rule: all that name a text must name the same.
    pub replace: String,
}

impl Default for Redaction {
    fn default() -> Self {
        Self { paths: Vec::new(), keys: Vec::new(), replace: "[redacted]".into() }
    }
}

/// How long records stay. Whichever limit is reached first counts; without any they stay for good.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// Records older than this go.
    #[serde(with = "duration::optional")]
    #[schemars(with = "Option<DurationText>")]
    pub age: Option<Duration>,
    /// The oldest go when the journal is larger than this.
    #[serde(with = "byte_size::optional")]
    #[schemars(with = "Option<ByteSizeText>")]
    pub size: Option<usize>,
}

/// What happens to calls when the journal cannot be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnLedgerFailure {
    /// They are refused: no call without a record.
    Deny,
    /// They go on, and the failure is reported.
    Continue,
}
