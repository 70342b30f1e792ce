//! One skill: a folder with a `SKILL.md` in it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::file::File;
use crate::frontmatter::{self, Flaw};
use crate::uri::SkillPath;

/// How long a description is that was made out of the document, in characters.
const MADE_DESCRIPTION: usize = 200;

/// A skill, or a plain document where it has a flaw.
#[derive(Clone, Debug)]
pub struct Skill {
    /// Its folder: `category/name`.
    pub path: SkillPath,
    /// What it is called: the name of its folder.
    pub name: String,
    /// What it is for: the frontmatter's word, or else the first line of text.
    pub description: String,
    /// What it is about, in lower case and in order.
    pub tags: Vec<String>,
    /// The members of its frontmatter, as they were written; none where it cannot be read.
    pub frontmatter: Map<String, Value>,
    /// Why it is only a plain document; nothing for a skill.
    pub flaw: Option<Flaw>,
    /// Its files, those of skills inside of it too. The document comes first.
    pub files: Vec<Arc<File>>,
}

impl Skill {
    /// The skill in this folder. `document` is its `SKILL.md`, `others` its other files.
    pub(crate) fn new(path: SkillPath, document: Arc<File>, others: Vec<Arc<File>>) -> Skill {
        let text = document.text().unwrap_or_default();
        let parts = frontmatter::take_apart(text);
        let name = path.last().to_owned();
        let (head, flaw) = match parts.head {
            Ok(head) => {
                let flaw = frontmatter::check(&head, &name).err();
                (head, flaw)
            }
            Err(flaw) => (Map::new(), Some(flaw)),
        };
        let written = head.get("description").and_then(Value::as_str).map(str::trim);
        let description =
            written.filter(|text| !text.is_empty()).map_or_else(|| first_line(parts.body), str::to_owned);
        let tags = frontmatter::tags(&head);
        let files = std::iter::once(document).chain(others).collect();
        Skill { path, name, description, tags, frontmatter: head, flaw, files }
    }

    /// Its `SKILL.md`.
    pub fn document(&self) -> Option<&Arc<File>> {
        self.files.first()
    }

    /// The URI of its `SKILL.md`.
    pub fn uri(&self) -> &str {
        self.document().map_or("", |document| &document.uri)
    }

    /// The folders above its own, as a path: `trading`, or `acme/billing`.
    pub fn category(&self) -> &str {
        self.path.as_str().rsplit_once('/').map_or("", |(category, _)| category)
    }

    /// What a model reads: the document without its frontmatter.
    pub fn body(&self) -> &str {
        let text = self.document().and_then(|document| document.text());
        text.map_or("", |text| frontmatter::take_apart(text).body)
    }

    /// The entry of `skills/list` and `skills/get`, with every file and its digest. Nothing for a plain document.
    pub fn entry(&self) -> Option<Value> {
        let manifest = |file: &Arc<File>| json!({"uri": &*file.uri, "digest": file.digest.to_string(), "size": file.content.len()});
        self.flaw.is_none().then(|| {
            json!({
                "uri": self.uri(),
                "frontmatter": self.frontmatter,
                "resources": self.files.iter().map(manifest).collect::<Vec<_>>(),
            })
        })
    }
}

/// The first line with words in it, without the marks of a heading.
fn first_line(body: &str) -> String {
    let lines = body.lines().map(|line| line.trim_start_matches('#').trim());
    let line = lines
        .filter(|line| !line.is_empty() && *line != "---")
        .find(|line| line.chars().any(char::is_alphanumeric));
    line.unwrap_or_default().chars().take(MADE_DESCRIPTION).collect()
}
