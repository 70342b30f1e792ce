//! TOML into the tree. The parser gives byte ranges; lines and columns are computed from them.

use std::path::Path;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Entry, MAX_DEPTH, Node, Origin, ParseError, Value};

/// Reads a whole TOML document.
pub(crate) fn parse(text: &str, file: &Arc<Path>) -> Result<Node, ParseError> {
    let reader = Reader { file, line_starts: line_starts(text), text };
    let document = DeTable::parse(text).map_err(|error| {
        let (line, column) = reader.place(error.span().map_or(0, |span| span.start));
        ParseError { line, column, what: error.message().to_owned() }
    })?;
    let origin = reader.origin(0);
    Ok(Node::new(origin, reader.table(document.get_ref(), 0)?))
}

struct Reader<'a> {
    file: &'a Arc<Path>,
    text: &'a str,
    line_starts: Vec<usize>,
}

impl Reader<'_> {
    fn node(&self, value: &Spanned<DeValue<'_>>, depth: usize) -> Result<Node, ParseError> {
        let start = value.span().start;
        if depth > MAX_DEPTH {
            let (line, column) = self.place(start);
            return Err(ParseError { line, column, what: format!("nested deeper than {MAX_DEPTH} levels") });
        }
        let read = match value.get_ref() {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
                Ok(number) => Value::Number(number.to_string()),
                Err(_) => Value::Text(integer.to_string()),
            },
            DeValue::Float(float) => super::yaml::plain_scalar(float.as_str()),
            DeValue::Boolean(value) => Value::Boolean(*value),
            DeValue::Datetime(moment) => Value::Text(moment.to_string()),
            DeValue::Array(items) => Value::Sequence(
                items.iter().map(|item| self.node(item, depth + 1)).collect::<Result<_, _>>()?,
            ),
            DeValue::Table(table) => self.table(table, depth + 1)?,
        };
        Ok(Node::new(self.origin(start), read))
    }

    fn table(&self, table: &DeTable<'_>, depth: usize) -> Result<Value, ParseError> {
        let mut members: Vec<_> = table.iter().collect();
        // The parser sorts by name; people read problems in the order of the file.
        members.sort_by_key(|(key, _)| key.span().start);
        let entries = members.into_iter().map(|(key, value)| {
            Ok(Entry {
                key: key.get_ref().to_string(),
                origin: self.origin(key.span().start),
                node: self.node(value, depth)?,
            })
        });
        Ok(Value::Mapping(entries.collect::<Result<_, _>>()?))
    }

    fn origin(&self, offset: usize) -> Origin {
        let (line, column) = self.place(offset);
        Origin::File { file: Arc::clone(self.file), line, column }
    }

    fn place(&self, offset: usize) -> (u32, u32) {
        let line = self.line_starts.partition_point(|start| *start <= offset).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(start..offset).map_or(0, |text| text.chars().count()) + 1;
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}
