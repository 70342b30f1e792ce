//! What changed between two libraries.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::file::File;
use crate::uri::SkillPath;

/// The URIs of files that are different in two libraries, each list in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Files that were not there before.
    pub added: Vec<Arc<str>>,
    /// Files with other content than before.
    pub changed: Vec<Arc<str>>,
    /// Files that are no longer there.
    pub removed: Vec<Arc<str>>,
}

impl Difference {
    /// Whether nothing is different.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.changed.is_empty() && self.removed.is_empty()
    }

    pub(super) fn between(before: &Files, after: &Files) -> Difference {
        let missing_in = |files: &Files, other: &Files| {
            let missing = files.iter().filter(|(path, _)| !other.contains_key(path));
            missing.map(|(_, file)| Arc::clone(&file.uri)).collect()
        };
        let changed = after
            .iter()
            .filter(|(path, file)| before.get(path).is_some_and(|earlier| earlier.digest != file.digest));
        Difference {
            added: missing_in(after, before),
            changed: changed.map(|(_, file)| Arc::clone(&file.uri)).collect(),
            removed: missing_in(before, after),
        }
    }
}

type Files = BTreeMap<SkillPath, Arc<File>>;
