//! `servers add`, `servers remove` and `import` on a file people keep by hand: comments and everything else stay as they are.
//!
//! The text is changed by lines, found through the positions of the parsed tree. YAML has more ways to write a mapping
//! than anybody can edit by lines, so the changed text is read again, and if it does not hold exactly the old
//! values with the one change, nothing is changed and the error says so.

use std::path::Path;
use std::sync::Arc;

use super::record_lines;
use crate::node::{Node, Origin, Value, yaml};

/// Why a file was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The file is not valid.
    #[error("line {line}: {what}; put the file right first")]
    Invalid {
        /// Line, counted from one.
        line: u32,
        /// What is wrong.
        what: String,
    },
    /// There is a server of that name.
    #[error("there is a server `{0}` already; remove it first, or choose another name")]
    Exists(String),
    /// There is such a section.
    #[error("there is a section `{0}` already; add to it by hand")]
    SectionExists(String),
    /// There is no server of that name.
    #[error("there is no server `{0}` in this file")]
    Absent(String),
    /// The mapping is written in a way that lines cannot be added to or taken from.
    #[error("`servers` is written in a way that cannot be changed line by line; change it by hand")]
    Shape,
}

/// The text with a server added at the end of `servers`.
pub fn add_server(text: &str, name: &str, record: &Node) -> Result<String, EditError> {
    let tree = parse(text)?;
    if tree.get("servers").is_some_and(|servers| servers.get(name).is_some()) {
        return Err(EditError::Exists(name.to_owned()));
    }
    let mut lines: Vec<&str> = text.lines().collect();
    let block = match servers_line(&tree) {
        None => {
            let gap = if text.trim().is_empty() { "" } else { "\n" };
            format!("{}{gap}servers:\n{}", ended(text), record_lines(name, record, 2))
        }
        Some(line) => {
            let indent = first_key_column(&tree).map_or(2, |column| column - 1);
            let new = record_lines(name, record, indent);
            let at = block_end(&lines, line);
            let emptied;
            if tree.get("servers").is_some_and(|servers| servers.entries().is_empty()) {
                // `servers: {}` or `servers:` with nothing below; a comment behind it stays.
                emptied = lines.get(line - 1).ok_or(EditError::Shape)?.replacen("{}", "", 1);
                if let Some(first) = lines.get_mut(line - 1) {
                    *first = emptied.trim_end();
                }
            }
            let (before, after) = lines.split_at(at.min(lines.len()));
            joined(before) + &new + &joined(after)
        }
    };
    let mut expected = tree;
    expected.set_path("servers", servers_of(&expected));
    if let Some(servers) = expected.get_mut("servers") {
        servers.set(name, record.clone());
    }
    verified(block, &expected)
}

/// The text with a section added at its end.
pub fn add_section(text: &str, key: &str, section: &Node) -> Result<String, EditError> {
    let mut expected = parse(text)?;
    if expected.get(key).is_some() {
        return Err(EditError::SectionExists(key.to_owned()));
    }
    // `{}` is how an empty file may be written; nothing can stand below it.
    let is_empty = expected.entries().is_empty();
    let text = if is_empty { text.replacen("{}", "", 1) } else { text.to_owned() };
    let gap = if text.trim().is_empty() { "" } else { "\n" };
    let changed = format!("{}{gap}{}", ended(&text), record_lines(key, section, 0));
    expected.set(key, section.clone());
    verified(changed, &expected)
}

/// The text without a server.
pub fn remove_server(text: &str, name: &str) -> Result<String, EditError> {
    let tree = parse(text)?;
    let servers = tree.get("servers").ok_or_else(|| EditError::Absent(name.to_owned()))?;
    let entries = servers.entries();
    let position = entries.iter().position(|entry| entry.key == name);
    let position = position.ok_or_else(|| EditError::Absent(name.to_owned()))?;
    let lines: Vec<&str> = text.lines().collect();
    let entry = entries.get(position).ok_or(EditError::Shape)?;
    let first = line_of(&entry.origin).ok_or(EditError::Shape)?;
    let own_indent = indent_of(lines.get(first - 1).copied().unwrap_or_default());
    // Up to the next line that is not deeper; comments before the next server are the next server's.
    let is_deeper = |line: &&str| line.trim().is_empty() || indent_of(line) > own_indent;
    let following = lines.get(first..).unwrap_or_default();
    let length = following.iter().take_while(|line| is_deeper(line)).count();
    let blank = following.iter().take(length).rev().take_while(|line| line.trim().is_empty()).count();
    let kept_from = first + length - blank;
    let (before, rest) = lines.split_at(first - 1);
    let after = rest.get(kept_from - (first - 1)..).unwrap_or_default();
    let mut before = before.to_vec();
    let emptied;
    if entries.len() == 1 {
        let line = servers_line(&tree).and_then(|line| before.get_mut(line - 1)).ok_or(EditError::Shape)?;
        emptied = line.replacen("servers:", "servers: {}", 1);
        *line = &emptied;
    }
    let changed = joined(&before) + &joined(after);
    let mut expected = tree;
    if let Some(servers) = expected.get_mut("servers") {
        servers.remove(name);
    }
    verified(changed, &expected)
}

fn parse(text: &str) -> Result<Node, EditError> {
    let file: Arc<Path> = Arc::from(Path::new(""));
    yaml::parse(text, &file).map_err(|error| EditError::Invalid { line: error.line, what: error.what })
}

/// The changed text, if it means what it should.
fn verified(text: String, expected: &Node) -> Result<String, EditError> {
    let found = parse(&text).map_err(|_| EditError::Shape)?;
    if found.to_json() == expected.to_json() { Ok(text) } else { Err(EditError::Shape) }
}

fn servers_of(tree: &Node) -> Node {
    tree.get("servers")
        .filter(|servers| servers.value != Value::Null)
        .cloned()
        .unwrap_or_else(|| Node::empty_mapping(&tree.origin))
}

fn servers_line(tree: &Node) -> Option<usize> {
    let entry = tree.entries().iter().find(|entry| entry.key == "servers")?;
    line_of(&entry.origin)
}

fn first_key_column(tree: &Node) -> Option<usize> {
    match tree.get("servers")?.entries().first()?.origin {
        Origin::File { column, .. } => usize::try_from(column).ok(),
        _ => None,
    }
}

fn line_of(origin: &Origin) -> Option<usize> {
    match origin {
        Origin::File { line, .. } => usize::try_from(*line).ok().filter(|line| *line > 0),
        _ => None,
    }
}

/// How many lines there are up to the end of what stands below line `line`, blank lines after it left out.
fn block_end(lines: &[&str], line: usize) -> usize {
    let below = lines.get(line..).unwrap_or_default();
    let length = below.iter().take_while(|text| text.trim().is_empty() || indent_of(text) > 0).count();
    let blank = below.iter().take(length).rev().take_while(|text| text.trim().is_empty()).count();
    line + length - blank
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|line| [*line, "\n"]).collect()
}

fn ended(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
