//! `$ref` within the document.

use serde_json::Value;

use super::LeftOut;

/// How many references may lead to each other.
const LONGEST_CHAIN: usize = 16;

/// A document in which references are looked up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Document<'a> {
    root: &'a Value,
}

impl<'a> Document<'a> {
    pub(super) fn new(root: &'a Value) -> Document<'a> {
        Document { root }
    }

    pub(super) fn root(&self) -> &'a Value {
        self.root
    }

    /// What a value stands for: itself, unless it is a reference.
    pub(super) fn resolve(&self, value: &'a Value) -> Result<&'a Value, LeftOut> {
        let mut value = value;
        for _ in 0..LONGEST_CHAIN {
            match value.get("$ref").and_then(Value::as_str) {
                None => return Ok(value),
                Some(reference) => value = self.at(reference)?,
            }
        }
        Err(LeftOut::Reference("a circle of references".to_owned()))
    }

    /// What is at a reference.
    pub(super) fn at(&self, reference: &str) -> Result<&'a Value, LeftOut> {
        let nothing = || LeftOut::Reference(reference.to_owned());
        let pointer = reference.strip_prefix('#').ok_or_else(nothing)?;
        let pointer = percent_encoding::percent_decode_str(pointer).decode_utf8().map_err(|_| nothing())?;
        self.root.pointer(&pointer).ok_or_else(nothing)
    }
}
