//! What entries say of each other in their `_meta`: other URIs of a resource, and the skill of a tool.

use std::collections::HashMap;
use std::sync::Arc;

use toolgate_protocol::{Object, Splice, text};

use super::Item;

/// In the `_meta` of a resource: another URI that leads to it.
const ALIAS: &str = "io.toolgate/alias";
/// In the `_meta` of a tool: the URI of the skill that says how it is used.
const SKILL: &str = "io.toolgate/skill";
/// How much of a skill's description is shown with a tool, in characters.
const MAX_DESCRIPTION: usize = 200;

/// The links of one catalogue. What they lead to are places among its resources.
#[derive(Debug, Default)]
pub(super) struct Links {
    aliases: HashMap<Arc<str>, usize>,
    /// One resource for each folder that has folders with aliases in it.
    categories: HashMap<Arc<str>, usize>,
    skills: HashMap<Arc<str>, usize>,
}

impl Links {
    /// The links between these tools and resources. A link that leads nowhere is none. Only servers that `is_ours` names
    /// have aliases: those of others could lead away from ours.
    pub(super) fn between(tools: &[Item], resources: &[Item], is_ours: &dyn Fn(usize) -> bool) -> Links {
        let mut links = Links::default();
        for (at, item) in resources.iter().enumerate().filter(|(_, item)| is_ours(item.server)) {
            if let Some(alias) = item.entry.meta_text(ALIAS) {
                links.add_categories(&alias, at);
                links.aliases.entry(Arc::from(&*alias)).or_insert(at);
            }
        }
        let named = tools.iter().filter_map(|tool| Some((tool.exposed(), tool.entry.meta_text(SKILL)?)));
        let named: Vec<_> = named.collect();
        links.add_skills(resources, named.iter().map(|(tool, uri)| (*tool, &**uri)));
        links
    }

    /// Adds the folders that a folder with an alias is in.
    fn add_categories(&mut self, folder: &str, at: usize) {
        let mut folder = folder;
        while let Some((outer, _)) = folder.rsplit_once('/').filter(|(outer, _)| !outer.ends_with('/')) {
            self.categories.entry(Arc::from(outer)).or_insert(at);
            folder = outer;
        }
    }

    /// Adds the skills of tools: exposed names and URIs.
    pub(super) fn add_skills<'a>(
        &mut self,
        resources: &[Item],
        skills: impl Iterator<Item = (&'a str, &'a str)>,
    ) {
        let mut skills = skills.peekable();
        if skills.peek().is_none() {
            return;
        }
        // Of several servers with the same URI the one counts that keeps it, or else the first.
        let keeps = |item: &Item| item.exposed == *item.native();
        let all = resources.iter().enumerate().rev();
        let (keepers, others): (Vec<_>, Vec<_>) = all.partition(|(_, item)| keeps(item));
        let natives: HashMap<&str, usize> =
            others.into_iter().chain(keepers).map(|(at, item)| (&**item.native(), at)).collect();
        for (tool, uri) in skills {
            if let Some(at) = natives.get(uri).copied().or_else(|| self.alias(uri)) {
                self.skills.insert(Arc::from(tool), at);
            }
        }
    }

    /// The resource that an alias stands for.
    pub(super) fn alias(&self, uri: &str) -> Option<usize> {
        self.aliases.get(uri).copied()
    }

    /// Whether nothing has another URI.
    pub(super) fn has_no_aliases(&self) -> bool {
        self.aliases.is_empty()
    }

    /// A resource in this folder of folders.
    pub(super) fn in_category(&self, folder: &str) -> Option<usize> {
        self.categories.get(folder).copied()
    }

    /// The resource that is a tool's skill.
    pub(super) fn skill_of(&self, tool: &str) -> Option<usize> {
        self.skills.get(tool).copied()
    }
}

/// What is said of a skill in the description of a tool: its URI and one line.
pub(super) fn words(skill: &Item) -> String {
    let description = Object::parse(skill.entry.raw()).ok().and_then(|entry| entry.text("description"));
    let line = description.as_deref().unwrap_or_default().lines().next().unwrap_or_default().trim();
    let line: String = line.chars().take(MAX_DESCRIPTION).collect();
    let dash = if line.is_empty() { "" } else { ": " };
    format!("Skill {}{dash}{line}", skill.exposed)
}

/// A tool's entry with more words at the end of its description.
pub(super) fn described(entry: &[u8], words: &str) -> Vec<u8> {
    let Ok(object) = Object::parse(entry) else { return entry.to_vec() };
    let mut splice = Splice::new(entry, words.len() + 32);
    match object.place("description") {
        Some(place) => {
            let own = text::string(place.of(entry)).unwrap_or_default();
            splice.replace(place, text::quote(format!("{own}\n\n{words}").trim_start()).as_bytes());
        }
        None => {
            let added = format!(r#","description":{}"#, text::quote(words));
            splice.insert(entry.len().saturating_sub(1), added.as_bytes());
        }
    }
    splice.finish()
}
