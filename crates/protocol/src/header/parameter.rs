//! Tool arguments that a tool's schema wants repeated in `Mcp-Param-…` headers.

use std::borrow::Cow;

use crate::object::Object;
use crate::scan::Shape;
use crate::text;

/// One annotated argument: where it stands in the arguments and which header repeats it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The names of the properties that lead to it.
    pub path: Vec<String>,
    /// The header, as the schema writes it, without `Mcp-Param-`.
    pub header: String,
}

/// Why a schema's annotations are not usable. The tool must then not be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("x-mcp-header at '{at}' {what}")]
pub struct InvalidAnnotation {
    at: String,
    what: &'static str,
}

/// The annotations of an input schema.
pub fn annotations(input_schema: &[u8]) -> Result<Vec<Annotation>, InvalidAnnotation> {
    if memchr::memmem::find(input_schema, b"x-mcp-header").is_none() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    collect(input_schema, &mut Vec::new(), true, &mut found)?;
    for (at, annotation) in found.iter().enumerate() {
        if found[..at].iter().any(|other| other.header.eq_ignore_ascii_case(&annotation.header)) {
            return Err(InvalidAnnotation { at: annotation.path.join("."), what: "is used twice" });
        }
    }
    Ok(found)
}

/// The value of an annotated argument as a header repeats it; nothing where it is absent or null.
pub fn value<'a>(arguments: &'a [u8], path: &[String]) -> Option<Cow<'a, str>> {
    let mut at = arguments;
    for name in path {
        at = Object::parse(at).ok()?.get(name)?;
    }
    match Shape::of(at)? {
        Shape::String => text::string(at),
        Shape::Number | Shape::Boolean => std::str::from_utf8(at).ok().map(Cow::Borrowed),
        Shape::Object | Shape::Array | Shape::Null => None,
    }
}

/// Whether a header's value says the same as the argument. Numbers are compared as numbers.
pub fn agrees(header: &str, argument: &str) -> bool {
    if header == argument {
        return true;
    }
    match (header.parse::<f64>(), argument.parse::<f64>()) {
        (Ok(header), Ok(argument)) => header == argument,
        _ => false,
    }
}

fn collect(
    schema: &[u8],
    path: &mut Vec<String>,
    reachable: bool,
    found: &mut Vec<Annotation>,
) -> Result<(), InvalidAnnotation> {
    let Ok(object) = Object::parse(schema) else {
        return each_element(schema, path, found);
    };
    if let Some(header) = object.get("x-mcp-header") {
        found.push(annotation(header, &object, path, reachable)?);
    }
    for (key, value) in object.members() {
        if key == "properties" {
            let Ok(properties) = Object::parse(value) else { continue };
            for (name, property) in properties.members() {
                path.push(name.into_owned());
                collect(property, path, reachable, found)?;
                path.pop();
            }
        } else if matches!(Shape::of(value), Some(Shape::Object | Shape::Array)) && !is_data(&key) {
            collect(value, path, false, found)?;
        }
    }
    Ok(())
}

/// Keywords whose values are data, not schemas: what looks like an annotation there is none.
fn is_data(keyword: &str) -> bool {
    matches!(keyword, "default" | "const" | "enum" | "examples" | "required")
}

fn each_element(
    schemas: &[u8],
    path: &mut Vec<String>,
    found: &mut Vec<Annotation>,
) -> Result<(), InvalidAnnotation> {
    for schema in crate::object::elements(schemas).unwrap_or_default() {
        if Shape::of(schema) == Some(Shape::Object) {
            collect(schema, path, false, found)?;
        }
    }
    Ok(())
}

fn annotation(
    header: &[u8],
    property: &Object<'_>,
    path: &[String],
    reachable: bool,
) -> Result<Annotation, InvalidAnnotation> {
    let refuse = |what| Err(InvalidAnnotation { at: path.join("."), what });
    let Some(header) = text::string(header) else { return refuse("must be a string") };
    if header.is_empty() || !header.bytes().all(is_token) {
        return refuse("must be a header name");
    }
    if !reachable || path.is_empty() {
        return refuse("must be on a property that is reached through 'properties' only");
    }
    match property.text("type").as_deref() {
        Some("string" | "integer" | "boolean") => {}
        _ => return refuse("must be on a string, integer or boolean"),
    }
    Ok(Annotation { path: path.to_vec(), header: header.into_owned() })
}

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
