//! Reading folders into a library. The only part of this crate that touches the disk.
//!
//! Whoever can write into a skills folder must not be able to make the gateway serve other files of the machine. So
//! every file is named by its real path, links resolved, which must be inside of the folder; folders behind links are
//! not entered at all; and what is opened must be a plain file. What is left out is told, never silently.

mod read;
mod walk;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use crate::file::File;
use crate::library::Library;
use crate::limits::Limits;
use crate::skill::Skill;
use crate::uri::{DOCUMENT, SkillPath};
use walk::Walk;

/// The category of skills that are not in one.
pub const DEFAULT_CATEGORY: &str = "general";

/// Something that is not served, or not as a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", path.display())]
pub struct Refused {
    /// The file or folder.
    pub path: PathBuf,
    /// Why, in words.
    pub why: String,
}

/// Reads folders. Files that look as they did in `before` are taken from there. Earlier folders win where two have the
/// same skill.
pub fn scan(folders: &[PathBuf], limits: &Limits, before: Option<&Library>) -> Library {
    let mut gathered = Gathered::default();
    let mut walk = Walk::new(limits, before, SystemTime::now());
    for folder in folders {
        gathered.add(walk.folder(folder), folder);
    }
    gathered.refused.append(&mut walk.refused);
    let skills = gathered.skills(limits);
    Library::new(skills, gathered.refused)
}

/// What one folder holds.
#[derive(Default)]
struct Found {
    /// The folders with a document in them.
    skills: Vec<SkillPath>,
    files: Vec<Arc<File>>,
}

/// What all folders hold together.
#[derive(Default)]
struct Gathered {
    skills: BTreeMap<SkillPath, PathBuf>,
    files: BTreeMap<SkillPath, Arc<File>>,
    refused: Vec<Refused>,
}

impl Gathered {
    /// Adds a folder's skills, except those that an earlier folder has.
    fn add(&mut self, found: Found, folder: &Path) {
        let taken: Vec<SkillPath> =
            found.skills.iter().filter(|skill| self.skills.contains_key(skill)).cloned().collect();
        for skill in found.skills {
            if let Some(earlier) = self.skills.get(&skill) {
                let why = format!("the skill '{skill}' is served from {} already", earlier.display());
                self.refused.push(Refused { path: folder.to_path_buf(), why });
            } else {
                self.skills.insert(skill, folder.to_path_buf());
            }
        }
        let left = |file: &Arc<File>| !taken.iter().any(|skill| file.path.is_within(skill));
        self.files.extend(found.files.into_iter().filter(left).map(|file| (file.path.clone(), file)));
    }

    fn skills(&mut self, limits: &Limits) -> Vec<Skill> {
        let mut skills = Vec::new();
        for (path, folder) in &self.skills {
            let Some(document) = path.join(DOCUMENT).and_then(|at| self.files.get(&at)).cloned() else {
                continue;
            };
            if skills.len() >= limits.skills {
                let why = format!(
                    "there are more than {} skills; raise the limit or use fewer folders",
                    limits.skills
                );
                self.refused.push(Refused { path: folder.clone(), why });
                break;
            }
            let inside =
                self.files.range(path.clone()..).take_while(|(at, _)| at.as_str().starts_with(path.as_str()));
            let others = inside.filter(|(at, _)| at.is_within(path)).map(|(_, file)| file);
            let others = others.filter(|file| file.path != document.path).cloned().collect();
            let on_disk = document.source.on_disk.clone();
            let skill = Skill::new(path.clone(), document, others);
            if let Some(flaw) = &skill.flaw {
                self.refused
                    .push(Refused { path: on_disk, why: format!("served as a plain document: {flaw}") });
            }
            skills.push(skill);
        }
        skills
    }
}

#[cfg(test)]
mod tests;
