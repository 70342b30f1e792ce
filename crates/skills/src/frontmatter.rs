//! The head of a `SKILL.md`: YAML between two lines of `---`.
//!
//! The skills extension passes every member on as its author wrote it, so nothing is dropped or renamed here. What the
//! Agent Skills format demands of the members is checked apart from reading them: a document that fails the check is
//! still a document.

mod yaml;

use serde_json::{Map, Value};

/// How long a head may be; a model reads the description in it for every skill there is.
const MAX_HEAD_BYTES: usize = 64 * 1024;
/// What the Agent Skills format allows.
const MAX_NAME: usize = 64;
const MAX_DESCRIPTION: usize = 1024;

/// Why a document is no skill by the Agent Skills format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Flaw {
    /// There is no head.
    #[error("it has no frontmatter; begin it with a line '---', members 'name' and 'description', and '---'")]
    NoHead,
    /// There is only the beginning of one.
    #[error("its frontmatter has no end; close it with a line '---'")]
    Unclosed,
    /// The head is too long to be read.
    #[error("its frontmatter is longer than {MAX_HEAD_BYTES} bytes")]
    TooLong,
    /// The head is no YAML.
    #[error("its frontmatter cannot be read, line {line}: {what}")]
    Unreadable {
        /// The line in the document, counted from one.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// The head is a list or a single value.
    #[error("its frontmatter is not a list of members with values")]
    NoMembers,
    /// A member that must be there is not, or is no text.
    #[error("its frontmatter has no '{0}' that is text")]
    Missing(&'static str),
    /// The name breaks the rules for names.
    #[error(
        "its name '{0}' is not 1 to {MAX_NAME} lower-case letters, digits and single hyphens between them"
    )]
    BadName(String),
    /// The name is not that of its folder.
    #[error("its name '{name}' is not the name of its folder, '{folder}'")]
    OtherName {
        /// What the head says.
        name: String,
        /// What the folder is called.
        folder: String,
    },
    /// The description is empty or too long.
    #[error("its description must have 1 to {MAX_DESCRIPTION} characters")]
    BadDescription,
}

/// A document taken apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts<'a> {
    /// The members of the head, in the order they were written.
    pub head: Result<Map<String, Value>, Flaw>,
    /// What comes after the head; the whole document where there is none.
    pub body: &'a str,
}

/// Takes a document apart.
pub fn take_apart(document: &str) -> Parts<'_> {
    let text = document.strip_prefix('\u{feff}').unwrap_or(document);
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Parts { head: Err(Flaw::NoHead), body: text };
    };
    let start = first.len();
    let mut end = start;
    for line in lines {
        if line.trim_end() == "---" {
            let head = text.get(start..end).unwrap_or_default();
            return Parts { head: read_head(head), body: text.get(end + line.len()..).unwrap_or_default() };
        }
        end += line.len();
    }
    Parts { head: Err(Flaw::Unclosed), body: text }
}

/// Checks a head against the Agent Skills format; `folder` is the name of the folder the document is in.
pub fn check(head: &Map<String, Value>, folder: &str) -> Result<(), Flaw> {
    let text = |key: &'static str| head.get(key).and_then(Value::as_str).ok_or(Flaw::Missing(key));
    let name = text("name")?;
    let description = text("description")?;
    if !is_skill_name(name) {
        return Err(Flaw::BadName(name.to_owned()));
    }
    if name != folder {
        return Err(Flaw::OtherName { name: name.to_owned(), folder: folder.to_owned() });
    }
    if description.trim().is_empty() || description.chars().count() > MAX_DESCRIPTION {
        return Err(Flaw::BadDescription);
    }
    Ok(())
}

/// The tags of a head: `tags`, or `metadata.tags`, as a list or as words with commas or spaces between them.
pub fn tags(head: &Map<String, Value>) -> Vec<String> {
    let nested = || head.get("metadata").and_then(|metadata| metadata.get("tags"));
    let words = match head.get("tags").or_else(nested) {
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Some(Value::String(text)) => text.split([',', ' ']).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let mut tags: Vec<String> =
        words.iter().map(|word| word.trim().to_lowercase()).filter(|word| !word.is_empty()).collect();
    tags.sort();
    tags.dedup();
    tags
}

fn read_head(head: &str) -> Result<Map<String, Value>, Flaw> {
    if head.len() > MAX_HEAD_BYTES {
        return Err(Flaw::TooLong);
    }
    match yaml::read(head) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(Flaw::NoMembers),
        // The line that opened the head is not part of it.
        Err(error) => Err(Flaw::Unreadable { line: error.line + 1, what: error.what }),
    }
}

fn is_skill_name(name: &str) -> bool {
    let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
    (1..=MAX_NAME).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

#[cfg(test)]
mod tests;
