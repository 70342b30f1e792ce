//! YAML into the tree, one event at a time, so that depth and size are bounded while reading.
//!
//! Aliases are copied from the finished anchored value; the count of all values includes the copies, which stops
//! documents that grow exponentially. Only the first document of a stream is read, a second one is refused.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use super::{Entry, MAX_DEPTH, MAX_NODES, Node, Origin, ParseError, Value};

/// Reads the first document of `text`; an empty document is a null.
pub(crate) fn parse(text: &str, file: &Arc<Path>) -> Result<Node, ParseError> {
    let mut builder = Builder {
        file: Arc::clone(file),
        open: Vec::new(),
        anchors: BTreeMap::new(),
        nodes: 0,
        root: None,
        documents: 0,
        merged: false,
    };
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| failure(error.marker(), plain_words(error.info())))?;
        builder.event(event, &span.start)?;
    }
    let origin = Origin::File { file: Arc::clone(file), line: 1, column: 1 };
    Ok(builder.root.unwrap_or_else(|| Node::new(origin, Value::Null)))
}

/// The type YAML's core schema gives a scalar without quotes; numbers only where JSON would agree.
pub(crate) fn plain_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Boolean(true),
        "false" | "False" | "FALSE" => Value::Boolean(false),
        _ if is_json_number(text) => Value::Number(text.to_owned()),
        _ => Value::Text(text.to_owned()),
    }
}

fn is_json_number(text: &str) -> bool {
    text.starts_with(|first: char| first == '-' || first.is_ascii_digit())
        && serde_json::from_str::<serde_json::Number>(text).is_ok()
}

struct Builder {
    file: Arc<Path>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
    documents: usize,
    /// Whether a merge key was seen, so that a mapping may hold a key it did not write itself.
    merged: bool,
}

/// A list or mapping whose end has not come yet.
struct Open {
    anchor: usize,
    origin: Origin,
    content: Content,
}

enum Content {
    Sequence(Vec<Node>),
    Mapping { entries: Vec<Entry>, seen: HashSet<String>, key: Option<(String, Origin)> },
}

impl Builder {
    fn event(&mut self, event: Event<'_>, mark: &Marker) -> Result<(), ParseError> {
        let origin = self.origin(mark);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(failure(mark, "a second document begins here; only one is allowed".into()));
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                let value = if style == ScalarStyle::Plain {
                    plain_scalar(&text)
                } else {
                    Value::Text(text.into_owned())
                };
                self.complete(Node::new(origin, value), anchor, mark)?;
            }
            Event::Alias(anchor) => {
                let Some(copy) = self.anchors.get(&anchor).cloned() else {
                    return Err(failure(mark, "this alias refers to a value that contains it".into()));
                };
                self.count(size(&copy), mark)?;
                self.complete(copy, 0, mark)?;
            }
            Event::SequenceStart(anchor, _) => {
                self.open(anchor, origin, Content::Sequence(Vec::new()), mark)?
            }
            Event::MappingStart(anchor, _) => {
                let content = Content::Mapping { entries: Vec::new(), seen: HashSet::new(), key: None };
                self.open(anchor, origin, content, mark)?;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                if let Some(open) = self.open.pop() {
                    let value = match open.content {
                        Content::Sequence(items) => Value::Sequence(items),
                        Content::Mapping { entries, .. } => Value::Mapping(entries),
                    };
                    self.complete(Node::new(open.origin, value), open.anchor, mark)?;
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn open(
        &mut self,
        anchor: usize,
        origin: Origin,
        content: Content,
        mark: &Marker,
    ) -> Result<(), ParseError> {
        if self.open.len() >= MAX_DEPTH {
            return Err(failure(mark, format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.open.push(Open { anchor, origin, content });
        Ok(())
    }

    /// A value is finished: it is a key, the value of a key, an item, or the whole document.
    fn complete(&mut self, node: Node, anchor: usize, mark: &Marker) -> Result<(), ParseError> {
        self.count(1, mark)?;
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut().map(|open| &mut open.content) {
            None => self.root = Some(node),
            Some(Content::Sequence(items)) => items.push(node),
            Some(Content::Mapping { entries, seen, key }) => match key.take() {
                None => {
                    let Some(text) = node.as_text() else {
                        return Err(failure(mark, format!("a key must be text, not {}", node.kind())));
                    };
                    if text != "<<" && !seen.insert(text.to_owned()) {
                        return Err(failure(mark, format!("the key `{text}` is here a second time")));
                    }
                    *key = Some((text.to_owned(), node.origin));
                }
                Some((name, _)) if name == "<<" => {
                    self.merged = true;
                    merge_key(entries, node);
                }
                Some((name, origin)) => {
                    // A key written by the mapping itself wins over one that a merge brought in.
                    if self.merged {
                        entries.retain(|entry| entry.key != name);
                    }
                    entries.push(Entry { key: name, origin, node });
                }
            },
        }
        Ok(())
    }

    fn count(&mut self, more: usize, mark: &Marker) -> Result<(), ParseError> {
        self.nodes = self.nodes.saturating_add(more);
        if self.nodes > MAX_NODES {
            return Err(failure(mark, format!("more than {MAX_NODES} values, aliases expanded")));
        }
        Ok(())
    }

    fn origin(&self, mark: &Marker) -> Origin {
        Origin::File { file: Arc::clone(&self.file), line: line(mark), column: column(mark) }
    }
}

/// The merge key of YAML 1.1, which people use to share settings: `<<: *defaults`.
fn merge_key(entries: &mut Vec<Entry>, node: Node) {
    match node.value {
        Value::Mapping(merged) => {
            for entry in merged {
                if entries.iter().all(|present| present.key != entry.key) {
                    entries.push(entry);
                }
            }
        }
        Value::Sequence(items) => items.into_iter().for_each(|item| merge_key(entries, item)),
        _ => {}
    }
}

fn size(node: &Node) -> usize {
    let children: usize = node.items().iter().map(size).sum::<usize>();
    1 + children + node.entries().iter().map(|entry| size(&entry.node)).sum::<usize>()
}

fn line(mark: &Marker) -> u32 {
    u32::try_from(mark.line()).unwrap_or(u32::MAX)
}

fn column(mark: &Marker) -> u32 {
    u32::try_from(mark.col() + 1).unwrap_or(u32::MAX)
}

fn failure(mark: &Marker, what: String) -> ParseError {
    ParseError { line: line(mark), column: column(mark), what }
}

/// The scanner speaks of "block mapping" and "simple key"; say what usually causes it.
fn plain_words(info: &str) -> String {
    if info.contains("tab") {
        format!("{info}; indent with spaces")
    } else if info.contains("simple key") || info.contains("block mapping") {
        format!("{info}; the indentation or a `:` is probably wrong here")
    } else {
        info.to_owned()
    }
}
