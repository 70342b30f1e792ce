//! Which skills are meant: those of a category, those with tags.

use crate::skill::Skill;
use crate::uri::{SkillPath, UriError};

/// A choice of skills; the default is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    category: Option<SkillPath>,
    tags: Vec<String>,
}

impl Selection {
    /// The skills below a category as it is called, those in categories inside of it too.
    pub fn of_category(category: &str) -> Result<Selection, UriError> {
        let path = SkillPath::from_names(category.split('/'));
        let category = path.ok_or_else(|| UriError::NoName(category.to_owned()))?;
        Ok(Selection { category: Some(category), tags: Vec::new() })
    }

    /// Reads `skill://trading/*`, or `skill://*` for all.
    pub fn parse(pattern: &str) -> Result<Selection, UriError> {
        if pattern == "skill://*" {
            return Ok(Selection::default());
        }
        let category = pattern.strip_suffix("/*").unwrap_or(pattern);
        Ok(Selection { category: Some(SkillPath::parse(category)?), tags: Vec::new() })
    }

    /// Only those that have all these tags.
    pub fn with_tags(mut self, tags: impl IntoIterator<Item = String>) -> Selection {
        self.tags.extend(tags.into_iter().map(|tag| tag.trim().to_lowercase()));
        self
    }

    /// Whether a skill is meant.
    pub fn fits(&self, skill: &Skill) -> bool {
        let in_category = |category: &SkillPath| skill.path != *category && skill.path.is_within(category);
        self.category.as_ref().is_none_or(in_category) && self.tags.iter().all(|tag| skill.tags.contains(tag))
    }
}
