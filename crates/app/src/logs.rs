//! The log: on standard error, never on standard output.

use std::sync::OnceLock;

use toolgate_config::{LogConfig, LogFormat, LogLevel};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, reload};

use crate::alerts;

/// The level of the log of this process, so that a reload can change it.
static LEVEL: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();

/// Begins to log.
pub(crate) fn begin(config: &LogConfig) {
    let (level, handle) = reload::Layer::new(filter(config.level));
    let lines = fmt::layer().with_writer(std::io::stderr).with_target(false);
    let lines = match config.format {
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).boxed(),
    };
    // A second call, in a test, leaves the first one in place.
    if tracing_subscriber::registry().with(level).with(lines).with(alerts::layer()).try_init().is_ok() {
        let _ = LEVEL.set(handle);
    }
}

/// Logs for a command that prints its result: only what goes wrong, for people, unless a flag asks for more.
pub(crate) fn begin_quietly(asked: Option<&str>, config: &LogConfig) {
    let level = if asked.is_some() { config.level } else { LogLevel::Error };
    begin(&LogConfig { level, format: LogFormat::Text });
}

/// Logs from this level on.
pub(crate) fn set_level(level: LogLevel) {
    if let Some(handle) = LEVEL.get()
        && let Err(error) = handle.modify(|current| *current = filter(level))
    {
        tracing::warn!(%error, "the level of the log cannot be changed");
    }
}

fn filter(level: LogLevel) -> LevelFilter {
    match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    }
}
