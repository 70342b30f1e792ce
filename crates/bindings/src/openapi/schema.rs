//! Schemas of a document as JSON Schema 2020-12, each complete in itself.
//!
//! References are replaced by what they lead to. A schema that contains itself would never end, and some grow beyond all
//! bounds, so a reference to what is being written already, or beyond the limits, becomes a schema that allows anything:
//! the server checks what it gets in any case.

use serde_json::{Map, Value, json};

use super::references::Document;

/// How deep a schema may be, and how many values it may have.
const MOST_DEPTH: usize = 40;
const MOST_VALUES: usize = 10_000;

/// Members that mean nothing to a model, or something else in JSON Schema. Whatever begins with `x-` goes too.
const DROPPED: [&str; 7] =
    ["$ref", "nullable", "discriminator", "xml", "externalDocs", "example", "deprecated"];

/// Members under which every value is a schema, and those that are a list of schemas, or one.
const OF_NAMES: [&str; 5] = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];

/// A schema without references.
pub(super) fn whole(document: &Document<'_>, schema: &Value) -> Value {
    let mut writer = Writer { document: *document, open: Vec::new(), values: 0 };
    writer.schema(schema, 0)
}

struct Writer<'a> {
    document: Document<'a>,
    /// The references that are being written.
    open: Vec<String>,
    values: usize,
}

impl Writer<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Value {
        self.values += 1;
        if depth > MOST_DEPTH || self.values > MOST_VALUES {
            return json!({});
        }
        let Some(members) = schema.as_object() else {
            return if schema.is_boolean() { schema.clone() } else { json!({}) };
        };
        let mut written = Map::new();
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            let circular = self.open.iter().any(|open| open == reference);
            let document = self.document;
            if let (false, Ok(target)) = (circular, document.at(reference)) {
                self.open.push(reference.to_owned());
                if let Value::Object(target) = self.schema(target, depth + 1) {
                    written = target;
                }
                self.open.pop();
            }
        }
        for (key, value) in members {
            if !DROPPED.contains(&key.as_str()) && !key.starts_with("x-") {
                let value = self.member(key, value, depth);
                written.insert(key.clone(), value);
            }
        }
        without_read_only(&mut written);
        as_modern(&mut written, members.get("nullable") == Some(&json!(true)));
        Value::Object(written)
    }

    fn member(&mut self, key: &str, value: &Value, depth: usize) -> Value {
        match (key, value) {
            (_, Value::Object(named)) if OF_NAMES.contains(&key) => {
                let schemas =
                    named.iter().map(|(name, schema)| (name.clone(), self.schema(schema, depth + 1)));
                Value::Object(schemas.collect())
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(items)) => {
                items.iter().map(|item| self.schema(item, depth + 1)).collect()
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                _,
            ) => self.schema(value, depth + 1),
            // Plain data: values of an enumeration, defaults, limits.
            _ => value.clone(),
        }
    }
}

/// What only the server gives is no part of what it is sent.
fn without_read_only(schema: &mut Map<String, Value>) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    let given: Vec<String> = properties
        .iter()
        .filter(|(_, property)| property.get("readOnly") == Some(&json!(true)))
        .map(|(name, _)| name.clone())
        .collect();
    properties.retain(|name, _| !given.contains(name));
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| name.as_str().is_none_or(|name| !given.iter().any(|one| one == name)));
    }
}

/// Says in the words of 2020-12 what 3.0 says in its own: `nullable`, and limits that are exclusive by a flag.
fn as_modern(schema: &mut Map<String, Value>, nullable: bool) {
    for (flag, limit) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(Value::Bool(exclusive)) = schema.get(flag).cloned() {
            schema.remove(flag);
            if let (true, Some(value)) = (exclusive, schema.get(limit).cloned()) {
                schema.remove(limit);
                schema.insert(flag.to_owned(), value);
            }
        }
    }
    if !nullable {
        return;
    }
    if let Some(Value::String(kind)) = schema.get("type").cloned() {
        schema.insert("type".to_owned(), json!([kind, "null"]));
        if let Some(values) = schema.get_mut("enum").and_then(Value::as_array_mut)
            && !values.contains(&Value::Null)
        {
            values.push(Value::Null);
        }
    } else {
        let inner = Value::Object(std::mem::take(schema));
        schema.insert("anyOf".to_owned(), json!([inner, {"type": "null"}]));
    }
}
