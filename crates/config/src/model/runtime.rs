//! Sections `runtime` and `log`: limits and habits of the whole process.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::duration::{self, DurationText};

/// Limits and habits of the whole process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RuntimeConfig {
    /// Client sessions at one time; more are refused.
    pub max_sessions: usize,
    /// Calls under way at one time, over all servers; more wait, those of different callers in turn.
    pub max_concurrency: usize,
    /// Child processes at one time. Where there are as many, a further one waits for as long as it may take to start, and is
    /// down with that reason if none has ended by then.
    pub max_children: usize,
    /// Child processes that may start up at the same moment.
    pub max_cold_starts: usize,
    /// Call timeout of servers that state none.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub call_timeout: Duration,
    /// A call that takes longer gets progress notifications from us.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub progress_after: Duration,
    /// How long the lists of a server are trusted that announces no changes of them. With `0s` they are fetched again only
    /// when it is connected again.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub tools_cache_ttl: Duration,
    /// How often servers are asked whether they are well. One that does not answer is degraded, and connected or started
    /// anew if it stays silent for its `connect_timeout`, or with calls under way for the longest time they may take. With
    /// `0s` none is asked.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub health_check_interval: Duration,
    /// At the end, calls under way get this long to finish.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub shutdown_grace: Duration,
    /// Reload when a configuration file changes.
    pub auto_reload: bool,
}

impl Default for RuntimeConfig {
    fn default() -> Self {
        Self {
            max_sessions: 10_000,
            max_concurrency: 4_096,
            max_children: 256,
            max_cold_starts: 8,
            call_timeout: Duration::from_secs(300),
            progress_after: Duration::from_secs(30),
            tools_cache_ttl: Duration::from_secs(300),
            health_check_interval: Duration::from_secs(30),
            shutdown_grace: Duration::from_secs(4),
            auto_reload: true,
        }
    }
}

/// What is logged, and how. Logs always go to standard error.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogConfig {
    /// The least important level that is written.
    pub level: LogLevel,
    /// One JSON object a line, or text for people.
    pub format: LogFormat,
}

/// The least important level that is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Failures only.
    Error,
    /// And what may become one.
    Warn,
    /// And what happens.
    #[default]
    Info,
    /// And how.
    Debug,
    /// Everything.
    Trace,
}

/// The shape of a log line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// One JSON object a line.
    #[default]
    Json,
    /// Text for people.
    Text,
}
