//! YAML as JSON, one event at a time, so that depth and size are bounded while reading.
//!
//! Aliases are copied from the finished anchored value, and the copies count, which stops documents that grow
//! exponentially. A scalar without quotes is a number only where JSON would write it the same way.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Number, Value};

const MAX_DEPTH: usize = 32;
const MAX_VALUES: usize = 10_000;

/// Why a text is no YAML that is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct YamlError {
    /// Counted from one.
    pub(super) line: usize,
    pub(super) what: String,
}

/// Reads one document; an empty one is null.
pub(super) fn read(text: &str) -> Result<Value, YamlError> {
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| YamlError {
            line: error.marker().line(),
            what: format!("{}; text with ': ' or ' #' in it needs quotes", error.info()),
        })?;
        builder.take(event).map_err(|what| YamlError { line: span.start.line(), what: what.to_owned() })?;
    }
    Ok(builder.root.unwrap_or(Value::Null))
}

#[derive(Default)]
struct Builder {
    open: Vec<Open>,
    /// Finished values that aliases can stand for, with how many values each has in it.
    anchors: BTreeMap<usize, (Value, usize)>,
    values: usize,
    documents: usize,
    root: Option<Value>,
}

/// A list or mapping whose end has not come yet.
struct Open {
    anchor: usize,
    /// How many values there were before it.
    before: usize,
    content: Content,
}

enum Content {
    List(Vec<Value>),
    Members { members: Map<String, Value>, key: Option<String> },
}

impl Builder {
    fn take(&mut self, event: Event<'_>) -> Result<(), &'static str> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 { Err("a second document begins here") } else { Ok(()) }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain && tag.is_none();
                let value = if plain { plain_scalar(&text) } else { Value::String(text.into_owned()) };
                self.complete(value, anchor, 1)
            }
            Event::Alias(anchor) => match self.anchors.get(&anchor).cloned() {
                Some((value, size)) => self.complete(value, 0, size),
                None => Err("this alias refers to a value that contains it"),
            },
            Event::SequenceStart(anchor, _) => self.begin(anchor, Content::List(Vec::new())),
            Event::MappingStart(anchor, _) => {
                self.begin(anchor, Content::Members { members: Map::new(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn begin(&mut self, anchor: usize, content: Content) -> Result<(), &'static str> {
        if self.open.len() >= MAX_DEPTH {
            return Err("values are nested too deeply");
        }
        self.open.push(Open { anchor, before: self.values, content });
        Ok(())
    }

    fn end(&mut self) -> Result<(), &'static str> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.content {
            Content::List(items) => Value::Array(items),
            Content::Members { members, .. } => Value::Object(members),
        };
        let size = self.values - open.before + 1;
        // What is inside has been counted already.
        self.values = open.before;
        self.complete(value, open.anchor, size)
    }

    /// A value is finished: it is a key, the value of a key, an item, or the whole document.
    fn complete(&mut self, value: Value, anchor: usize, size: usize) -> Result<(), &'static str> {
        self.values = self.values.saturating_add(size);
        if self.values > MAX_VALUES {
            return Err("there are too many values, aliases expanded");
        }
        if anchor > 0 {
            self.anchors.insert(anchor, (value.clone(), size));
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(value),
            Some(Content::List(items)) => items.push(value),
            Some(Content::Members { members, key }) => match key.take() {
                Some(name) => {
                    members.insert(name, value);
                }
                None => {
                    let name = key_text(value).ok_or("a key must be text")?;
                    if members.contains_key(&name) {
                        return Err("this key is here a second time");
                    }
                    *key = Some(name);
                }
            },
        }
        Ok(())
    }
}

fn key_text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}

/// The type YAML's core schema gives a scalar without quotes.
fn plain_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if text.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
            let number = serde_json::from_str::<Number>(text).map(Value::Number);
            number.unwrap_or_else(|_| Value::String(text.to_owned()))
        }
        _ => Value::String(text.to_owned()),
    }
}
