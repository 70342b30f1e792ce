//! What may go: whole segments, by age and by size, oldest first.
//!
//! A segment goes only after all of it is in the index, so its calls stay in the sums of their days and months. The
//! last segment never goes. Index rows go before their segment, so that an interruption leaves no row behind that
//! leads nowhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;

use crate::journal::ReadError;
use crate::journal::folder::{replica_of, segments};
use crate::journal::reader::SegmentReader;
use crate::store::{ShipperSettings, Store, StoreError};

/// No window of a quota is longer: a month, in any time zone.
pub const LONGEST_WINDOW: Duration = Duration::from_secs(33 * 86_400);

/// How long and how much is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Segments whose records are all older than this go.
    pub maximum_age: Option<Duration>,
    /// While the journal of a writer is larger than this, its oldest segment goes.
    pub maximum_bytes: Option<u64>,
    /// Sums by day older than this go.
    pub maximum_age_of_day_sums: Duration,
    /// Sums by month older than this go.
    pub maximum_age_of_month_sums: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(86_400);
        Self {
            maximum_age: Some(DAY * 90),
            maximum_bytes: None,
            maximum_age_of_day_sums: DAY * 400,
            maximum_age_of_month_sums: DAY * 365 * 5,
        }
    }
}

/// Removes what may go from one folder and from the index. Says how many segments went.
pub fn prune(
    connection: &Connection,
    store: &Store,
    folder: &Path,
    settings: &ShipperSettings,
    now_us: i64,
) -> Result<usize, StoreError> {
    let retention = &settings.retention;
    let mut segments = closed_segments(folder)?;
    let mut kept_bytes: u64 = segments.iter().map(|segment| segment.bytes).sum();
    let replica = replica_of(folder);
    let shipped = store.shipped_segment(connection, &replica)?;
    segments.retain(|segment| {
        let is_old = retention.maximum_age.is_some_and(|age| segment.last_us < before(now_us, age));
        let is_too_much = retention.maximum_bytes.is_some_and(|bytes| kept_bytes > bytes);
        let goes = (is_old || is_too_much) && segment.number < shipped;
        if goes {
            kept_bytes -= segment.bytes;
        }
        goes
    });
    let counted_since = before(now_us, LONGEST_WINDOW);
    for segment in &segments {
        if segment.last_us >= counted_since {
            // Counters are counted from the journal again, and their windows may still be open.
            store.carry(connection, folder, &replica, segment.number, counted_since)?;
        }
        store.remove_calls(connection, &replica, segment.first_sequence, segment.next_sequence)?;
        fs::remove_file(&segment.path).map_err(ReadError::io(&segment.path))?;
    }
    store.remove_carried(connection, counted_since)?;
    let oldest_day = settings.calendar.day_of(before(now_us, retention.maximum_age_of_day_sums));
    let oldest_month = settings.calendar.day_of(before(now_us, retention.maximum_age_of_month_sums)).month();
    let removed = store.remove_sums(connection, oldest_day.0, oldest_month)?;
    if removed > 0 || !segments.is_empty() {
        store.remove_unused_names(connection)?;
    }
    Ok(segments.len())
}

/// A segment that has a successor.
struct ClosedSegment {
    number: u64,
    path: PathBuf,
    bytes: u64,
    first_sequence: u64,
    next_sequence: u64,
    /// No record in it is newer: the next segment was begun after all of them.
    last_us: i64,
}

/// The closed segments, oldest first. One that cannot be read is evidence and stays.
fn closed_segments(folder: &Path) -> Result<Vec<ClosedSegment>, ReadError> {
    let known = segments(folder).map_err(ReadError::io(folder))?;
    let mut closed = Vec::new();
    for ((number, path), (_, next)) in known.iter().zip(known.iter().skip(1)) {
        let (Ok(this), Ok(next)) = (SegmentReader::open(path), SegmentReader::open(next)) else { continue };
        closed.push(ClosedSegment {
            number: *number,
            path: path.clone(),
            bytes: fs::metadata(path).map_err(ReadError::io(path))?.len(),
            first_sequence: this.header().first_sequence,
            next_sequence: next.header().first_sequence,
            last_us: next.header().created_us,
        });
    }
    Ok(closed)
}

fn before(now_us: i64, age: Duration) -> i64 {
    now_us.saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX))
}
