//! Which folder a name stands for.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

/// Tells a folder from another that has taken its place. The number alone does not: a file system gives the number of a
/// removed folder to the next one that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FolderId {
    number: u64,
    /// When it was made, where the file system remembers that.
    made: Option<SystemTime>,
}

impl FolderId {
    /// The folder of this name; nothing where there is none.
    pub(crate) fn of(path: &Path) -> Option<FolderId> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_dir)?;
        Some(FolderId { number: metadata.ino(), made: metadata.created().ok() })
    }
}
