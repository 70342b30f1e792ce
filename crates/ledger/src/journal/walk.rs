//! All records of one writer from a position on, across its segments.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::vec;

use super::folder::segments;
use super::reader::SegmentReader;
use super::{DamageKind, Position, ReadError};
use crate::record::{Record, RecordView};

/// An iterator over the records of a folder. Damage is reported once, then the walk goes on in the next segment.
#[derive(Debug)]
pub struct FolderWalk {
    waiting: vec::IntoIter<(u64, PathBuf)>,
    /// The segment that is read: its number, its writer, and what is left of it.
    current: Option<(u64, Arc<str>, SegmentReader)>,
    position: Position,
    end: Option<Position>,
}

/// Where a record stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) replica: &'a Arc<str>,
    pub(crate) sequence: u64,
    pub(crate) position: Position,
}

impl FolderWalk {
    /// Begins at `start`, or at the oldest segment behind it, and ends at `end` or with the last sound frame.
    pub fn new(folder: &Path, start: Position, end: Option<Position>) -> Result<Self, ReadError> {
        let mut known = segments(folder).map_err(ReadError::io(folder))?;
        known.retain(|(number, _)| *number >= start.segment && end.is_none_or(|end| *number <= end.segment));
        Ok(Self { waiting: known.into_iter(), current: None, position: start, end })
    }

    /// Where the next record will be read: the place to begin another time.
    pub fn position(&self) -> Position {
        self.position
    }

    /// What `read` makes of the next record, without a copy of it.
    pub(crate) fn next_with<T>(
        &mut self,
        mut read: impl FnMut(&Place<'_>, &RecordView<'_>) -> T,
    ) -> Option<Result<T, ReadError>> {
        loop {
            let Some((number, replica, reader)) = &mut self.current else {
                match self.open_next()? {
                    Ok(()) => continue,
                    Err(error) => return Some(Err(error)),
                }
            };
            let segment = *number;
            let next = reader.next_with(|frame, record| {
                let position = Position { segment, offset: frame.offset };
                read(&Place { replica, sequence: frame.sequence, position }, record)
            });
            match next {
                Ok(Some(made)) => {
                    self.position.offset = reader.offset();
                    return Some(Ok(made));
                }
                Ok(None) => self.current = None,
                Err(error) => {
                    self.current = None;
                    self.pass_over(segment);
                    if !self.is_unfinished_end(&error) {
                        return Some(Err(error));
                    }
                }
            }
        }
    }

    fn open_next(&mut self) -> Option<Result<(), ReadError>> {
        let (number, path) = self.waiting.next()?;
        let opened = SegmentReader::open(&path).and_then(|mut reader| {
            reader.leave_chain_unchecked();
            if number == self.position.segment {
                reader.jump(self.position.offset)?;
            }
            if let Some(end) = self.end.filter(|end| end.segment == number) {
                reader.limit(end.offset);
            }
            Ok(reader)
        });
        Some(match opened {
            Ok(reader) => {
                self.position = Position { segment: number, offset: reader.offset() };
                self.current = Some((number, Arc::clone(reader.replica()), reader));
                Ok(())
            }
            // Its writer was killed, or is about to write the header.
            Err(error) if self.is_unfinished_end(&error) => return None,
            Err(error) => {
                self.pass_over(number);
                Err(error)
            }
        })
    }

    /// Whether the error is the end of the journal of a writer that may be at work.
    fn is_unfinished_end(&self, error: &ReadError) -> bool {
        let is_unfinished =
            matches!(error, ReadError::Damage(damage) if damage.kind == DamageKind::Unfinished);
        is_unfinished && self.waiting.as_slice().is_empty()
    }

    /// Leaves a damaged segment behind, unless it is the last one and may yet be written to.
    fn pass_over(&mut self, number: u64) {
        if !self.waiting.as_slice().is_empty() {
            self.position = Position { segment: number + 1, offset: 0 };
        }
    }
}

impl Iterator for FolderWalk {
    type Item = Result<(Position, Record), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_with(|place, record| {
            (place.position, record.to_record(Arc::clone(place.replica), place.sequence))
        })
    }
}
