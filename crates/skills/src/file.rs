//! One file of a library.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;

use crate::digest::Digest;
use crate::uri::SkillPath;

/// A file as it is served.
#[derive(Clone, Debug)]
pub struct File {
    /// Where it is in the library.
    pub path: SkillPath,
    /// Its URI, in the one form that is listed.
    pub uri: Arc<str>,
    /// What kind of file it is.
    pub media_type: &'static str,
    /// Its bytes.
    pub content: Bytes,
    /// The digest of its bytes.
    pub digest: Digest,
    /// When it was last written.
    pub modified: Option<SystemTime>,
    /// Whether the bytes are text.
    pub(crate) is_text: bool,
    pub(crate) source: Source,
}

/// Where a file was read, and how it looked then. One that looks the same is not read again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) on_disk: PathBuf,
    pub(crate) stamp: Stamp,
    /// Whether it had been left alone for a while. The clock of a file system may be too coarse to tell two writes
    /// apart that follow each other at once.
    pub(crate) settled: bool,
}

/// How a file looks from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) modified: Option<SystemTime>,
    pub(crate) length: u64,
    pub(crate) inode: u64,
}

impl File {
    /// The content, where it is text.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.content).ok().filter(|_| self.is_text)
    }

    /// Where it was read.
    pub fn on_disk(&self) -> &Path {
        &self.source.on_disk
    }
}
