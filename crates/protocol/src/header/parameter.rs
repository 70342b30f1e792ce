//! Tool arguments that a tool's schema wants repeated in `Mcp-Param-…` headers.

use std::borrow::Cow;

use crate::header::decode;
use crate::object::Object;
use crate::scan::{Scanner, Shape};
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
    // Nearly no schema has any. The name could also be written with escapes.
    let absent = |needle: &[u8]| memchr::memmem::find(input_schema, needle).is_none();
    if absent(b"x-mcp-header") && absent(br"\u") {
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

/// The value of an annotated argument as a header repeats it; nothing where it is absent or null. A whole number that
/// is written as a fraction or power is repeated in plain digits.
pub fn value<'a>(arguments: &'a [u8], path: &[String]) -> Option<Cow<'a, str>> {
    let argument = argument(arguments, path)?;
    match Shape::of(argument)? {
        Shape::String => text::string(argument),
        Shape::Number => std::str::from_utf8(argument).ok().map(plain_digits),
        Shape::Boolean => std::str::from_utf8(argument).ok().map(Cow::Borrowed),
        Shape::Object | Shape::Array | Shape::Null => None,
    }
}

/// Whether a header as it came, or its absence, says the same as the arguments. Texts must be equal; a number may be
/// written in another way.
pub fn repeats(header: Option<&str>, arguments: &[u8], path: &[String]) -> bool {
    match (header, value(arguments, path)) {
        (None, None) => true,
        (Some(header), Some(value)) => {
            let is_text = argument(arguments, path).and_then(Shape::of) == Some(Shape::String);
            decode(header).is_some_and(|header| header == value || !is_text && agrees(&header, &value))
        }
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Whether a header's value says the same as the argument. Numbers are compared as numbers.
pub fn agrees(header: &str, argument: &str) -> bool {
    header == argument || is_number(header) && is_number(argument) && equal_numbers(header, argument)
}

fn argument<'a>(arguments: &'a [u8], path: &[String]) -> Option<&'a [u8]> {
    path.iter().try_fold(arguments, |at, name| Object::parse(at).ok()?.get(name))
}

/// The largest whole number that every reader of JSON keeps exact, 2^53 - 1.
const LARGEST_SAFE: f64 = 9_007_199_254_740_991.0;

fn plain_digits(number: &str) -> Cow<'_, str> {
    if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return Cow::Borrowed(number);
    }
    match number.parse::<f64>() {
        Ok(value) if value.fract() == 0.0 && value.abs() <= LARGEST_SAFE => Cow::Owned(format!("{value:.0}")),
        _ => Cow::Borrowed(number),
    }
}

/// Whether it is written as JSON writes a number: `f64` would also read "inf" and "nan", which are texts.
fn is_number(text: &str) -> bool {
    Shape::of(text.as_bytes()) == Some(Shape::Number)
        && Scanner::new(text.as_bytes())
            .is_ok_and(|mut scanner| scanner.value().is_ok() && scanner.end().is_ok())
}

fn equal_numbers(one: &str, other: &str) -> bool {
    match (plain_digits(one).parse::<i128>(), plain_digits(other).parse::<i128>()) {
        (Ok(one), Ok(other)) => one == other,
        _ => one.parse::<f64>().is_ok_and(|one| other.parse::<f64>() == Ok(one)),
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
        if is_map_of_schemas(&key) {
            let Ok(schemas) = Object::parse(value) else { continue };
            for (name, schema) in schemas.members() {
                path.push(name.into_owned());
                collect(schema, path, reachable && key == "properties", found)?;
                path.pop();
            }
        } else if matches!(Shape::of(value), Some(Shape::Object | Shape::Array)) && !is_data(&key) {
            collect(value, path, false, found)?;
        }
    }
    Ok(())
}

/// Keywords whose members are schemas under names of the author's choice, not keywords themselves.
fn is_map_of_schemas(keyword: &str) -> bool {
    matches!(keyword, "properties" | "patternProperties" | "dependentSchemas" | "$defs" | "definitions")
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

#[cfg(test)]
mod tests;
