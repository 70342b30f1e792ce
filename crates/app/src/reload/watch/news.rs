//! Telling events that may be about the watched files from the rest.
//!
//! Beside them lie files that are written all the time: a journal, a log, the database of a handler. To look at everything
//! for each of those writes would cost more than the calls that cause them.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use notify::event::ModifyKind;
use notify::{Event, EventKind};
use toolgate_config::LoadedFiles;

/// What an event must be about.
#[derive(Debug, Default)]
pub(super) struct Interest {
    /// The names of the files, and of those that they are links to.
    names: BTreeSet<OsString>,
    folders: BTreeSet<PathBuf>,
    ending: &'static str,
}

impl Interest {
    pub(super) fn of(files: &LoadedFiles, ending: &'static str) -> Interest {
        let behind = |path: &PathBuf| [Some(path.clone()), path.canonicalize().ok()];
        let paths = files.files.iter().flat_map(behind).flatten();
        let names = paths.filter_map(|path| path.file_name().map(OsString::from)).collect();
        Interest { names, folders: files.folders.iter().cloned().collect(), ending }
    }

    /// Whether an event may be a change. What comes, goes or is renamed always may: a link on the way, a folder.
    pub(super) fn includes(&self, event: &notify::Result<Event>) -> bool {
        match event {
            // Reading a file is no change, and we read them ourselves.
            Ok(Event { kind: EventKind::Access(_), .. }) => false,
            Ok(Event { kind: EventKind::Modify(ModifyKind::Data(_)), paths, .. }) => {
                paths.iter().any(|path| self.counts(path))
            }
            Ok(_) | Err(_) => true,
        }
    }

    fn counts(&self, path: &Path) -> bool {
        let Some(name) = path.file_name() else { return true };
        let is_inside = || path.parent().is_some_and(|folder| self.folders.contains(folder));
        self.names.contains(name) || (name.to_string_lossy().ends_with(self.ending) && is_inside())
    }
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange};

    use super::*;

    #[test]
    fn only_writes_into_other_files_are_no_news() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("real.yaml"), "").unwrap();
        std::os::unix::fs::symlink(at("real.yaml"), at("toolgate.yaml")).unwrap();
        let files = LoadedFiles { files: vec![at("toolgate.yaml")], folders: vec![at("handlers")] };
        let interest = Interest::of(&files, ".py");
        let check = |kind: EventKind, name: &str, expected: bool| {
            let event = Event::new(kind).add_path(at(name));
            assert_eq!(interest.includes(&Ok(event)), expected, "{kind:?} of {name}");
        };
        let write = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        check(write, "toolgate.yaml", true);
        check(write, "real.yaml", true);
        check(write, "handlers/orders.py", true);
        check(write, "handlers/orders.db", false);
        check(write, "elsewhere/orders.py", false);
        check(write, "journal", false);
        check(EventKind::Create(CreateKind::Any), "journal", true);
    }
}
