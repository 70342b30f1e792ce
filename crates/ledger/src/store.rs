//! The index over the journal: SQLite, filled behind the hot path, made for the questions people ask.
//!
//! The difficulty is that any filter must find its last page fast among ten million rows, the rare ones too. Caller,
//! server, tool, kind and status together are a *series*, and every call belongs to one. A filter is first answered
//! on the small table of series; then only calls of those series are looked at, newest first. Sums by day and month
//! are kept per series, so that statistics never touch the calls, which are packed into [`block`]s. Bodies stay in the
//! journal: a call says where.

mod batch;
mod block;
mod block_table;
mod carried;
mod conversion;
mod page;
mod pool;
mod removal;
mod schema;
mod shipper;
mod statistics;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use rusqlite::Connection;
use serde::Serialize;

use crate::journal::Position;
use crate::record::{Kind, Status};

pub use batch::{KnownIds, Shipped, ship_folder};
pub use carried::CarriedUse;
pub use page::MAXIMUM_PAGE;
pub use shipper::{Shipper, ShipperSettings};
pub use statistics::{GroupBy, StatisticsRow, Sums};

use pool::Pool;

/// The name of the index in the root of a ledger.
pub const INDEX_FILE: &str = "index.sqlite";

/// The index, for questions. Cheap to clone; may be asked from many threads.
#[derive(Debug, Clone)]
pub struct Store {
    pool: Arc<Pool>,
}

/// Sums by caller, and the position each writer's journal is counted up to.
pub type MonthWithPositions = (Vec<(String, Sums)>, HashMap<String, Position>);

/// Why the index could not be read or filled.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite failed.
    #[error("the ledger's index {}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] crate::journal::ReadError),
}

/// Which calls are asked for. What is not given does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Who asked.
    pub caller: Option<String>,
    /// The server.
    pub server: Option<String>,
    /// The tool, resource or prompt as clients name it.
    pub tool: Option<String>,
    /// What was asked for.
    pub kind: Option<Kind>,
    /// How it ended.
    pub status: Option<Status>,
    /// Not before this moment, in microseconds since 1970.
    pub from_us: Option<i64>,
    /// Before this moment, in microseconds since 1970.
    pub until_us: Option<i64>,
}

/// One call as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct IndexRow {
    /// The writer.
    pub replica: String,
    /// Its number there.
    pub sequence: u64,
    /// When, in microseconds since 1970.
    pub time_us: i64,
    /// Who asked.
    pub caller: String,
    /// The server.
    pub server: String,
    /// The tool, resource or prompt as clients name it.
    pub tool: String,
    /// What was asked for.
    pub kind: Kind,
    /// How it ended.
    pub status: Status,
    /// The JSON-RPC error code, if it ended with one.
    pub error_code: Option<i32>,
    /// How long it took.
    pub duration_us: u64,
    /// The size of the arguments.
    pub arguments_size: u64,
    /// The size of the result.
    pub result_size: u64,
    /// The price taken, in millionths.
    pub price_settled: u64,
    /// Where the whole record lies in the journal.
    pub position: Position,
}

/// The place between two rows of a list that is sorted by time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cursor {
    time_us: i64,
    id: i64,
}

/// A page of calls, newest first.
#[derive(Debug, Clone)]
pub struct Page {
    /// The calls.
    pub rows: Vec<IndexRow>,
    /// Where the next older page begins, if there may be one.
    pub next: Option<Cursor>,
}

impl Store {
    /// Opens the index below `root`, making it if there is none.
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        let pool = Pool::new(root.join(INDEX_FILE));
        let store = Self { pool: Arc::new(pool) };
        store.pool.with(schema::create)?;
        Ok(store)
    }

    /// Where the index is.
    pub fn path(&self) -> &Path {
        self.pool.path()
    }

    /// A connection of one's own, for filling the index.
    pub fn connect(&self) -> Result<Connection, StoreError> {
        self.pool.connect()
    }

    /// The sums of a month by caller, and up to where in each writer's journal they reach, as of one moment.
    pub fn month_with_positions(&self, month: i32) -> Result<MonthWithPositions, StoreError> {
        self.pool.with(|connection| {
            let transaction = connection.transaction()?;
            let sums = statistics::month_of_all_callers(&transaction, month)?;
            let mut statement = transaction.prepare_cached("SELECT name, segment, offset FROM replica")?;
            let positions = statement.query_map([], |row| {
                Ok((row.get(0)?, Position { segment: row.get(1)?, offset: row.get(2)? }))
            })?;
            let positions = positions.collect::<Result<_, _>>()?;
            Ok((sums, positions))
        })
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}.{}", self.time_us, self.id)
    }
}

/// Text that is no cursor.
#[derive(Debug, thiserror::Error)]
#[error("{0:?} is not a cursor; give back the one from the page before")]
pub struct CursorError(String);

impl FromStr for Cursor {
    type Err = CursorError;

    fn from_str(text: &str) -> Result<Self, CursorError> {
        let parse = |text: &str| {
            let (time_us, id) = text.split_once('.')?;
            Some(Self { time_us: time_us.parse().ok()?, id: id.parse().ok()? })
        };
        parse(text).ok_or_else(|| CursorError(text.to_owned()))
    }
}
