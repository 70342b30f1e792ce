//! The newest calls met so far, and what that says about those that were not looked at yet.

use std::cmp::Reverse;

use super::super::Cursor;
use super::super::block::{Block, Entry};

/// From a moment on, and before a call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) from_us: i64,
    pub(super) before: Cursor,
}

/// A call on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) cursor: Cursor,
    pub(super) segment: u64,
    pub(super) entry: Entry,
}

/// A page that is being filled.
#[derive(Debug)]
pub(super) struct Newest {
    /// Its start moves on as the page fills with newer calls.
    range: Range,
    limit: usize,
    found: Vec<Found>,
}

impl Found {
    pub(super) fn new(id: i64, entry: &Entry, segment: u64) -> Self {
        Self { cursor: Cursor { time_us: entry.time_us, id }, segment, entry: entry.clone() }
    }
}

impl Newest {
    pub(super) fn new(range: Range, limit: usize) -> Self {
        Self { range, limit, found: Vec::new() }
    }

    /// Calls before this moment are not for the page.
    pub(super) fn start_us(&self) -> i64 {
        self.range.from_us
    }

    /// Whether a call of this moment could be for the page.
    pub(super) fn may_take(&self, time_us: i64) -> bool {
        time_us >= self.range.from_us
    }

    /// Takes from a block what is for the page and of a series that matches.
    pub(super) fn offer(
        &mut self,
        block: &Block,
        mut matches: impl FnMut(i64) -> rusqlite::Result<bool>,
    ) -> rusqlite::Result<()> {
        for (id, entry) in block.calls() {
            let cursor = Cursor { time_us: entry.time_us, id };
            if self.may_take(cursor.time_us) && cursor < self.range.before && matches(entry.series)? {
                self.found.push(Found::new(id, entry, block.segment));
            }
        }
        self.keep_newest();
        Ok(())
    }

    /// The page, newest first.
    pub(super) fn finish(mut self) -> Vec<Found> {
        self.keep_newest();
        self.found
    }

    fn keep_newest(&mut self) {
        self.found.sort_unstable_by_key(|found| Reverse(found.cursor));
        self.found.truncate(self.limit);
        if self.found.len() == self.limit
            && let Some(oldest) = self.found.last()
        {
            self.range.from_us = self.range.from_us.max(oldest.cursor.time_us);
        }
    }
}
