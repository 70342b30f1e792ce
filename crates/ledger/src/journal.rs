//! The append-only journal: folders of segments, segments of frames, frames of one record each, links behind them.
//!
//! Every writing process has a folder of its own under the root (`local-0`, `local-1`, …), held by a file lock, so
//! writers never share a file. Within a folder the frames form one hash chain across all segments: a changed, missing
//! or moved byte is found by [`verify`]. A process may die in the middle of a write, so [`recover`] cuts an
//! unfinished last frame when the folder is opened again, and only that.

pub mod folder;
pub mod health;
mod landing;
pub(crate) mod page_cache;
mod queue;
pub mod reader;
pub mod recover;
pub mod segment;
pub mod settle;
pub mod sync;
mod tail;
pub mod verify;
pub mod walk;
mod window;
pub mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde::Serialize;

/// Where a frame lies within the folder of its writer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The number of the segment.
    pub segment: u64,
    /// The offset of the frame in bytes.
    pub offset: u64,
}

/// What is wrong with a segment, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {kind} at byte {offset}, expected sequence {sequence}", segment.display())]
pub struct Damage {
    /// The file.
    pub segment: PathBuf,
    /// The offset of the frame that cannot be trusted; 0 means the segment's header.
    pub offset: u64,
    /// The sequence that should stand there.
    pub sequence: u64,
    /// What is wrong.
    pub kind: DamageKind,
}

/// The ways in which a segment can be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DamageKind {
    /// The header of the segment is not one, or its checksum does not match.
    #[error("unreadable segment header")]
    Header,
    /// The file ends inside a header or frame.
    #[error("unfinished frame")]
    Unfinished,
    /// The length of a frame cannot be.
    #[error("impossible frame length")]
    Length,
    /// The checksum does not match.
    #[error("checksum mismatch")]
    Checksum,
    /// The frames up to the next link are not those that it was made for, or there is none where one must be.
    #[error("broken hash chain")]
    Chain,
    /// The frame has another number than the one due.
    #[error("sequence out of order")]
    Sequence,
    /// The frame is sound but holds no record.
    #[error("undecodable record")]
    Record,
    /// A segment between two others is missing, or a file bears another's name.
    #[error("missing or misplaced segment")]
    Missing,
}

/// Why a segment could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The operating system refused.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The bytes are wrong.
    #[error(transparent)]
    Damage(#[from] Damage),
}

impl ReadError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |source| Self::Io { path: path.to_owned(), source }
    }
}
