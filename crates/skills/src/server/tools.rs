//! `read_skill` and `find_skills`, for models that can call tools but read no resources.

use std::sync::Arc;

use serde_json::{Value, json};
use toolgate_protocol::{Code, ErrorReply};

use super::arguments::Params;
use super::reading;
use super::{ETAG, NOT_MODIFIED, RANGE, READS, SHOWS_RESOURCES, URI};
use crate::file::File;
use crate::library::{Library, Selection};
use crate::range::ByteRange;
use crate::skill::Skill;

/// How many skills are found where nothing is said, and at most.
const USUAL_HITS: u64 = 10;
const MOST_HITS: u64 = 50;
/// How many other files of a skill are named when it is read.
const FILES_NAMED: usize = 50;

/// The definitions of both tools.
pub(super) fn list() -> Value {
    let annotations = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false});
    let text = |description: &str| json!({"type": "string", "description": description});
    json!({"tools": [
        {
            "name": "find_skills",
            "title": "Find skills",
            "description": "Finds skills: documents that say how a task is done here. Gives their URIs, best first, \
                            for read_skill.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": text("Words that say what the task is about. Without them all skills are listed."),
                    "category": text("Only skills of this category."),
                    "tags": {"type": "array", "items": {"type": "string"}, "description": "Only skills with all these tags."},
                    "limit": {"type": "integer", "minimum": 1, "maximum": MOST_HITS, "description": "At most so many; 10 without it."},
                },
                "additionalProperties": false,
            },
            "outputSchema": found_schema(),
            "annotations": annotations,
            "_meta": {SHOWS_RESOURCES: true},
        },
        {
            "name": "read_skill",
            "title": "Read a skill",
            "description": "Reads a skill, or a file that belongs to one, by its URI from find_skills.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "uri": text("The URI, such as skill://category/name/SKILL.md."),
                    "range": text("Only these bytes, such as bytes=0-4095."),
                    "if_none_match": text("The etag of what is known already; the answer is short if nothing has changed."),
                },
                "required": ["uri"],
                "additionalProperties": false,
            },
            "annotations": annotations,
            "_meta": {READS: "uri"},
        },
    ]})
}

/// Calls one of the two.
pub(super) fn call(library: &Library, params: &Params) -> Result<Value, ErrorReply> {
    let arguments = params.get("arguments").unwrap_or(&Value::Null);
    match params.text("name")? {
        "find_skills" => Ok(find(library, arguments, params).unwrap_or_else(|words| failed(&words))),
        "read_skill" => {
            let missing = || ErrorReply::new(Code::InvalidParams, "'uri' must be a string");
            let uri = arguments.get("uri").and_then(Value::as_str).ok_or_else(missing)?;
            // An error of the protocol, so that the gate can tell all callers the same of what is not there for them.
            let file = reading::file(library, uri)?;
            Ok(read(library, &file, arguments).unwrap_or_else(|words| failed(&words)))
        }
        name => Err(ErrorReply::new(Code::InvalidParams, format!("Unknown tool: {name}"))),
    }
}

fn find(library: &Library, arguments: &Value, params: &Params) -> Result<Value, String> {
    let text =
        |key: &str| arguments.get(key).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    let selection = match text("category") {
        Some(category) => Selection::of_category(category).map_err(|error| error.to_string())?,
        None => Selection::default(),
    };
    let tags =
        arguments.get("tags").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let selection = selection.with_tags(tags.map(str::to_owned));
    let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(USUAL_HITS).clamp(1, MOST_HITS);
    let limit = usize::try_from(limit).unwrap_or_default();
    let shown = |skill: &&Arc<Skill>| !params.hides(skill.uri());
    let skills: Vec<Arc<Skill>> = match text("query") {
        Some(query) => {
            let hits = library.find(query, &selection, usize::MAX);
            hits.into_iter().map(|hit| hit.skill).filter(|skill| shown(&skill)).take(limit).collect()
        }
        None => library.select(&selection).filter(shown).take(limit).cloned().collect(),
    };
    let lines: Vec<String> = skills
        .iter()
        .map(|skill| format!("- {} ({}): {}", skill.name, skill.uri(), skill.description))
        .collect();
    let text = if lines.is_empty() { "No skill fits.".to_owned() } else { lines.join("\n") };
    let found: Vec<Value> = skills.iter().map(|skill| found(skill)).collect();
    Ok(json!({"content": [{"type": "text", "text": text}], "structuredContent": {"skills": found}}))
}

fn read(library: &Library, file: &File, arguments: &Value) -> Result<Value, String> {
    let text = |key: &str| arguments.get(key).and_then(Value::as_str);
    let mut meta = json!({URI: &*file.uri, ETAG: file.digest.etag()});
    if text("if_none_match").is_some_and(|tags| file.digest.is_among(tags)) {
        meta[NOT_MODIFIED] = json!(true);
        return Ok(json!({"content": [{"type": "text", "text": "Not modified."}], "_meta": meta}));
    }
    let range = text("range")
        .map(|range| ByteRange::parse_header(range).ok_or("'range' must look like bytes=0-4095"));
    let contents = reading::contents(file, range.transpose()?).map_err(|error| error.message)?;
    let document =
        contents.get("text").ok_or_else(|| format!("{} is {}, not text", file.uri, file.media_type))?;
    if let Some(range) = contents.pointer(&format!("/_meta/{}", RANGE.replace('/', "~1"))) {
        meta[RANGE] = range.clone();
    }
    let mut content = vec![json!({"type": "text", "text": document})];
    let skill = library.skill_of(file);
    let others: Vec<&str> = skill
        .iter()
        .flat_map(|skill| &skill.files)
        .skip(1)
        .take(FILES_NAMED)
        .map(|file| &*file.uri)
        .collect();
    if !others.is_empty() {
        content.push(json!({"type": "text", "text": format!("Files of this skill:\n{}", others.join("\n"))}));
    }
    Ok(json!({"content": content, "_meta": meta}))
}

fn found(skill: &Skill) -> Value {
    json!({
        "uri": skill.uri(),
        "name": skill.name,
        "category": skill.category(),
        "description": skill.description,
        "tags": skill.tags,
    })
}

fn found_schema() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {"skills": {"type": "array", "items": {
            "type": "object",
            "properties": {
                "uri": text, "name": text, "category": text, "description": text,
                "tags": {"type": "array", "items": text},
            },
            "required": ["uri", "name", "category", "description", "tags"],
        }}},
        "required": ["skills"],
    })
}

fn failed(words: &str) -> Value {
    json!({"content": [{"type": "text", "text": words}], "isError": true})
}
