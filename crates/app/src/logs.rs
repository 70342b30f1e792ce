//! The log: on standard error, never on standard output.

use toolgate_config::{LogConfig, LogFormat, LogLevel};
use tracing_subscriber::filter::LevelFilter;

/// Begins to log.
pub(crate) fn begin(config: &LogConfig) {
    let level = match config.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let log = tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).with_target(false);
    // A second call, in a test, leaves the first one in place.
    let _ = match config.format {
        LogFormat::Json => log.json().flatten_event(true).with_current_span(false).try_init(),
        LogFormat::Text => log.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
    };
}
