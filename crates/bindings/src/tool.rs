//! A tool: what clients are told of it, and the request it makes.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::binding::Binding;

/// The longest name of a tool.
pub const MAX_NAME: usize = 64;

/// How much is told of what is wrong with a schema, in characters.
const MAX_WORDS: usize = 300;

/// A tool bound to a request.
#[derive(Clone, Debug)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// A name for people.
    pub title: Option<String>,
    /// The JSON Schema of its arguments.
    pub input_schema: Value,
    /// What may be said of its effects.
    pub effects: Effects,
    /// Further members of its `_meta`.
    pub meta: Map<String, Value>,
    /// The request it makes.
    pub binding: Binding,
}

/// What a call does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// It changes nothing.
    pub read_only: bool,
    /// Called twice, it does what it does once.
    pub idempotent: bool,
    /// It may destroy something.
    pub destructive: bool,
}

/// Tools by name, as they are served together.
#[derive(Clone, Debug, Default)]
pub struct Tools {
    by_name: BTreeMap<String, Arc<Tool>>,
}

impl Tool {
    /// Its entry in `tools/list`.
    pub fn definition(&self) -> Value {
        let mut definition = json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": self.input_schema,
            "annotations": {
                "readOnlyHint": self.effects.read_only,
                "idempotentHint": self.effects.idempotent,
                "destructiveHint": self.effects.destructive,
                "openWorldHint": true,
            },
        });
        if let Some(title) = &self.title {
            definition["title"] = json!(title);
        }
        if !self.meta.is_empty() {
            definition["_meta"] = Value::Object(self.meta.clone());
        }
        definition
    }
}

impl Tools {
    /// Adds a tool; false where there is one of that name already, which stays.
    pub fn add(&mut self, tool: Tool) -> bool {
        if self.by_name.contains_key(&tool.name) {
            return false;
        }
        self.by_name.insert(tool.name.clone(), Arc::new(tool));
        true
    }

    /// The tool of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name)
    }

    /// All of them, in the order of their names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Tool>> {
        self.by_name.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// Whether clients would see a difference.
    pub fn is_same_as(&self, other: &Tools) -> bool {
        self.len() == other.len()
            && self.iter().zip(other.iter()).all(|(one, other)| one.definition() == other.definition())
    }
}

/// Why a schema of arguments is none: the gate could not check arguments by it, and let all of them pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words} (at '{path}' of the schema)")]
pub struct BadSchema {
    /// Where, as a JSON pointer.
    pub path: String,
    /// What is wrong.
    pub words: String,
}

/// Whether arguments can be checked by a schema: it is one by the metaschema of 2020-12, and complete in itself.
pub fn check_schema(schema: &Value) -> Result<(), BadSchema> {
    let bad = |error: &jsonschema::ValidationError<'_>| BadSchema {
        path: error.instance_path().to_string(),
        words: error.to_string().chars().take(MAX_WORDS).collect(),
    };
    jsonschema::draft202012::meta::validate(schema).map_err(|error| bad(&error))?;
    jsonschema::options().build(schema).map(drop).map_err(|error| bad(&error))
}

/// Whether a name can be that of a tool.
pub fn is_tool_name(name: &str) -> bool {
    (1..=MAX_NAME).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}
