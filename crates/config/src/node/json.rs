//! JSON into the tree, with the liberties the programs of the field take: `//` and `/* */` comments and a comma
//! before a closing bracket. Written by hand because no parser at hand gives both positions and comments.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use super::{Entry, MAX_DEPTH, MAX_NODES, Node, Origin, ParseError, Value};

/// Reads a whole JSON document.
pub(crate) fn parse(text: &str, file: &Arc<Path>) -> Result<Node, ParseError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { rest: text.chars(), line: 1, column: 1, file, nodes: 0 };
    let node = reader.value(0)?;
    reader.space()?;
    match reader.peek() {
        None => Ok(node),
        Some(more) => Err(reader.failure(format!("`{more}` after the end of the document"))),
    }
}

struct Reader<'a> {
    rest: std::str::Chars<'a>,
    line: u32,
    column: u32,
    file: &'a Arc<Path>,
    nodes: usize,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Result<Node, ParseError> {
        self.space()?;
        self.nodes += 1;
        if depth > MAX_DEPTH {
            return Err(self.failure(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        if self.nodes > MAX_NODES {
            return Err(self.failure(format!("more than {MAX_NODES} values")));
        }
        let origin = self.origin();
        let value = match self.peek() {
            Some('{') => self.object(depth)?,
            Some('[') => self.array(depth)?,
            Some('"') => Value::Text(self.string()?),
            Some(first) if first == '-' || first.is_ascii_alphanumeric() => self.word()?,
            Some(other) => return Err(self.failure(format!("expected a value, found `{other}`"))),
            None => return Err(self.failure("expected a value, found the end of the file".into())),
        };
        Ok(Node::new(origin, value))
    }

    fn object(&mut self, depth: usize) -> Result<Value, ParseError> {
        self.take();
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        loop {
            self.space()?;
            match self.peek() {
                Some('}') => break,
                Some('"') => {}
                _ => return Err(self.failure("expected a key in double quotes or `}`".into())),
            }
            let origin = self.origin();
            let key = self.string()?;
            if !seen.insert(key.clone()) {
                return Err(self.failure(format!("the key `{key}` is here a second time")));
            }
            self.space()?;
            if self.peek() != Some(':') {
                return Err(self.failure(format!("expected `:` after the key `{key}`")));
            }
            self.take();
            let node = self.value(depth + 1)?;
            entries.push(Entry { key, origin, node });
            if !self.comma('}')? {
                break;
            }
        }
        self.take();
        Ok(Value::Mapping(entries))
    }

    fn array(&mut self, depth: usize) -> Result<Value, ParseError> {
        self.take();
        let mut items = Vec::new();
        loop {
            self.space()?;
            if self.peek() == Some(']') {
                break;
            }
            items.push(self.value(depth + 1)?);
            if !self.comma(']')? {
                break;
            }
        }
        self.take();
        Ok(Value::Sequence(items))
    }

    /// True after a comma, false before the closing bracket, which is left for the caller.
    fn comma(&mut self, close: char) -> Result<bool, ParseError> {
        self.space()?;
        match self.peek() {
            Some(',') => {
                self.take();
                Ok(true)
            }
            Some(found) if found == close => Ok(false),
            Some(found) => Err(self.failure(format!("expected `,` or `{close}`, found `{found}`"))),
            None => Err(self.failure(format!("the file ends before the closing `{close}`"))),
        }
    }

    /// Finds the end of the string and leaves the escapes to `serde_json`, which knows surrogates.
    fn string(&mut self) -> Result<String, ParseError> {
        let (line, column) = (self.line, self.column);
        let begin = self.rest.as_str();
        let unclosed = || ParseError { line, column, what: "this text has no closing quote".into() };
        self.take();
        loop {
            match self.take() {
                Some('"') => break,
                Some('\\') => {
                    self.take();
                }
                Some('\n') | None => return Err(unclosed()),
                Some(_) => {}
            }
        }
        let quoted = begin.get(..begin.len() - self.rest.as_str().len()).unwrap_or_default();
        serde_json::from_str(quoted).map_err(|_| ParseError {
            line,
            column,
            what: "this text has an invalid escape or control character".into(),
        })
    }

    fn word(&mut self) -> Result<Value, ParseError> {
        let (line, column) = (self.line, self.column);
        let mut word = String::new();
        while let Some(next) = self.peek().filter(|c| c.is_ascii_alphanumeric() || "+-.".contains(*c)) {
            word.push(next);
            self.take();
        }
        match word.as_str() {
            "null" => Ok(Value::Null),
            "true" => Ok(Value::Boolean(true)),
            "false" => Ok(Value::Boolean(false)),
            _ if serde_json::from_str::<serde_json::Number>(&word).is_ok() => Ok(Value::Number(word)),
            _ => {
                Err(ParseError { line, column, what: format!("`{word}` is not a value; text needs quotes") })
            }
        }
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), ParseError> {
        loop {
            let rest = self.rest.as_str();
            if rest.starts_with("//") {
                while self.peek().is_some_and(|next| next != '\n') {
                    self.take();
                }
            } else if rest.starts_with("/*") {
                let Some(end) = rest.get(2..).and_then(|body| body.find("*/")) else {
                    return Err(self.failure("this comment has no end".into()));
                };
                let after = rest.len() - end - 4;
                while self.rest.as_str().len() > after {
                    self.take();
                }
            } else if self.peek().is_some_and(char::is_whitespace) {
                self.take();
            } else {
                return Ok(());
            }
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.clone().next()
    }

    fn take(&mut self) -> Option<char> {
        let next = self.rest.next()?;
        if next == '\n' {
            self.line = self.line.saturating_add(1);
            self.column = 1;
        } else {
            self.column = self.column.saturating_add(1);
        }
        Some(next)
    }

    fn origin(&self) -> Origin {
        Origin::File { file: Arc::clone(self.file), line: self.line, column: self.column }
    }

    fn failure(&self, what: String) -> ParseError {
        ParseError { line: self.line, column: self.column, what }
    }
}
