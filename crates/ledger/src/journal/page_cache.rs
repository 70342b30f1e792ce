//! Giving back the memory in which the operating system keeps what was written.
//!
//! A journal is written all the time and hardly ever read. Left to itself, all of it stays in memory until somebody else
//! needs that. What is on the disk and in the index is let go, and the next writes can have the same memory again, which
//! is cheaper than fresh memory where the machine is a virtual one.

use std::fs::File;
use std::num::NonZeroU64;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use super::Position;
use super::folder::segment_path;

/// The page that is written next stays, or asking for it to be let go would have it written to the disk once more.
const PAGE: u64 = 4096;

/// Lets go what the segments of a folder hold between two positions. It must be on the disk, or this would begin to
/// write it. Where it cannot be done, nothing is lost but memory.
pub(crate) fn release(folder: &Path, from: Position, to: Position) {
    for number in from.segment..=to.segment {
        let start = if number == from.segment { whole_pages(from.offset) } else { 0 };
        // To the end of the file where nothing is said.
        let length = (number == to.segment).then(|| whole_pages(to.offset).saturating_sub(start));
        if length != Some(0)
            && let Ok(file) = File::open(segment_path(folder, number))
        {
            let _ = fadvise(&file, start, length.and_then(NonZeroU64::new), Advice::DontNeed);
        }
    }
}

fn whole_pages(offset: u64) -> u64 {
    offset / PAGE * PAGE
}
