//! Whose a URI is that nobody lists, because it is in a folder that somebody does.
//!
//! A skill owns all that is in its folder: who may not see its document may not see its files. Documents of this process
//! come first, those with a broken frontmatter as well, which are no skills to the extension; no server can list a file
//! into their folders.

use std::sync::Arc;

use super::{Catalog, Item, Kind, Route};

/// The longest URI that is looked for in folders.
const MAX_FILE_URI: usize = 2048;

impl Catalog {
    /// Where a folder is read: that of a skill, or one with skills in it.
    pub fn folder(&self, uri: &str) -> Option<Route> {
        let inside = self.within_own_skill(uri, None).or_else(|| self.within_skill(uri));
        inside.or_else(|| {
            let at = self.links.in_category(uri)?;
            Some(self.items(Kind::Resource).get(at)?.unlisted(uri, None))
        })
    }

    /// What is in the folder of a document of this process. Where it is listed, it is by another server.
    pub(super) fn within_own_skill(&self, uri: &str, listed: Option<&Item>) -> Option<Route> {
        if self.links.has_no_aliases() {
            return None;
        }
        let document =
            outwards(uri).find_map(|folder| self.items(Kind::Resource).get(self.links.alias(folder)?))?;
        let is_its_own = listed.is_some_and(|item| item.server == document.server);
        (!is_its_own).then(|| document.unlisted(uri, Some(document.native())))
    }

    /// What is in the folder of a skill that is listed.
    pub(super) fn within_skill(&self, uri: &str) -> Option<Route> {
        if self.items(Kind::Skill).is_empty() {
            return None;
        }
        let item = outwards(uri).find_map(|folder| self.item(Kind::Skill, &format!("{folder}/SKILL.md")))?;
        Some(item.unlisted(uri, Some(item.native())))
    }

    /// What is beside the skills of this process: the list of a category, or nothing at all, but no other server's.
    pub(super) fn within_category(&self, uri: &str) -> Option<Route> {
        let at = outwards(uri).find_map(|folder| self.links.in_category(folder))?;
        Some(self.items(Kind::Resource).get(at)?.unlisted(uri, None))
    }
}

impl Item {
    /// The way to something that its server has and does not list.
    fn unlisted(&self, uri: &str, skill: Option<&Arc<str>>) -> Route {
        Route { native: Arc::from(uri), skill: skill.map(Arc::clone), ..self.route() }
    }
}

/// A URI and the folders that it is in, innermost first.
fn outwards(uri: &str) -> impl Iterator<Item = &str> {
    let first = Some(uri).filter(|uri| uri.len() <= MAX_FILE_URI);
    std::iter::successors(first, |folder| folder.rsplit_once('/').map(|(outer, _)| outer))
}
