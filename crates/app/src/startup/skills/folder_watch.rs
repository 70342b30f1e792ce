//! Noticing that something below folders has changed.
//!
//! The operating system watches folders, not their names. One that is removed and made again, as `git checkout` does, is
//! another folder, so the folder above is watched too, and what is watched is compared with what is there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;

use crate::reload::FolderId;

/// Folders that are watched with all below them.
pub(super) struct FolderWatch {
    watcher: RecommendedWatcher,
    folders: Vec<Watched>,
}

/// A folder, and what of it is watched.
struct Watched {
    /// Its name, behind links further up.
    name: PathBuf,
    /// Where it is and which it is; nothing while it is not there.
    place: Option<(PathBuf, FolderId)>,
}

impl FolderWatch {
    /// Begins to watch. Nothing where the operating system cannot.
    pub(super) fn over(folders: &[PathBuf], woken: &Arc<Notify>) -> Option<FolderWatch> {
        let names: Vec<PathBuf> = folders.iter().map(|folder| real_name(folder)).collect();
        let ours = names.clone();
        let waker = Arc::clone(woken);
        let made = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is_change = match event {
                // Reading a file is no change, and we read them ourselves.
                Ok(notify::Event { kind: EventKind::Access(_), .. }) => false,
                Ok(event) => event.paths.iter().any(|path| counts(path, &ours)),
                Err(_) => true,
            };
            if is_change {
                waker.notify_one();
            }
        });
        let mut watcher = made.inspect_err(warn).ok()?;
        for above in names.iter().filter_map(|name| name.parent()).filter(|above| above.is_dir()) {
            watcher.watch(above, RecursiveMode::NonRecursive).inspect_err(warn).ok()?;
        }
        let folders = names.into_iter().map(|name| Watched { name, place: None }).collect();
        FolderWatch { watcher, folders }.follow()
    }

    /// Watches the folders that have these names now. Nothing where that is not possible.
    pub(super) fn follow(mut self) -> Option<FolderWatch> {
        for folder in &mut self.folders {
            let place = place_of(&folder.name);
            if place == folder.place {
                continue;
            }
            if let Some((before, _)) = folder.place.take() {
                // One that is gone is not watched any more anyway.
                let _ = self.watcher.unwatch(&before);
            }
            if let Some((path, _)) = &place
                && let Err(error) = self.watcher.watch(path, RecursiveMode::Recursive)
                && path.is_dir()
            {
                warn(&error);
                return None;
            }
            folder.place = place;
        }
        Some(self)
    }
}

/// Whether a path is one of these folders or below one, and not merely beside it. Behind a link it has another name.
fn counts(path: &Path, folders: &[PathBuf]) -> bool {
    let is_beside = folders.iter().any(|folder| path.parent() == folder.parent());
    !is_beside || folders.iter().any(|folder| path.starts_with(folder))
}

/// A path whose folders above are no links, as far as they are there.
fn real_name(folder: &Path) -> PathBuf {
    let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_path_buf());
    match (whole.parent().and_then(|above| above.canonicalize().ok()), whole.file_name()) {
        (Some(above), Some(name)) => above.join(name),
        _ => whole,
    }
}

fn place_of(name: &Path) -> Option<(PathBuf, FolderId)> {
    let place = name.canonicalize().ok()?;
    let id = FolderId::of(&place)?;
    Some((place, id))
}

fn warn(error: &notify::Error) {
    tracing::warn!(%error, "the skills cannot be watched; they are read again every skills.cache_ttl");
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// How long a change may take to be noticed on a busy machine.
    const PATIENCE: Duration = Duration::from_secs(20);
    /// No news for this long: there are none left.
    const QUIET: Duration = Duration::from_millis(200);

    #[tokio::test]
    async fn a_folder_that_is_made_again_is_watched_again() {
        let home = tempfile::tempdir().unwrap();
        let skills = home.path().join("skills");
        fs::create_dir_all(skills.join("tea")).unwrap();
        let woken = Arc::new(Notify::new());
        let mut watch = FolderWatch::over(std::slice::from_ref(&skills), &woken).unwrap();
        for round in 0..2 {
            fs::remove_dir_all(&skills).unwrap();
            timeout(PATIENCE, woken.notified()).await.unwrap();
            fs::create_dir_all(skills.join("tea")).unwrap();
            // Its making is news too; what follows is only heard if the new folder is watched.
            loop {
                watch = watch.follow().unwrap();
                let is_watched = watch.folders.iter().all(|folder| folder.place.is_some());
                if timeout(QUIET, woken.notified()).await.is_err() && is_watched {
                    break;
                }
            }
            fs::write(skills.join("tea/SKILL.md"), format!("round {round}")).unwrap();
            timeout(PATIENCE, woken.notified()).await.unwrap();
        }
    }

    #[test]
    fn what_happens_beside_a_folder_is_not_about_it() {
        let folders = [PathBuf::from("/home/skills"), PathBuf::from("/home/skills/more")];
        let check = |path: &str, expected| assert_eq!(counts(Path::new(path), &folders), expected, "{path}");
        check("/home/skills", true);
        check("/home/skills/tea/SKILL.md", true);
        check("/home/skills/new", true);
        check("/home/journal", false);
        check("/elsewhere/tea/SKILL.md", true);
    }
}
