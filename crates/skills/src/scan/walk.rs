//! Going through a folder: which skills there are, and which files belong to them.

use std::collections::HashMap;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::{DEFAULT_CATEGORY, Found, Refused};
use crate::file::File;
use crate::library::Library;
use crate::limits::Limits;
use crate::uri::{DOCUMENT, SkillPath};

/// How many reasons are kept. Beyond that nobody reads them.
const MAX_REFUSED: usize = 1000;

/// One scan over several folders.
pub(super) struct Walk<'a> {
    pub(super) limits: &'a Limits,
    /// The files that were read before, by where they are on the disk.
    pub(super) before: HashMap<&'a Path, &'a Arc<File>>,
    pub(super) now: SystemTime,
    pub(super) refused: Vec<Refused>,
    /// The real path of the folder that is being read.
    pub(super) root: PathBuf,
    /// How many bytes have been read in all.
    pub(super) total: u64,
    entries: usize,
}

/// What is left for one skill and all that is in it.
pub(super) struct Room {
    pub(super) files: usize,
    pub(super) bytes: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(limits: &'a Limits, before: Option<&'a Library>, now: SystemTime) -> Walk<'a> {
        let before = before.into_iter().flat_map(Library::files);
        Walk {
            limits,
            before: before.map(|file| (file.source.on_disk.as_path(), file)).collect(),
            now,
            refused: Vec::new(),
            root: PathBuf::new(),
            total: 0,
            entries: 0,
        }
    }

    /// Reads one folder of skills.
    pub(super) fn folder(&mut self, folder: &Path) -> Found {
        let mut found = Found::default();
        match fs::canonicalize(folder) {
            Ok(root) => self.root = root,
            Err(error) => {
                self.refuse(folder, format!("the folder cannot be read: {error}"));
                return found;
            }
        }
        let root = self.root.clone();
        if root.join(DOCUMENT).exists() {
            self.refuse(
                &root.join(DOCUMENT),
                format!("a skill needs a folder of its own; name the folder above '{}'", root.display()),
            );
        }
        for (name, entry) in self.sorted(&root) {
            if !self.is_folder(&entry) {
                continue;
            }
            // A skill that is in no category gets one, and so does all that is inside of it.
            let alone = entry.path().join(DOCUMENT).is_file();
            let names = alone.then_some(DEFAULT_CATEGORY).into_iter().chain([name.as_str()]);
            if let Some(path) = SkillPath::from_names(names) {
                self.enter(&entry.path(), &path, None, 1, &mut found);
            }
        }
        found
    }

    /// Reads a folder below. `room` is there while inside of a skill.
    fn enter(
        &mut self,
        folder: &Path,
        path: &SkillPath,
        room: Option<&mut Room>,
        depth: usize,
        found: &mut Found,
    ) {
        if depth > self.limits.depth {
            return self.refuse(folder, format!("folders are nested deeper than {}", self.limits.depth));
        }
        let entries = self.sorted(folder);
        let is_skill = entries.first().is_some_and(|(name, _)| name == DOCUMENT);
        let mut own = Room { files: self.limits.files_per_skill, bytes: self.limits.skill_bytes };
        let mut room = room.or_else(|| is_skill.then_some(&mut own));
        if is_skill {
            found.skills.push(path.clone());
        }
        for (name, entry) in entries {
            let Some(inner) = path.join(&name) else { continue };
            if self.is_folder(&entry) {
                self.enter(&entry.path(), &inner, room.as_deref_mut(), depth + 1, found);
            } else if let Some(room) = room.as_deref_mut() {
                match self.read(&entry.path(), &inner, room) {
                    Ok(file) => found.files.push(file),
                    Err(why) => self.refuse(&entry.path(), why.to_string()),
                }
            }
        }
    }

    /// What is in a folder and has a usable name, the document first, the rest in order. Hidden files are not looked at.
    fn sorted(&mut self, folder: &Path) -> Vec<(String, DirEntry)> {
        let listed = match fs::read_dir(folder) {
            Ok(listed) => listed,
            Err(error) => {
                self.refuse(folder, format!("the folder cannot be read: {error}"));
                return Vec::new();
            }
        };
        let mut entries = Vec::new();
        for entry in listed.flatten() {
            self.entries += 1;
            if self.entries > self.limits.entries {
                self.refuse(folder, format!("there are more than {} files and folders", self.limits.entries));
                break;
            }
            match entry.file_name().into_string() {
                Ok(name) if name.starts_with('.') => {}
                Ok(name) if crate::uri::is_name(&name) => entries.push((name, entry)),
                _ => self.refuse(&entry.path(), "its name cannot be part of a URI".to_owned()),
            }
        }
        entries.sort_by(|(a, _), (b, _)| (a != DOCUMENT, a).cmp(&(b != DOCUMENT, b)));
        entries
    }

    /// Whether it is a folder to enter; a link to one is refused.
    fn is_folder(&mut self, entry: &DirEntry) -> bool {
        let Ok(kind) = entry.file_type() else { return false };
        if kind.is_symlink() && entry.path().is_dir() {
            self.refuse(
                &entry.path(),
                "a link to a folder is not followed; name that folder in the configuration".to_owned(),
            );
        }
        kind.is_dir()
    }

    fn refuse(&mut self, path: &Path, why: String) {
        if self.refused.len() < MAX_REFUSED {
            self.refused.push(Refused { path: path.to_path_buf(), why });
        }
    }
}
