//! Calls as the index holds them: many in one packed row, in the order of the journal.
//!
//! A row of SQLite for every call, found through two indices, cost more processor time than writing the call to the
//! journal. So calls that follow each other in one segment are packed into a *block*, and only the series that occur
//! in it are indexed, each with the time from its first to its last call. Whoever looks for a page unpacks the few
//! blocks that can have part of it.

#[cfg(test)]
mod tests;

use foldhash::{HashMap, HashMapExt};

use super::schema::row_id;
use crate::record::{DecodeError, Input, put_number};

/// The most calls in a block: enough that the row around them costs little, few enough to unpack for one of them.
pub(super) const MAXIMUM_CALLS: usize = 512;

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) series: i64,
    pub(super) time_us: i64,
    pub(super) error_code: Option<i32>,
    pub(super) duration_us: u64,
    pub(super) arguments_size: u64,
    pub(super) result_size: u64,
    pub(super) price_settled: u64,
    /// Where the record begins in its segment.
    pub(super) offset: u64,
}

/// Calls without a gap between them, all in one segment of one writer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) replica: i64,
    pub(super) first_sequence: u64,
    pub(super) segment: u64,
    pub(super) entries: Vec<Entry>,
}

/// From the first to the last moment of some calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) first_us: i64,
    pub(super) last_us: i64,
}

impl Block {
    /// The id of its row: that of its first call.
    pub(super) fn id(&self) -> i64 {
        row_id(self.replica, self.first_sequence)
    }

    /// The sequence after its last call.
    pub(super) fn end_sequence(&self) -> u64 {
        self.first_sequence.saturating_add(self.entries.len() as u64)
    }

    /// Whether the call that a writer gave this number can be its next one.
    pub(super) fn can_take(&self, replica: i64, sequence: u64, segment: u64) -> bool {
        self.entries.len() < MAXIMUM_CALLS
            && (self.replica, self.segment) == (replica, segment)
            && self.end_sequence() == sequence
    }

    /// Its calls with the ids they are known by.
    pub(super) fn calls(&self) -> impl Iterator<Item = (i64, &Entry)> {
        (self.first_sequence..)
            .zip(&self.entries)
            .map(|(sequence, entry)| (row_id(self.replica, sequence), entry))
    }

    /// The time over which its calls were made.
    pub(super) fn span(&self) -> Option<Span> {
        self.entries.iter().map(|entry| Span::of(entry.time_us)).reduce(Span::with)
    }

    /// The same for each series in it.
    pub(super) fn spans(&self) -> HashMap<i64, Span> {
        let mut spans = HashMap::new();
        for entry in &self.entries {
            let span = Span::of(entry.time_us);
            spans
                .entry(entry.series)
                .and_modify(|known: &mut Span| *known = known.with(span))
                .or_insert(span);
        }
        spans
    }

    /// The calls as bytes: numbers of variable length, times and offsets as differences to the call before.
    pub(super) fn pack(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.entries.len() * 24);
        let (mut time_us, mut offset) = (0, 0);
        for entry in &self.entries {
            put_number(&mut out, entry.series.cast_unsigned());
            put_number(&mut out, fold_sign(entry.time_us.wrapping_sub(time_us)));
            // Nothing is 0, so a code is one more than itself.
            let code = entry.error_code.map_or(0, |code| fold_sign(i64::from(code)) + 1);
            for number in [
                code,
                entry.duration_us,
                entry.arguments_size,
                entry.result_size,
                entry.price_settled,
                entry.offset.wrapping_sub(offset),
            ] {
                put_number(&mut out, number);
            }
            (time_us, offset) = (entry.time_us, entry.offset);
        }
        out
    }

    /// The calls in `bytes`.
    pub(super) fn unpack(bytes: &[u8], calls: usize) -> Result<Vec<Entry>, DecodeError> {
        let mut input = Input::new(bytes);
        let mut entries = Vec::with_capacity(calls.min(MAXIMUM_CALLS));
        let (mut time_us, mut offset) = (0i64, 0u64);
        while !input.is_empty() {
            let series = input.number()?.cast_signed();
            time_us = time_us.wrapping_add(unfold_sign(input.number()?));
            let error_code = match input.number()?.checked_sub(1) {
                None => None,
                Some(code) => Some(i32::try_from(unfold_sign(code)).map_err(|_| DecodeError::OutOfRange)?),
            };
            let [duration_us, arguments_size, result_size, price_settled] =
                [input.number()?, input.number()?, input.number()?, input.number()?];
            offset = offset.wrapping_add(input.number()?);
            entries.push(Entry {
                series,
                time_us,
                error_code,
                duration_us,
                arguments_size,
                result_size,
                price_settled,
                offset,
            });
        }
        Ok(entries)
    }
}

impl Span {
    fn of(time_us: i64) -> Self {
        Self { first_us: time_us, last_us: time_us }
    }

    fn with(self, other: Self) -> Self {
        Self { first_us: self.first_us.min(other.first_us), last_us: self.last_us.max(other.last_us) }
    }
}

/// A small number of either sign as a small number without.
fn fold_sign(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)).cast_unsigned()
}

fn unfold_sign(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}
