//! Noticing that configuration files have changed.
//!
//! Editors and tools replace files instead of writing into them, and mounted volumes swap links, so it is the folders
//! that are watched, and what counts is whether the files look different from before. The operating system only
//! wakes us. Where it cannot, we look by ourselves every few seconds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use notify::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use toolgate_config::LoadedFiles;

/// Changes that follow each other within this time are one change.
const QUIET: Duration = Duration::from_millis(100);
/// A change is looked at after this time even if others keep coming.
const AT_LATEST: Duration = Duration::from_secs(1);
/// How often we look where the operating system does not tell.
const POLL: Duration = Duration::from_secs(2);

/// Watches files and folders.
pub(super) struct Watch {
    woken: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
    files: LoadedFiles,
    /// What files in the watched folders must end with to count.
    ending: &'static str,
    seen: Vec<Sight>,
    enabled: bool,
}

/// What a file looks like from outside. Any change of its content changes this.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sight {
    path: PathBuf,
    /// Where links lead.
    target: Option<PathBuf>,
    modified: Option<SystemTime>,
    length: u64,
    #[cfg(unix)]
    inode: u64,
}

impl Watch {
    /// Begins to watch, unless the operator does not want it. In folders, only files with this ending count.
    pub(super) fn over(files: &LoadedFiles, ending: &'static str, enabled: bool) -> Watch {
        let woken = Arc::new(Notify::new());
        let waker = Arc::clone(&woken);
        let watcher = enabled.then(|| {
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                // Reading a file is no change, and we read them ourselves.
                if !matches!(event, Ok(notify::Event { kind: EventKind::Access(_), .. })) {
                    waker.notify_one();
                }
            })
        });
        let watcher = watcher.and_then(|made| made.inspect_err(warn_of_polling).ok());
        let mut watch = Watch {
            woken,
            watcher,
            watched: BTreeSet::new(),
            files: LoadedFiles::default(),
            ending,
            seen: Vec::new(),
            enabled,
        };
        watch.look_at(files);
        watch
    }

    /// From now on, a change is a difference from how the files look now. To be called before they are read, so that
    /// what is written meanwhile counts as a change.
    pub(super) fn note(&mut self) {
        self.seen = sights(&self.files, self.ending);
    }

    /// Watches the files that were read, where they are not the same as before.
    pub(super) fn look_at(&mut self, files: &LoadedFiles) {
        if self.files == *files {
            return;
        }
        self.files = files.clone();
        self.note();
        let wanted = folders(files);
        let Some(watcher) = &mut self.watcher else { return };
        for folder in self.watched.difference(&wanted) {
            // A folder that is gone is not watched any more anyway.
            let _ = watcher.unwatch(folder);
        }
        let mut failed = None;
        for folder in wanted.difference(&self.watched) {
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive) {
                failed = Some(error);
            }
        }
        self.watched = wanted;
        if let Some(error) = failed {
            warn_of_polling(&error);
            self.watcher = None;
        }
    }

    /// Waits until the files look different.
    pub(super) async fn changed(&mut self) {
        if !self.enabled {
            return std::future::pending().await;
        }
        loop {
            match self.watcher {
                Some(_) => self.woken.notified().await,
                None => sleep(POLL).await,
            }
            let latest = Instant::now() + AT_LATEST;
            while Instant::now() < latest && timeout(QUIET, self.woken.notified()).await.is_ok() {}
            if sights(&self.files, self.ending) != self.seen {
                return;
            }
        }
    }
}

fn warn_of_polling(error: &notify::Error) {
    tracing::warn!(%error, "files cannot be watched; they are looked at every {} s instead", POLL.as_secs());
}

/// The folders in which a change of these files shows, behind links too.
fn folders(files: &LoadedFiles) -> BTreeSet<PathBuf> {
    let mut folders: BTreeSet<PathBuf> = files.folders.iter().cloned().collect();
    for file in &files.files {
        let links = [Some(file.clone()), file.canonicalize().ok()];
        for path in links.into_iter().flatten() {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            folders.insert(parent.unwrap_or(Path::new(".")).to_path_buf());
        }
    }
    folders.retain(|folder| folder.is_dir());
    folders
}

fn sights(files: &LoadedFiles, ending: &str) -> Vec<Sight> {
    let inside = files.folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let counting = inside.filter(|entry| entry.file_name().to_string_lossy().ends_with(ending));
    let mut paths: Vec<PathBuf> =
        counting.map(|entry| entry.path()).chain(files.files.iter().cloned()).collect();
    paths.sort();
    paths.dedup();
    paths.into_iter().map(sight).collect()
}

fn sight(path: PathBuf) -> Sight {
    let metadata = fs::metadata(&path).ok();
    Sight {
        target: path.canonicalize().ok(),
        modified: metadata.as_ref().and_then(|metadata| metadata.modified().ok()),
        length: metadata.as_ref().map_or(0, fs::Metadata::len),
        #[cfg(unix)]
        inode: metadata.as_ref().map_or(0, std::os::unix::fs::MetadataExt::ino),
        path,
    }
}

#[cfg(test)]
mod tests;
