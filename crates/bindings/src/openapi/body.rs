//! The body of an operation as one argument.

use serde_json::{Map, Value, json};

use super::parameters::Input;
use super::references::Document;
use super::{LeftOut, schema};
use crate::binding::{Body, BodyKind, Shape};
use crate::template::Template;

/// The types of bodies that are supported, the best first.
const TYPES: [(&str, BodyKind); 5] = [
    ("application/json", Body::Json),
    ("application/x-www-form-urlencoded", Body::Form),
    ("multipart/form-data", Body::Multipart),
    ("text/plain", Body::Text),
    ("application/octet-stream", Body::Bytes),
];

/// Adds an argument for the body, if there is one, and says how it is sent.
pub(super) fn read(
    document: &Document<'_>,
    operation: &Map<String, Value>,
    input: &mut Input,
) -> Result<Option<Body>, LeftOut> {
    let Some(stated) = operation.get("requestBody") else { return Ok(None) };
    let stated = document.resolve(stated)?;
    let Some(content) =
        stated.get("content").and_then(Value::as_object).filter(|content| !content.is_empty())
    else {
        return Ok(None);
    };
    let find =
        |wanted: &str| content.iter().find(|(kind, _)| essence(kind) == wanted).map(|(_, media)| media);
    let found = TYPES.iter().find_map(|(kind, make)| Some((*make, find(kind)?)));
    let found = found.or_else(|| Some((TYPES[0].1, find("*/*")?)));
    let like_json = || content.iter().find(|(kind, _)| essence(kind).ends_with("+json"));
    let (make, media, other_name) = match (found, like_json()) {
        (Some((make, media)), _) => (make, media, None),
        (None, Some((kind, media))) => (TYPES[0].1, media, Some(essence(kind))),
        (None, None) => {
            let kinds: Vec<&str> = content.keys().map(String::as_str).collect();
            return Err(LeftOut::BodyType(kinds.join(", ")));
        }
    };
    let described = media.get("schema").map_or_else(|| json!({}), |it| schema::whole(document, it));
    let required = stated.get("required") == Some(&json!(true));
    let argument = |key: &str| Shape::Filled(Template::of_argument(key));
    // Only here is it known what the body is, and with that, what its argument must be.
    let body = make(Shape::Fixed(Value::Null));
    let (described, files) = match body {
        Body::Bytes(_) => (base64_text(&described), Vec::new()),
        Body::Multipart(_) => with_files(described),
        _ => (described, Vec::new()),
    };
    let key = input.add_body(described, required)?;
    Ok(Some(match other_name {
        Some(kind) => Body::JsonAs(kind, argument(&key)),
        None if !files.is_empty() => Body::Files(files, argument(&key)),
        None => make(argument(&key)),
    }))
}

/// The schema of bytes in JSON, with the words of this one.
fn base64_text(described: &Value) -> Value {
    let words = described.get("description").and_then(Value::as_str);
    json!({"type": "string", "contentEncoding": "base64", "description": words.unwrap_or("The bytes, as base64.")})
}

/// The schema of a form with the schemas of files in it replaced, and the names of these.
fn with_files(mut described: Value) -> (Value, Vec<String>) {
    let mut files = Vec::new();
    let is_file = |schema: &Value| schema.get("format") == Some(&json!("binary"));
    let properties = described.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if is_file(property) {
            *property = base64_text(property);
        } else if property.get("items").is_some_and(is_file) {
            property["items"] = base64_text(&property["items"]);
        } else {
            continue;
        }
        files.push(name.clone());
    }
    (described, files)
}

/// A media type without its parameters.
pub(super) fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
