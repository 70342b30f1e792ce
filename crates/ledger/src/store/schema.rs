//! The tables of the index.

use rusqlite::Connection;

/// A row's id is its writer's id above these bits and its sequence in them: exactly once by primary key, and no
/// index of its own.
pub(super) const SEQUENCE_BITS: u32 = 40;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS replica (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    segment INTEGER NOT NULL,
    offset INTEGER NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS name (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE IF NOT EXISTS series (
    id INTEGER PRIMARY KEY,
    caller INTEGER NOT NULL,
    server INTEGER NOT NULL,
    tool INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    UNIQUE (caller, server, tool, kind, status)
) STRICT;
CREATE INDEX IF NOT EXISTS series_by_server ON series (server, status);
CREATE INDEX IF NOT EXISTS series_by_tool ON series (tool, status);
CREATE TABLE IF NOT EXISTS call (
    id INTEGER PRIMARY KEY,
    series INTEGER NOT NULL,
    time_us INTEGER NOT NULL,
    error_code INTEGER,
    duration_us INTEGER NOT NULL,
    arguments_size INTEGER NOT NULL,
    result_size INTEGER NOT NULL,
    price_settled INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    offset INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS call_by_time ON call (time_us);
CREATE INDEX IF NOT EXISTS call_by_series ON call (series, time_us);
CREATE TABLE IF NOT EXISTS day_sum (
    series INTEGER NOT NULL,
    day INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    duration_us INTEGER NOT NULL,
    arguments_bytes INTEGER NOT NULL,
    result_bytes INTEGER NOT NULL,
    price_settled INTEGER NOT NULL,
    PRIMARY KEY (series, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS month_sum (
    series INTEGER NOT NULL,
    month INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    duration_us INTEGER NOT NULL,
    arguments_bytes INTEGER NOT NULL,
    result_bytes INTEGER NOT NULL,
    price_settled INTEGER NOT NULL,
    PRIMARY KEY (series, month)
) STRICT, WITHOUT ROWID;
";

/// Makes the tables that are missing.
pub(super) fn create(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(SCHEMA)
}

/// The id of a row.
pub(super) fn row_id(replica: i64, sequence: u64) -> i64 {
    (replica << SEQUENCE_BITS) | sequence as i64 & ((1 << SEQUENCE_BITS) - 1)
}
