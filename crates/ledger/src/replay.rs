//! Reading the past again: to rebuild counters after a start, to export, to follow.
//!
//! Sums of a month come from the index as far as it goes and from the journal behind that. Both are read as of one
//! moment: the sums and the positions they reach to change in one transaction.

use std::collections::HashMap;
use std::path::Path;
use std::vec;

use crate::calendar::Calendar;
use crate::journal::folder::{folders, segments};
use crate::journal::reader::SegmentReader;
use crate::journal::settle::settle;
use crate::journal::walk::FolderWalk;
use crate::journal::{Position, ReadError};
use crate::record::Record;
use crate::store::{Store, StoreError, Sums};

/// All records since a moment, writer by writer, in the order each wrote them.
#[derive(Debug)]
pub struct Replay {
    folders: vec::IntoIter<FolderWalk>,
    current: Option<FolderWalk>,
    since_us: i64,
}

impl Replay {
    /// Begins with the first record at or after `since_us`, across all writers under `root`.
    pub fn since(root: &Path, since_us: i64) -> Result<Self, ReadError> {
        settle(root)?;
        let begin = |folder: &Path| FolderWalk::new(folder, first_position(folder, since_us)?, None);
        let folders = folders(root).map_err(ReadError::io(root))?;
        let walks = folders.iter().map(|folder| begin(folder)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { folders: walks.into_iter(), current: None, since_us })
    }
}

impl Iterator for Replay {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let Some(walk) = &mut self.current else {
                self.current = Some(self.folders.next()?);
                continue;
            };
            match walk.next() {
                Some(Ok((_, record))) if record.time_us < self.since_us => {}
                Some(step) => return Some(step.map(|(_, record)| record)),
                None => self.current = None,
            }
        }
    }
}

/// What every caller's calls of a month (`yyyymm`) add up to, those included that are not in the index yet.
pub fn month_totals(
    root: &Path,
    store: &Store,
    calendar: &Calendar,
    month: i32,
) -> Result<HashMap<String, Sums>, StoreError> {
    settle(root)?;
    let (sums, positions) = store.month_with_positions(month)?;
    let mut totals: HashMap<String, Sums> = sums.into_iter().collect();
    for folder in folders(root).map_err(ReadError::io(root))? {
        let replica = crate::journal::folder::replica_of(&folder);
        let start = positions.get(&*replica).copied().unwrap_or_default();
        for step in FolderWalk::new(&folder, start, None)? {
            let record = match step {
                Ok((_, record)) => record,
                // The shipper reports damage; the sums are of what can be read.
                Err(ReadError::Damage(_)) => continue,
                Err(error) => return Err(error.into()),
            };
            if calendar.day_of(record.time_us).month() == month {
                totals.entry(record.caller).or_default().add(&Sums {
                    calls: 1,
                    duration_us: record.duration_us,
                    arguments_bytes: record.arguments.map_or(0, |body| body.size()),
                    result_bytes: record.result.map_or(0, |body| body.size()),
                    price_settled: record.price_settled,
                });
            }
        }
    }
    Ok(totals)
}

/// The start of the last segment that was begun before the moment; all older ones hold only older records.
fn first_position(folder: &Path, since_us: i64) -> Result<Position, ReadError> {
    for (number, path) in segments(folder).map_err(ReadError::io(folder))?.into_iter().rev() {
        let began_before =
            SegmentReader::open(&path).is_ok_and(|reader| reader.header().created_us <= since_us);
        if began_before {
            return Ok(Position { segment: number, offset: 0 });
        }
    }
    Ok(Position::default())
}
