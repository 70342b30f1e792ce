//! What is generated from the types: the JSON Schema and the reference pages.

use std::fmt::Write;
use std::sync::LazyLock;

use serde_json::Value as Json;

use crate::environment::{FILE_VARIABLES, OTHER_VARIABLES, VARIABLES, Variable};
use crate::model::Config;

/// The JSON Schema of the native file.
pub fn json_schema() -> Json {
    let mut schema = schemars::schema_for!(Config).to_value();
    if let Some(members) = schema.as_object_mut() {
        members.insert("title".to_owned(), "toolgate.yaml".into());
    }
    schema
}

/// The same, made once: every load compares with it.
pub(crate) fn shared() -> &'static Json {
    static SCHEMA: LazyLock<Json> = LazyLock::new(json_schema);
    &SCHEMA
}

/// The JSON Schema as it is kept in the documentation.
pub fn json_schema_text() -> String {
    format!("{:#}\n", json_schema())
}

/// The reference page of the native file.
pub fn reference_page() -> String {
    let schema = json_schema();
    let mut page = String::from(
        "# Configuration reference\n\n\
         Generated from the types; do not edit. Every key of `toolgate.yaml`, with its type and its default. \
         Lengths of time are written like `30s`, `500ms`, `5m`, `2h` or `7d`, a bare number is seconds. Amounts of \
         bytes are written like `64KB`, `10MB` or `1GB`. Relative paths are relative to the working directory.\n\n\
         In every value, `${VAR}`, `${VAR:-default}`, `${ENV:VAR}`, `${ENV:VAR:-default}` and `${file:PATH}` stand for a \
         variable or the content of a file, and `$$` for a plain `$`. A server that lacks a value it needs is \
         disabled; the others run.\n",
    );
    let mut waiting = vec![("The file".to_owned(), &schema)];
    let mut written = Vec::new();
    while let Some((title, section)) = waiting.pop() {
        write_section(&mut page, &title, section, &schema);
        let mut below = Vec::new();
        for (key, property) in properties(section) {
            let path = if title == "The file" { key.clone() } else { format!("{title}.{key}") };
            if let Some((suffix, name)) = nested(property)
                && let Some(definition) = schema.get("$defs").and_then(|defs| defs.get(name))
                && definition.get("properties").is_some()
                && !written.contains(&name)
            {
                written.push(name);
                below.push((format!("{path}{suffix}"), definition));
            }
        }
        waiting.extend(below.into_iter().rev());
    }
    page
}

/// The reference page of the variables.
pub fn environment_page() -> String {
    let mut page = String::from(
        "# Environment variables\n\n\
         Generated from the code; do not edit. A variable wins over the file, a flag wins over a variable. An empty \
         variable counts as not set.\n\n\
         | Variable | Sets | Meaning |\n|---|---|---|\n",
    );
    let row = |page: &mut String, variable: &Variable| {
        let sets = if variable.path.is_empty() { String::new() } else { format!("`{}`", variable.path) };
        let _ = writeln!(page, "| `{}` | {sets} | {} |", variable.name, variable.meaning);
    };
    let (ours, older): (Vec<_>, Vec<_>) =
        VARIABLES.iter().partition(|variable| variable.name.starts_with("TOOLGATE_"));
    FILE_VARIABLES
        .iter()
        .chain(ours)
        .chain(OTHER_VARIABLES)
        .chain(older)
        .for_each(|variable| row(&mut page, variable));
    page.push_str(
        "| `TOOLGATE_INPUT_…` | | The value of an input of VS Code's `mcp.json`, its id in capitals. |\n",
    );
    page
}

fn write_section(page: &mut String, title: &str, section: &Json, root: &Json) {
    let heading = if title == "The file" { title.to_owned() } else { format!("`{title}`") };
    let _ = write!(page, "\n## {heading}\n\n{}\n\n", one_line(description(section)));
    page.push_str("| Key | Type | Default | Meaning |\n|---|---|---|---|\n");
    let required: Vec<&str> = section
        .get("required")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .collect();
    for (key, property) in properties(section) {
        let default = match property.get("default") {
            _ if required.contains(&key.as_str()) => "required".to_owned(),
            None | Some(Json::Null) => String::new(),
            Some(Json::Object(members)) if !members.is_empty() => "below".to_owned(),
            Some(value) => format!("`{value}`"),
        };
        let meaning = one_line(description(property)) + &choices(property, root);
        let _ = writeln!(page, "| `{key}` | {} | {default} | {meaning} |", type_name(property, root));
    }
}

fn properties(section: &Json) -> impl Iterator<Item = (&String, &Json)> {
    section.get("properties").and_then(Json::as_object).into_iter().flatten()
}

/// The definition a property holds, and how it is reached: directly, by name, or in a list.
fn nested(property: &Json) -> Option<(&'static str, &str)> {
    if let Some(name) = referred(property) {
        return Some(("", name));
    }
    if let Some(name) = property.get("additionalProperties").and_then(referred) {
        return Some((".NAME", name));
    }
    property.get("items").and_then(referred).map(|name| ("[]", name))
}

/// The name of the definition behind `$ref`, also when the value may be absent.
fn referred(property: &Json) -> Option<&str> {
    let options = property.get("anyOf").and_then(Json::as_array).into_iter().flatten();
    let reference =
        property.get("$ref").or_else(|| options.into_iter().find_map(|option| option.get("$ref")));
    reference?.as_str()?.rsplit('/').next()
}

fn type_name(property: &Json, root: &Json) -> String {
    if let Some(name) = referred(property) {
        let definition = root.get("$defs").and_then(|defs| defs.get(name));
        let is_section = definition.is_some_and(|definition| definition.get("properties").is_some());
        return if is_section { "mapping" } else { "word" }.to_owned();
    }
    match property.get("format").and_then(Json::as_str) {
        Some("toolgate-duration") => return "time".to_owned(),
        Some("toolgate-byte-size") => return "bytes".to_owned(),
        _ => {}
    }
    let name = match property.get("type") {
        Some(Json::String(name)) => name.as_str(),
        Some(Json::Array(names)) => names.first().and_then(Json::as_str).unwrap_or_default(),
        _ => "",
    };
    match name {
        "string" => "text".to_owned(),
        "boolean" => "true or false".to_owned(),
        "integer" => "whole number".to_owned(),
        "array" => match property.get("items") {
            Some(items) if referred(items).is_none() => format!("list of {}", type_name(items, root)),
            _ => "list".to_owned(),
        },
        "object" => "mapping".to_owned(),
        other => other.to_owned(),
    }
}

/// The words a property may be, each with its meaning.
fn choices(property: &Json, root: &Json) -> String {
    let definition = referred(property)
        .or_else(|| property.get("items").and_then(referred))
        .or_else(|| property.get("additionalProperties").and_then(referred))
        .and_then(|name| root.get("$defs")?.get(name));
    let options = definition.and_then(|definition| definition.get("oneOf")).and_then(Json::as_array);
    let words = options.into_iter().flatten().filter_map(|option| {
        Some(format!("`{}`: {}", option.get("const")?.as_str()?, one_line(description(option))))
    });
    let words: Vec<String> = words.collect();
    if words.is_empty() { String::new() } else { format!("<br>{}", words.join("<br>")) }
}

fn description(schema: &Json) -> &str {
    schema.get("description").and_then(Json::as_str).unwrap_or_default()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
