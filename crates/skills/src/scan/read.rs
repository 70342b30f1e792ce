//! Reading one file, or finding that it must not be.

use std::fs::{self, Metadata, OpenOptions};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::walk::{Room, Walk};
use crate::digest::Digest;
use crate::file::{File, Source, Stamp};
use crate::media_type;
use crate::uri::SkillPath;

/// A file written less than this before it was read may be written again without looking different.
const SETTLING: Duration = Duration::from_secs(2);

/// Why a file is not served.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("it cannot be read: {0}")]
    Io(#[from] std::io::Error),
    #[error("it is a link that leads out of the skills folder")]
    Outside,
    #[error("it is a link that leads to a hidden file")]
    Hidden,
    #[error("it is no plain file")]
    NoFile,
    #[error("a folder on the way to it became a link while it was read")]
    Moved,
    #[error("it has {length} bytes, more than the {limit} that one file may have")]
    TooLong { length: u64, limit: u64 },
    #[error("its skill has more than {0} files")]
    TooMany(usize),
    #[error("its skill has more than {0} bytes")]
    SkillTooLong(u64),
    #[error("all skills together have more than {0} bytes")]
    LibraryTooLong(u64),
    #[error("by its name it is text, but it is not UTF-8")]
    NotText,
}

impl Walk<'_> {
    /// Reads a file, or takes it from before, and takes its share of the room.
    pub(super) fn read(
        &mut self,
        at: &Path,
        path: &SkillPath,
        room: &mut Room,
    ) -> Result<Arc<File>, Unreadable> {
        let real = fs::canonicalize(at)?;
        let inside = real.strip_prefix(&self.root).map_err(|_| Unreadable::Outside)?;
        let is_link = fs::symlink_metadata(at)?.is_symlink();
        if is_link
            && !is_projected(inside)
            && inside.iter().any(|name| name.as_encoded_bytes().starts_with(b"."))
        {
            return Err(Unreadable::Hidden);
        }
        let metadata = fs::metadata(&real)?;
        if !metadata.is_file() {
            return Err(Unreadable::NoFile);
        }
        self.check_room(metadata.len(), room)?;
        let file = match self.known(at, path, &metadata) {
            Some(file) => file,
            None => Arc::new(self.read_anew(at, &real, path)?),
        };
        // It may have grown since it was looked at.
        let length = file.content.len() as u64;
        self.check_room(length, room)?;
        room.files -= 1;
        room.bytes -= length;
        self.total += length;
        Ok(file)
    }

    fn check_room(&self, length: u64, room: &Room) -> Result<(), Unreadable> {
        let limits = self.limits;
        if length > limits.file_bytes {
            return Err(Unreadable::TooLong { length, limit: limits.file_bytes });
        }
        if room.files == 0 {
            return Err(Unreadable::TooMany(limits.files_per_skill));
        }
        if length > room.bytes {
            return Err(Unreadable::SkillTooLong(limits.skill_bytes));
        }
        if self.total.saturating_add(length) > limits.total_bytes {
            return Err(Unreadable::LibraryTooLong(limits.total_bytes));
        }
        Ok(())
    }

    fn known(&self, at: &Path, path: &SkillPath, metadata: &Metadata) -> Option<Arc<File>> {
        let file = self.before.get(at)?;
        let same = file.source.settled && file.source.stamp == stamp(metadata) && file.path == *path;
        same.then(|| Arc::clone(file))
    }

    fn read_anew(&self, at: &Path, real: &Path, path: &SkillPath) -> Result<File, Unreadable> {
        let opened = open(real)?;
        if !is_at(&opened, real) {
            return Err(Unreadable::Moved);
        }
        // What was opened counts, not what was there a moment ago.
        let metadata = opened.metadata()?;
        if !metadata.is_file() {
            return Err(Unreadable::NoFile);
        }
        let mut content = Vec::new();
        opened.take(self.limits.file_bytes.saturating_add(1)).read_to_end(&mut content)?;
        let (media_type, is_text) = media_type::of(path.last(), &content).ok_or(Unreadable::NotText)?;
        let stamp = stamp(&metadata);
        let age = stamp.modified.and_then(|modified| self.now.duration_since(modified).ok());
        let settled = age.is_some_and(|age| age > SETTLING) && stamp.length == content.len() as u64;
        Ok(File {
            uri: path.uri().into(),
            path: path.clone(),
            media_type,
            digest: Digest::of(&content),
            content: Bytes::from(content),
            modified: stamp.modified,
            is_text,
            source: Source { on_disk: at.to_path_buf(), stamp, settled },
        })
    }
}

/// Whether a link leads into a folder such as `..data`, by which mounted volumes swap all their files at once.
fn is_projected(inside: &Path) -> bool {
    inside.iter().next().is_some_and(|first| first.as_encoded_bytes().starts_with(b".."))
}

/// Opens without following a link that has taken the file's place, and without waiting for the other end of a pipe.
#[cfg(unix)]
fn open(path: &Path) -> std::io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK).open(path)
}

/// Whether an open file is where it was looked for. Between the look and the opening a folder may have become a link, which
/// opening follows.
#[cfg(target_os = "linux")]
fn is_at(opened: &fs::File, real: &Path) -> bool {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStrExt;
    let Ok(place) = fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())) else {
        // Without /proc only another look is left.
        return fs::canonicalize(real).is_ok_and(|now| now == real);
    };
    // A file that was replaced meanwhile, as editors do, is marked by the system.
    let place = place.as_os_str().as_bytes();
    place.strip_suffix(b" (deleted)").unwrap_or(place) == real.as_os_str().as_bytes()
        || place == real.as_os_str().as_bytes()
}

#[cfg(not(target_os = "linux"))]
fn is_at(_: &fs::File, real: &Path) -> bool {
    fs::canonicalize(real).is_ok_and(|now| now == real)
}

#[cfg(not(unix))]
fn open(path: &Path) -> std::io::Result<fs::File> {
    OpenOptions::new().read(true).open(path)
}

fn stamp(metadata: &Metadata) -> Stamp {
    Stamp {
        modified: metadata.modified().ok(),
        length: metadata.len(),
        #[cfg(unix)]
        inode: std::os::unix::fs::MetadataExt::ino(metadata),
        #[cfg(not(unix))]
        inode: 0,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::limits::Limits;

    #[test]
    fn a_folder_that_became_a_link_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("file.md"), "secret").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("real")).unwrap();
        fs::write(root.join("real/file.md"), "inside").unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("swapped")).unwrap();
        let limits = Limits::default();
        let walk = Walk::new(&limits, None, SystemTime::now());
        let path = SkillPath::from_names(["a", "s", "file.md"]).unwrap();
        // As if the look before had found a folder of that name.
        let read = |real: &str| walk.read_anew(&root.join(real), &root.join(real), &path);
        assert_eq!(read("real/file.md").unwrap().text(), Some("inside"));
        assert!(matches!(read("swapped/file.md"), Err(Unreadable::Moved)));
    }
}
