//! The body of an operation as one argument.

use serde_json::{Map, Value, json};

use super::parameters::Input;
use super::references::Document;
use super::{LeftOut, schema};
use crate::binding::{Body, BodyKind, Shape};
use crate::template::Template;

/// The types of bodies that are supported, the best first.
const TYPES: [(&str, BodyKind); 4] = [
    ("application/json", Body::Json),
    ("application/x-www-form-urlencoded", Body::Form),
    ("multipart/form-data", Body::Multipart),
    ("text/plain", Body::Text),
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
    let like_json =
        || content.iter().find(|(kind, _)| essence(kind).ends_with("+json")).map(|(_, media)| media);
    let found = TYPES.iter().find_map(|(kind, make)| Some((*make, find(kind)?)));
    let any = || find("*/*").or_else(like_json).map(|media| (TYPES[0].1, media));
    let Some((make, media)) = found.or_else(any) else {
        let kinds: Vec<&str> = content.keys().map(String::as_str).collect();
        return Err(LeftOut::BodyType(kinds.join(", ")));
    };
    let described =
        media.get("schema").map_or_else(|| json!({}), |described| schema::whole(document, described));
    let required = stated.get("required") == Some(&json!(true));
    let key = input.add_body(described, required)?;
    Ok(Some(make(Shape::Filled(Template::of_argument(&key)))))
}

fn essence(kind: &str) -> String {
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}
