//! The tree every format is read into.
//!
//! YAML, JSON and TOML have their own parsers and none of them keeps what we need at once: all values, their
//! exact text (an identifier such as `0755` must not become 493), and where each one was written. So each format
//! has a small reader that fills this tree, and everything after it (conversion, references, checks, origins)
//! works on the tree alone. A value that came from a flag or a variable carries that instead of a line.

pub(crate) mod json;
pub(crate) mod toml;
pub(crate) mod yaml;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// A file larger than this is refused before it is parsed.
pub(crate) const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// Values nested deeper than this are refused.
pub(crate) const MAX_DEPTH: usize = 64;
/// A document with more values than this, aliases expanded, is refused.
pub(crate) const MAX_NODES: usize = 200_000;

/// Where a value was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody wrote it: it is the built-in default.
    Default,
    /// A place in a file, line and column counted from one.
    File {
        /// The file as it was named to us.
        file: Arc<Path>,
        /// Line, counted from one.
        line: u32,
        /// Column, counted from one, in characters.
        column: u32,
    },
    /// An environment variable.
    Environment(String),
    /// A command-line flag, with its dashes.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File { file, line, .. } => write!(formatter, "{}:{line}", file.display()),
            Self::Environment(name) => write!(formatter, "environment {name}"),
            Self::Flag(name) => write!(formatter, "flag {name}"),
        }
    }
}

impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A value and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where the value begins.
    pub origin: Origin,
    /// The value.
    pub value: Value,
    /// The text as it was written, when the value came out of references in it. Shown in place of the value, which
    /// may be a secret.
    pub written: Option<String>,
}

/// What a node holds. Numbers keep the text they were written with.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing: `null`, `~`, or a key without a value.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number that is valid JSON, as written.
    Number(String),
    /// Text.
    Text(String),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values in the order they were written.
    Mapping(Vec<Entry>),
}

/// One key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key was written.
    pub origin: Origin,
    /// What it is set to.
    pub node: Node,
}

/// Why a document could not be read at all.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{what}")]
pub(crate) struct ParseError {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) what: String,
}

impl Node {
    pub(crate) fn new(origin: Origin, value: Value) -> Self {
        Self { origin, value, written: None }
    }

    pub(crate) fn text(origin: &Origin, text: impl Into<String>) -> Self {
        Self::new(origin.clone(), Value::Text(text.into()))
    }

    pub(crate) fn empty_mapping(origin: &Origin) -> Self {
        Self::new(origin.clone(), Value::Mapping(Vec::new()))
    }

    /// The entries of a mapping; none for any other value.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Mapping(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn entries_mut(&mut self) -> Option<&mut Vec<Entry>> {
        match &mut self.value {
            Value::Mapping(entries) => Some(entries),
            _ => None,
        }
    }

    /// The items of a list; none for any other value.
    pub fn items(&self) -> &[Node] {
        match &self.value {
            Value::Sequence(items) => items,
            _ => &[],
        }
    }

    /// The value of `key` when this is a mapping that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.entries_mut()?.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// The text of a scalar as it was written; `None` for null, lists and mappings.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text),
            Value::Boolean(true) => Some("true"),
            Value::Boolean(false) => Some("false"),
            _ => None,
        }
    }

    /// The text to put in messages: as it was written, so that nothing a reference led to is repeated.
    pub(crate) fn shown(&self) -> &str {
        self.written.as_deref().or(self.as_text()).unwrap_or_default()
    }

    /// Sets `key` in this mapping, replacing what was there. A value that is no mapping becomes one.
    pub(crate) fn set(&mut self, key: &str, node: Self) {
        self.put(Entry { key: key.to_owned(), origin: node.origin.clone(), node });
    }

    /// Sets a key like [`Node::set`], keeping the place its name was written at.
    pub(crate) fn put(&mut self, entry: Entry) {
        if !matches!(self.value, Value::Mapping(_)) {
            self.value = Value::Mapping(Vec::new());
        }
        let Some(entries) = self.entries_mut() else { return };
        match entries.iter_mut().find(|present| present.key == entry.key) {
            Some(present) => *present = entry,
            None => entries.push(entry),
        }
    }

    /// Sets the value at a dotted path such as `listen.port`, making the mappings on the way.
    pub(crate) fn set_path(&mut self, path: &str, node: Node) {
        match path.split_once('.') {
            None => self.set(path, node),
            Some((head, rest)) => {
                if !self.get(head).is_some_and(|child| matches!(child.value, Value::Mapping(_))) {
                    self.set(head, Self::empty_mapping(&node.origin));
                }
                if let Some(child) = self.get_mut(head) {
                    child.set_path(rest, node);
                }
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Node> {
        let entries = self.entries_mut()?;
        let position = entries.iter().position(|entry| entry.key == key)?;
        Some(entries.remove(position).node)
    }

    /// Lays `over` on top of this tree: mappings are merged key by key, everything else is replaced.
    pub(crate) fn merge(&mut self, over: Self) {
        match (&mut self.value, over.value) {
            (Value::Mapping(_), Value::Mapping(entries)) => {
                for entry in entries {
                    match self.get_mut(&entry.key) {
                        Some(below) => below.merge(entry.node),
                        None => self.put(entry),
                    }
                }
            }
            (value, over_value) => {
                *value = over_value;
                self.origin = over.origin;
            }
        }
    }

    /// The same value as JSON, without places.
    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Boolean(value) => (*value).into(),
            Value::Number(text) => {
                serde_json::from_str(text).unwrap_or_else(|_| serde_json::Value::String(text.clone()))
            }
            Value::Text(text) => serde_json::Value::String(text.clone()),
            Value::Sequence(items) => items.iter().map(Self::to_json).collect(),
            Value::Mapping(entries) => {
                serde_json::Value::Object(entries.iter().map(|e| (e.key.clone(), e.node.to_json())).collect())
            }
        }
    }

    /// A tree with one origin out of plain JSON.
    pub fn from_json(json: &serde_json::Value, origin: &Origin) -> Self {
        let value = match json {
            serde_json::Value::Null => Value::Null,
            serde_json::Value::Bool(value) => Value::Boolean(*value),
            serde_json::Value::Number(number) => Value::Number(number.to_string()),
            serde_json::Value::String(text) => Value::Text(text.clone()),
            serde_json::Value::Array(items) => {
                Value::Sequence(items.iter().map(|item| Self::from_json(item, origin)).collect())
            }
            serde_json::Value::Object(members) => Value::Mapping(
                members
                    .iter()
                    .map(|(key, member)| Entry {
                        key: key.clone(),
                        origin: origin.clone(),
                        node: Self::from_json(member, origin),
                    })
                    .collect(),
            ),
        };
        Self::new(origin.clone(), value)
    }

    /// What kind of value this is, in words for a message.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Boolean(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
        }
    }
}
