//! Does a tree have the shape of the model? Every deviation is collected, none ends the check.
//!
//! serde stops at the first error and forgets where it was, so the tree is compared with the JSON Schema that is
//! generated from the same types. What does not fit is reported and taken out; what remains can be
//! deserialised. Text is turned into the number or switch the schema asks for, because variables and references
//! only ever give text, and the other way round, because nobody quotes `PORT: 8080` under `env`.

use serde_json::Value as Json;

use crate::node::{Node, Origin, Value};
use crate::problem::{Problem, join, nearest};
use crate::{byte_size, duration};

/// Compares `node` with `schema`, takes out what does not fit and returns the reasons.
///
/// `definitions` is the schema's `$defs`. False means that the whole node does not fit.
pub(crate) fn check(
    definitions: &Json,
    schema: &Json,
    node: &mut Node,
    path: &str,
    problems: &mut Vec<Problem>,
) -> bool {
    Checker { definitions, problems }.visit(schema, node, path)
}

struct Checker<'a> {
    definitions: &'a Json,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Checker<'a> {
    fn visit(&mut self, schema: &'a Json, node: &mut Node, path: &str) -> bool {
        let schema = self.resolve(schema);
        if node.value == Value::Null {
            // A key without a value is a key that was not written.
            return false;
        }
        if let Some(choices) = choices(schema) {
            return self.choice(&choices, node, path);
        }
        if let Some(options) = schema.get("anyOf").and_then(Json::as_array) {
            let not_null = |option: &&Json| option.get("type").and_then(Json::as_str) != Some("null");
            return match options.iter().find(not_null) {
                Some(option) => self.visit(option, node, path),
                None => true,
            };
        }
        match schema.get("format").and_then(Json::as_str) {
            Some("toolgate-duration") => {
                return self.text_that(node, path, |text| duration::parse(text).err().map(|e| e.to_string()));
            }
            Some("toolgate-byte-size") => {
                return self
                    .text_that(node, path, |text| byte_size::parse(text).err().map(|e| e.to_string()));
            }
            _ => {}
        }
        match type_of(schema) {
            "object" => self.object(schema, node, path),
            "array" => self.array(schema, node, path),
            "string" => self.string(node, path),
            "boolean" => self.boolean(node, path),
            "integer" => self.number(schema, node, path, true),
            "number" => self.number(schema, node, path, false),
            _ => true,
        }
    }

    fn resolve(&self, schema: &'a Json) -> &'a Json {
        let mut schema = schema;
        // Definitions may refer to definitions; the bound only guards against a cycle without a value.
        for _ in 0..16 {
            let Some(name) = schema.get("$ref").and_then(Json::as_str) else { break };
            let Some(found) = self.definitions.get(name.rsplit('/').next().unwrap_or(name)) else { break };
            schema = found;
        }
        schema
    }

    fn object(&mut self, schema: &'a Json, node: &mut Node, path: &str) -> bool {
        let origin = node.origin.clone();
        if !matches!(node.value, Value::Mapping(_)) {
            return self.refuse(node, path, "a mapping", "");
        }
        let properties = schema.get("properties").and_then(Json::as_object);
        let others = schema.get("additionalProperties").filter(|others| others.is_object());
        let Some(entries) = node.entries_mut() else { return false };
        entries.retain_mut(|entry| {
            let known = properties.and_then(|properties| properties.get(&entry.key)).or(others);
            if let Some(schema) = known {
                return self.visit(schema, &mut entry.node, &join(path, &entry.key));
            }
            let names = properties.into_iter().flat_map(|known| known.keys().map(String::as_str));
            self.problems.push(unknown_key(&entry.origin, path, &entry.key, names));
            false
        });
        let required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
        let missing: Vec<&str> =
            required.filter_map(Json::as_str).filter(|key| node.get(key).is_none()).collect();
        for key in &missing {
            // A required value that was there and wrong has been reported already.
            let reported = join(path, key);
            if !self.problems.iter().any(|problem| problem.path == reported) {
                self.problems
                    .push(Problem::at(&origin, path, format!("`{key}` is missing")).help("it is required"));
            }
        }
        missing.is_empty()
    }

    fn array(&mut self, schema: &'a Json, node: &mut Node, path: &str) -> bool {
        if let (Value::Text(text), Origin::Environment(_) | Origin::Flag(_)) = (&node.value, &node.origin) {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            node.value = Value::Sequence(items.map(|item| Node::text(&node.origin, item)).collect());
        }
        let Value::Sequence(items) = &mut node.value else {
            return self.refuse(node, path, "a list", "write `[…]`, or one line with `- ` for each");
        };
        let Some(item_schema) = schema.get("items") else { return true };
        let mut index = 0;
        items.retain_mut(|item| {
            let kept = self.visit(item_schema, item, &format!("{path}[{index}]"));
            index += 1;
            kept
        });
        true
    }

    fn string(&mut self, node: &mut Node, path: &str) -> bool {
        match node.as_text() {
            Some(text) => {
                node.value = Value::Text(text.to_owned());
                true
            }
            None => self.refuse(node, path, "text", ""),
        }
    }

    fn boolean(&mut self, node: &mut Node, path: &str) -> bool {
        let switch = match node.as_text() {
            Some("true" | "True" | "TRUE" | "yes" | "on" | "1") => true,
            Some("false" | "False" | "FALSE" | "no" | "off" | "0") => false,
            _ => return self.refuse(node, path, "true or false", ""),
        };
        node.value = Value::Boolean(switch);
        true
    }

    fn number(&mut self, schema: &Json, node: &mut Node, path: &str, whole: bool) -> bool {
        let wanted = if whole { "a whole number" } else { "a number" };
        let text = node.as_text().map(str::trim).unwrap_or_default().to_owned();
        let number = match serde_json::from_str::<serde_json::Number>(&text) {
            Ok(number) if !whole || number.is_i64() || number.is_u64() => number,
            _ => return self.refuse(node, path, wanted, ""),
        };
        let value = number.as_f64().unwrap_or_default();
        let bound = |name: &str| schema.get(name).and_then(Json::as_f64);
        let (least, most) = (bound("minimum"), bound("maximum"));
        if least.is_some_and(|least| value < least) || most.is_some_and(|most| value > most) {
            let range = match (least, most) {
                (Some(least), Some(most)) => format!("from {least} to {most}"),
                (Some(least), None) => format!("at least {least}"),
                (None, Some(most)) => format!("at most {most}"),
                (None, None) => String::new(),
            };
            self.problems.push(
                Problem::at(&node.origin, path, format!("{} is out of range", node.shown()))
                    .help(format!("it must be {range}")),
            );
            return false;
        }
        node.value = Value::Number(text);
        true
    }

    fn choice(&mut self, choices: &[&str], node: &mut Node, path: &str) -> bool {
        let Some(text) = node.as_text().map(str::to_owned) else {
            return self.refuse(node, path, "one word", &format!("one of {}", choices.join(", ")));
        };
        let exact = choices.iter().find(|choice| choice.eq_ignore_ascii_case(&text));
        if let Some(choice) = exact {
            node.value = Value::Text((*choice).to_owned());
            return true;
        }
        let meant = nearest(&text, choices.iter().copied());
        let help = match meant {
            Some(choice) => format!("did you mean `{choice}`? one of {}", choices.join(", ")),
            None => format!("one of {}", choices.join(", ")),
        };
        self.problems.push(
            Problem::at(&node.origin, path, format!("`{}` is not known here", node.shown())).help(help),
        );
        false
    }

    fn text_that(&mut self, node: &Node, path: &str, fault: impl Fn(&str) -> Option<String>) -> bool {
        let Some(text) = node.as_text() else { return self.refuse(node, path, "text or a number", "") };
        if fault(text).is_none() {
            return true;
        }
        // What is said is about the text as it was written; a reference is no length of time either.
        let what = fault(node.shown()).unwrap_or_else(|| "its value does not fit".to_owned());
        self.problems.push(Problem::at(&node.origin, path, what));
        false
    }

    fn refuse(&mut self, node: &Node, path: &str, wanted: &str, help: &str) -> bool {
        let found = match &node.value {
            Value::Text(_) if node.shown().chars().count() <= 40 => format!("`{}`", node.shown()),
            _ => node.kind().to_owned(),
        };
        self.problems
            .push(Problem::at(&node.origin, path, format!("expected {wanted}, found {found}")).help(help));
        false
    }
}

/// The problem of a key that does not exist, with the one that was probably meant.
pub(crate) fn unknown_key<'a>(
    origin: &Origin,
    path: &str,
    key: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Problem {
    let help = match nearest(key, known.clone()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("known here: {}", known.collect::<Vec<_>>().join(", ")),
    };
    Problem::at(origin, join(path, key), format!("unknown key `{key}`")).help(help)
}

/// The words a schema allows, when it allows only words.
fn choices(schema: &Json) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Json::as_array) {
        return words.iter().filter(|word| !word.is_null()).map(Json::as_str).collect();
    }
    schema.get("oneOf")?.as_array()?.iter().map(|option| option.get("const")?.as_str()).collect()
}

fn type_of(schema: &Json) -> &str {
    match schema.get("type") {
        Some(Json::String(name)) => name,
        Some(Json::Array(names)) => {
            names.iter().filter_map(Json::as_str).find(|name| *name != "null").unwrap_or("")
        }
        _ => "",
    }
}
