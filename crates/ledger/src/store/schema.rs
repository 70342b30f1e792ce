//! The tables of the index.

use rusqlite::Connection;

use super::conversion;
use super::pool::writing;

/// A call's id is its writer's id above these bits and its sequence in them. A block has the id of its first call.
const SEQUENCE_BITS: u32 = 40;

/// The version of the tables, as `user_version` has it. The first had a row for each call and no number, the second no
/// sums of segments that are gone.
const VERSION: i64 = 3;

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
CREATE TABLE IF NOT EXISTS block (
    id INTEGER PRIMARY KEY,
    calls INTEGER NOT NULL,
    first_us INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    entries BLOB NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS block_by_time ON block (last_us, first_us);
CREATE TABLE IF NOT EXISTS series_block (
    series INTEGER NOT NULL,
    last_us INTEGER NOT NULL,
    block INTEGER NOT NULL,
    first_us INTEGER NOT NULL,
    PRIMARY KEY (series, last_us, block)
) STRICT, WITHOUT ROWID;
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
CREATE TABLE IF NOT EXISTS carried (
    replica TEXT NOT NULL,
    segment INTEGER NOT NULL,
    time_us INTEGER NOT NULL,
    caller TEXT NOT NULL,
    groups TEXT NOT NULL,
    kind INTEGER NOT NULL,
    server TEXT NOT NULL,
    exposed TEXT NOT NULL,
    native TEXT NOT NULL,
    uses INTEGER NOT NULL,
    charged INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS carried_by_segment ON carried (replica, segment);
";

/// Makes the tables that are missing, and brings those of an older version up to date.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
    let version = |connection: &Connection| {
        connection.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0))
    };
    if version(connection)? >= VERSION {
        return Ok(());
    }
    let transaction = writing(connection)?;
    // Another process may have been faster.
    if version(&transaction)? < VERSION {
        transaction.execute_batch(SCHEMA)?;
        conversion::pack_rows(&transaction)?;
        transaction.pragma_update(None, "user_version", VERSION)?;
    }
    transaction.commit()
}

/// The id of a call.
pub(super) fn row_id(replica: i64, sequence: u64) -> i64 {
    (replica << SEQUENCE_BITS) | sequence as i64 & ((1 << SEQUENCE_BITS) - 1)
}

/// The writer in the id of a call.
pub(super) fn replica_of(id: i64) -> i64 {
    id >> SEQUENCE_BITS
}

/// The sequence in the id of a call.
pub(super) fn sequence_of(id: i64) -> u64 {
    id.unsigned_abs() & ((1 << SEQUENCE_BITS) - 1)
}
