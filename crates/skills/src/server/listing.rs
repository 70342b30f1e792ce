//! `resources/list`, `resources/templates/list`, `skills/list`, `skills/get`.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use toolgate_protocol::{Code, ErrorReply};

use super::arguments::Params;
use super::{ALIAS, ETAG};
use crate::file::File;
use crate::library::{Library, NotServed};
use crate::skill::Skill;

/// How many entries a page has.
const PAGE: usize = 200;
/// How long a member of the frontmatter may be to be repeated in a list.
const MAX_REPEATED: usize = 1024;
/// What the extension reserves for the members of the frontmatter in the `_meta` of a resource.
const FRONTMATTER: &str = "io.modelcontextprotocol.skills/";

/// A page of the documents. Side files are found through their skills.
pub(super) fn resources(library: &Library, params: &Params) -> Result<Value, ErrorReply> {
    let skills: Vec<&Arc<Skill>> = library.skills().collect();
    let (page, next) = params.page(&skills, PAGE)?;
    let entries: Vec<Value> = page.iter().filter_map(|skill| resource_of_skill(skill)).collect();
    Ok(with_next(json!({ "resources": entries }), next))
}

/// How URIs look.
pub(super) fn templates() -> Value {
    let template = |uri: &str, name: &str, description: &str| json!({"uriTemplate": uri, "name": name, "description": description});
    json!({"resourceTemplates": [
        template("skill://{category}/{name}", "skill", "A skill by its category and name."),
        template(
            "skill://{+path}",
            "skill-file",
            "A file of a skill, 'skill://category/name/path/of/file', or the list of a category, 'skill://category/*'; \
             '?tags=a,b' behind the list keeps only skills with these tags.",
        ),
    ]})
}

/// A page of the skills, each with all its files. Plain documents are no skills.
pub(super) fn skills(library: &Library, params: &Params) -> Result<Value, ErrorReply> {
    let skills: Vec<&Arc<Skill>> = library.skills().filter(|skill| skill.flaw.is_none()).collect();
    let (page, next) = params.page(&skills, PAGE)?;
    let entries: Vec<Value> = page.iter().filter_map(|skill| skill.entry()).collect();
    Ok(with_next(json!({ "skills": entries }), next))
}

/// The entry of one skill.
pub(super) fn skill(library: &Library, params: &Params) -> Result<Value, ErrorReply> {
    let uri = params.text("uri")?;
    let nothing = || invalid(&NotServed::Nothing(uri.to_owned()));
    let skill = library.skill(uri).map_err(|error| invalid(&error))?;
    // The extension names skills by their documents only.
    let entry = skill.entry().filter(|_| skill.uri() == uri).ok_or_else(nothing)?;
    Ok(json!({ "skill": entry }))
}

/// The entry of a skill's document in a list of resources.
pub(super) fn resource_of_skill(skill: &Skill) -> Option<Value> {
    let document = skill.document()?;
    let mut entry = resource_of_file(document, &skill.name);
    entry["description"] = json!(skill.description);
    let mut meta = Map::new();
    meta.insert(ETAG.to_owned(), json!(document.digest.etag()));
    meta.insert(ALIAS.to_owned(), json!(skill.path.uri()));
    for (key, value) in &skill.frontmatter {
        let told_already = matches!(key.as_str(), "name" | "description");
        if !told_already && value.to_string().len() <= MAX_REPEATED {
            meta.insert(format!("{FRONTMATTER}{key}"), value.clone());
        }
    }
    entry["_meta"] = Value::Object(meta);
    Some(entry)
}

/// The entry of any file.
pub(super) fn resource_of_file(file: &File, name: &str) -> Value {
    let mut entry = json!({
        "uri": &*file.uri,
        "name": name,
        "mimeType": file.media_type,
        "size": file.content.len(),
        "_meta": {ETAG: file.digest.etag()},
    });
    if let Some(time) = file.modified.and_then(written) {
        entry["annotations"] = json!({ "lastModified": time });
    }
    entry
}

/// The error for a URI that leads nowhere.
pub(super) fn invalid(error: &NotServed) -> ErrorReply {
    ErrorReply::new(Code::InvalidParams, error.to_string())
}

/// A result, and where its next page begins.
pub(super) fn with_next(mut result: Value, next: Option<String>) -> Value {
    if let Some(next) = next {
        result["nextCursor"] = json!(next);
    }
    result
}

/// A time to the second, as ISO 8601 writes it.
fn written(time: SystemTime) -> Option<String> {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
    Some(time.to_string())
}
