//! All skills there are, at one moment.

mod difference;
mod selection;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::file::File;
use crate::scan::Refused;
use crate::search::{Hit, Index};
use crate::skill::Skill;
use crate::uri::{DOCUMENT, SkillPath, UriError};

pub use difference::Difference;
pub use selection::Selection;

/// A snapshot of skills and their files. It never changes; a new scan gives a new one.
#[derive(Debug, Default)]
pub struct Library {
    /// By folder, so in the order of their paths.
    skills: BTreeMap<SkillPath, Arc<Skill>>,
    files: BTreeMap<SkillPath, Arc<File>>,
    index: Index,
    refused: Vec<Refused>,
}

/// What is at a URI.
#[derive(Clone, Debug)]
pub enum Place {
    /// A file; the URI of a skill's folder leads to its document.
    File(Arc<File>),
    /// A folder that is no skill.
    Folder(SkillPath),
}

/// Something directly inside of a folder.
#[derive(Clone, Debug)]
pub enum Child {
    /// A file.
    File(Arc<File>),
    /// A folder.
    Folder(SkillPath),
}

/// Why nothing is at a URI.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotServed {
    /// The URI is none of ours.
    #[error("{0}")]
    Uri(#[from] UriError),
    /// There is nothing of that name.
    #[error("there is no skill or file of a skill at '{0}'")]
    Nothing(String),
}

impl Library {
    /// A library of these skills.
    pub(crate) fn new(skills: Vec<Skill>, refused: Vec<Refused>) -> Library {
        let skills: BTreeMap<SkillPath, Arc<Skill>> =
            skills.into_iter().map(|skill| (skill.path.clone(), Arc::new(skill))).collect();
        let all_files = skills.values().flat_map(|skill| &skill.files);
        let files = all_files.map(|file| (file.path.clone(), Arc::clone(file))).collect();
        let index = Index::over(skills.values());
        Library { skills, files, index, refused }
    }

    /// All skills and plain documents, in the order of their paths.
    pub fn skills(&self) -> impl ExactSizeIterator<Item = &Arc<Skill>> {
        self.skills.values()
    }

    /// All files, in the order of their paths.
    pub fn files(&self) -> impl ExactSizeIterator<Item = &Arc<File>> {
        self.files.values()
    }

    /// What was not read, or not as a skill, and why.
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// The skill at a URI: that of its `SKILL.md`, or that of its folder.
    pub fn skill(&self, uri: &str) -> Result<&Arc<Skill>, NotServed> {
        let path = SkillPath::parse(uri)?;
        let folder = if path.last() == DOCUMENT { path.parent() } else { Some(path) };
        let skill = folder.and_then(|folder| self.skills.get(&folder));
        skill.ok_or_else(|| NotServed::Nothing(uri.to_owned()))
    }

    /// The skill whose document this file is, if it is one.
    pub fn skill_of(&self, file: &File) -> Option<&Arc<Skill>> {
        let is_document = file.path.last() == DOCUMENT;
        file.path.parent().filter(|_| is_document).and_then(|folder| self.skills.get(&folder))
    }

    /// What is at a URI.
    pub fn at(&self, uri: &str) -> Result<Place, NotServed> {
        let path = SkillPath::parse(uri)?;
        if let Some(file) = self.files.get(&path) {
            return Ok(Place::File(Arc::clone(file)));
        }
        if let Some(document) = self.skills.get(&path).and_then(|skill| skill.document()) {
            return Ok(Place::File(Arc::clone(document)));
        }
        let is_folder = self.children(&path).next().is_some();
        is_folder.then_some(Place::Folder(path)).ok_or_else(|| NotServed::Nothing(uri.to_owned()))
    }

    /// What is directly inside of the folder at a URI, in order. Nothing where that is no folder.
    pub fn folder(&self, uri: &str) -> Result<Option<Vec<Child>>, NotServed> {
        let path = SkillPath::parse(uri)?;
        if self.files.contains_key(&path) {
            return Ok(None);
        }
        let mut children: Vec<Child> = Vec::new();
        for (name, file) in self.children(&path) {
            match name.split_once('/') {
                None => children.push(Child::File(Arc::clone(file))),
                Some((name, _)) => {
                    // All that is in one folder comes together.
                    let is_new = !matches!(children.last(), Some(Child::Folder(last)) if last.last() == name);
                    children.extend(path.join(name).filter(|_| is_new).map(Child::Folder));
                }
            }
        }
        if children.is_empty() { Err(NotServed::Nothing(uri.to_owned())) } else { Ok(Some(children)) }
    }

    /// The skills that fit a selection, in the order of their paths.
    pub fn select(&self, selection: &Selection) -> impl Iterator<Item = &Arc<Skill>> {
        self.skills.values().filter(|skill| selection.fits(skill))
    }

    /// The skills that fit a text best, best first, at most `most`, out of those that fit the selection.
    pub fn find(&self, text: &str, selection: &Selection, most: usize) -> Vec<Hit> {
        let skills: Vec<&Arc<Skill>> = self.skills.values().collect();
        self.index.find(text, &skills, selection, most)
    }

    /// What is different from an earlier library.
    pub fn since(&self, before: &Library) -> Difference {
        Difference::between(&before.files, &self.files)
    }

    /// All files inside of a folder, with their paths from there.
    fn children<'a>(&'a self, folder: &'a SkillPath) -> impl Iterator<Item = (&'a str, &'a Arc<File>)> {
        let beginning = format!("{folder}/");
        let inside = move |path: &'a SkillPath| path.as_str().strip_prefix(&*beginning);
        // Between `a/` and `a/z` come names such as `a-b`, so the range only says where to begin.
        let candidates = self.files.range(folder.clone()..);
        let candidates = candidates.take_while(|(path, _)| path.as_str().starts_with(folder.as_str()));
        candidates.filter_map(move |(path, file)| Some((inside(path)?, file)))
    }
}

#[cfg(test)]
mod tests;
