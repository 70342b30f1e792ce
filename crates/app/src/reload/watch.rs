//! Noticing that configuration files have changed.
//!
//! Editors and tools replace files instead of writing into them, and mounted volumes swap links, so it is the folders
//! that are watched, and what counts is whether the files look different from before. The operating system only
//! wakes us. Where it cannot, we look by ourselves every few seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use toolgate_config::LoadedFiles;

use super::FolderId;
use news::Interest;

mod news;

/// Changes that follow each other within this time are one change.
const QUIET: Duration = Duration::from_millis(100);
/// A change is looked at after this time even if others keep coming.
const AT_LATEST: Duration = Duration::from_secs(1);
/// How often we look where the operating system does not tell.
const POLL: Duration = Duration::from_secs(2);
/// How often we look even where it does.
const LOOK: Duration = Duration::from_secs(30);
/// After a look that found nothing, the next one waits this many times as long as that one took.
const SPARING: u32 = 20;
/// How far the times of files may be behind the clock.
const CLOCK_OF_FILES: Duration = Duration::from_millis(20);

/// Watches files and folders.
pub(super) struct Watch {
    woken: Arc<Notify>,
    watcher: Option<RecommendedWatcher>,
    /// Folders, and which folder each was when we began to watch it.
    watched: BTreeMap<PathBuf, FolderId>,
    files: LoadedFiles,
    interest: Arc<Mutex<Interest>>,
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
    inode: u64,
}

impl Watch {
    /// Begins to watch what was read, unless the operator does not want it. In folders, only files with this ending
    /// count. What was written after `began`, when reading began, is a change.
    pub(super) fn over(
        files: &LoadedFiles,
        began: Option<SystemTime>,
        ending: &'static str,
        enabled: bool,
    ) -> Watch {
        let woken = Arc::new(Notify::new());
        let waker = Arc::clone(&woken);
        let interest = Arc::new(Mutex::new(Interest::default()));
        let current = Arc::clone(&interest);
        let watcher = enabled.then(|| {
            notify::recommended_watcher(move |event| {
                if current.lock().unwrap_or_else(PoisonError::into_inner).includes(&event) {
                    waker.notify_one();
                }
            })
        });
        let watcher = watcher.and_then(|made| made.inspect_err(warn_of_polling).ok());
        let mut watch = Watch {
            woken,
            watcher,
            watched: BTreeMap::new(),
            files: LoadedFiles::default(),
            interest,
            ending,
            seen: Vec::new(),
            enabled,
        };
        watch.look_at(files, began);
        watch
    }

    /// From now on, a change is a difference from how the files look now. To be called before they are read, so that
    /// what is written meanwhile counts as a change.
    pub(super) fn note(&mut self) {
        self.seen = sights(&self.files, self.ending);
    }

    /// Watches the files that were read, where they are not the same as before.
    pub(super) fn look_at(&mut self, files: &LoadedFiles, began: Option<SystemTime>) {
        if self.files == *files {
            return;
        }
        self.files = files.clone();
        self.follow_folders();
        let known = std::mem::take(&mut self.seen);
        let is_known = |path: &Path| known.iter().any(|sight| sight.path == path);
        // Files that nobody looked at before they were read may have been written while they were. Those stay unseen.
        let mut seen = sights(&self.files, self.ending);
        seen.retain(|sight| is_known(&sight.path) || !is_written_since(&sight.path, began));
        for sight in &mut seen {
            if let Some(before) = known.iter().find(|known| known.path == sight.path) {
                sight.clone_from(before);
            }
        }
        self.seen = seen;
    }

    /// Waits until the files look different. Nothing is lost when this is given up and called again: what counts are the
    /// files, and they are looked at before anything is waited for.
    pub(super) async fn changed(&mut self) {
        if !self.enabled {
            return std::future::pending().await;
        }
        loop {
            let began = Instant::now();
            // First, so that what happens in a folder that has taken the place of another is noticed from here on.
            self.follow_folders();
            let is_different = self.is_different();
            let took = began.elapsed();
            if is_different {
                let latest = Instant::now() + AT_LATEST;
                while Instant::now() < latest && timeout(QUIET, self.woken.notified()).await.is_ok() {}
                if self.is_different() {
                    return;
                }
            }
            // Where something comes and goes all the time, looking must not become the main work.
            sleep(took * SPARING).await;
            match self.watcher {
                // A change that nobody told us of is found late rather than never.
                Some(_) => {
                    let _ = timeout(LOOK, self.woken.notified()).await;
                }
                None => sleep(POLL).await,
            }
        }
    }

    fn is_different(&self) -> bool {
        sights(&self.files, self.ending) != self.seen
    }

    /// Watches the folders that have these files now. A folder that was replaced has the same name and is another.
    fn follow_folders(&mut self) {
        let Some(watcher) = &mut self.watcher else { return };
        *self.interest.lock().unwrap_or_else(PoisonError::into_inner) =
            Interest::of(&self.files, self.ending);
        let wanted = folders(&self.files);
        if wanted == self.watched {
            return;
        }
        for (folder, _) in self.watched.iter().filter(|(folder, inode)| wanted.get(*folder) != Some(*inode)) {
            // A folder that is gone is not watched any more anyway.
            let _ = watcher.unwatch(folder);
        }
        let mut failed = None;
        for (folder, _) in wanted.iter().filter(|(folder, inode)| self.watched.get(*folder) != Some(*inode)) {
            if let Err(error) = watcher.watch(folder, RecursiveMode::NonRecursive)
                && folder.is_dir()
            {
                failed = Some(error);
            }
        }
        self.watched = wanted;
        if let Some(error) = failed {
            warn_of_polling(&error);
            self.watcher = None;
        }
    }
}

fn warn_of_polling(error: &notify::Error) {
    tracing::warn!(%error, "files cannot be watched; they are looked at every {} s instead", POLL.as_secs());
}

/// The folders in which a change of these files shows, behind links too, and which folder each is at the moment. Those
/// above the folders of records are among them: that is where a folder is replaced.
fn folders(files: &LoadedFiles) -> BTreeMap<PathBuf, FolderId> {
    let mut folders: BTreeSet<PathBuf> = files.folders.iter().cloned().collect();
    for path in files.files.iter().chain(&files.folders) {
        let links = [Some(path.clone()), path.canonicalize().ok()];
        for path in links.into_iter().flatten() {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            folders.insert(parent.unwrap_or(Path::new(".")).to_path_buf());
        }
    }
    let is_there = |folder: PathBuf| {
        let id = FolderId::of(&folder)?;
        Some((folder, id))
    };
    folders.into_iter().filter_map(is_there).collect()
}

/// Whether a file was written or put in its place after this time, as far as the clock of files tells.
fn is_written_since(path: &Path, began: Option<SystemTime>) -> bool {
    let (Some(began), Ok(metadata)) = (began, fs::metadata(path)) else { return false };
    let changed = Duration::new(
        metadata.ctime().try_into().unwrap_or_default(),
        metadata.ctime_nsec().try_into().unwrap_or_default(),
    );
    SystemTime::UNIX_EPOCH + changed + CLOCK_OF_FILES >= began
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
        inode: metadata.as_ref().map_or(0, MetadataExt::ino),
        path,
    }
}

#[cfg(test)]
mod tests;
