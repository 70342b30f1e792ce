//! Section `skills`: folders of SKILL.md documents.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::byte_size::{self, ByteSizeText};
use crate::duration::{self, DurationText};

/// SKILL.md documents served as resources.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SkillsConfig {
    /// Folder with the documents: `category/name/SKILL.md`. Without it and `dirs` there are none.
    pub dir: Option<PathBuf>,
    /// Further folders. Where two have the same skill, the earlier one's is served.
    pub dirs: Vec<PathBuf>,
    /// The name under which they are a server beside the others, in rules, quotas and the names of tools.
    pub name: String,
    /// Tools, by the names that clients see, with the URIs of skills. A skill is named at the end of its tool's description.
    pub links: BTreeMap<String, String>,
    /// Read the folders again when something in them changes.
    pub watch: bool,
    /// How long the list is trusted when the folder cannot be watched.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub cache_ttl: Duration,
    /// How many skills are served; further ones are left out.
    pub max_skills: usize,
    /// A file larger than this is left out.
    #[serde(with = "byte_size::plain")]
    #[schemars(with = "ByteSizeText")]
    pub max_file_bytes: usize,
    /// All files together; they are kept in memory, and what is beyond is left out.
    #[serde(with = "byte_size::plain")]
    #[schemars(with = "ByteSizeText")]
    pub max_total_bytes: usize,
}

impl SkillsConfig {
    /// All folders, the first one first.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.dir.iter().chain(&self.dirs).cloned().collect()
    }
}

impl Default for SkillsConfig {
    fn default() -> Self {
        Self {
            dir: None,
            dirs: Vec::new(),
            name: "skills".into(),
            links: BTreeMap::new(),
            watch: true,
            cache_ttl: Duration::from_secs(600),
            max_skills: 2000,
            max_file_bytes: 1024 * 1024,
            max_total_bytes: 128 * 1024 * 1024,
        }
    }
}
