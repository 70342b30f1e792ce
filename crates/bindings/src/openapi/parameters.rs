//! The parameters of an operation as arguments of a tool.

use http::HeaderName;
use http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, TRANSFER_ENCODING,
};
use serde_json::{Map, Value, json};

use super::references::Document;
use super::{LeftOut, schema};
use crate::binding::{Binding, Parameter, Style};
use crate::template::{Part, Template};

/// How many arguments a tool may have.
const MOST_ARGUMENTS: usize = 128;

/// The arguments of a tool while they are gathered.
#[derive(Debug, Default)]
pub(super) struct Input {
    arguments: Vec<Argument>,
}

#[derive(Debug)]
struct Argument {
    /// Its name among the arguments.
    key: String,
    /// Its name in the document.
    name: String,
    place: Place,
    schema: Value,
    required: bool,
}

#[derive(Debug, PartialEq)]
enum Place {
    Path,
    Query(Style),
    Header(HeaderName),
    Cookie,
    Body,
}

/// Reads the parameters of a path and of its operation, of which the latter count more.
pub(super) fn read(
    document: &Document<'_>,
    item: &Value,
    operation: &Map<String, Value>,
) -> Result<Input, LeftOut> {
    let mut input = Input::default();
    let own = operation.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let shared = item.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for parameter in own.chain(shared) {
        let parameter = document.resolve(parameter)?;
        let text = |key: &str| parameter.get(key).and_then(Value::as_str);
        let (Some(name), Some(place)) = (text("name"), text("in")) else {
            return Err(LeftOut::Parameter("without a name".to_owned()));
        };
        if seen.contains(&(name, place)) {
            continue;
        }
        seen.push((name, place));
        let required = parameter.get("required") == Some(&json!(true));
        let Some(mut place) = placed(name, place, parameter)? else {
            continue;
        };
        let content = parameter.get("content").and_then(Value::as_object);
        let described = content.and_then(|content| content.values().next()?.get("schema"));
        let described = parameter.get("schema").or(described).unwrap_or(&Value::Bool(true));
        let mut described = schema::whole(document, described);
        // Where nothing says that it is an object, an object would be parameters of the caller's choice.
        if place == Place::Query(Style::Repeated) && described.get("type") == Some(&json!("object")) {
            place = Place::Query(Style::Members);
        }
        if let (Some(words), Some(members)) = (text("description"), described.as_object_mut()) {
            members.entry("description").or_insert_with(|| json!(words));
        }
        input.add(name, place, described, required)?;
    }
    Ok(input)
}

/// Where a parameter goes; nothing for headers that are not a parameter's to set.
fn placed(name: &str, place: &str, parameter: &Value) -> Result<Option<Place>, LeftOut> {
    let style = parameter.get("style").and_then(Value::as_str);
    let explode = parameter.get("explode").and_then(Value::as_bool);
    let unsupported = || LeftOut::Style(name.to_owned());
    if let Some(content) = parameter.get("content").and_then(Value::as_object) {
        let kind = content.keys().next().map(|kind| super::body::essence(kind));
        let is_json = kind.is_some_and(|kind| kind == "application/json" || kind.ends_with("+json"));
        return if place == "query" && is_json {
            Ok(Some(Place::Query(Style::Json)))
        } else {
            Err(unsupported())
        };
    }
    Ok(Some(match (place, style) {
        ("path", None | Some("simple")) => Place::Path,
        ("query", None | Some("form")) if explode != Some(false) => Place::Query(Style::Repeated),
        ("query", None | Some("form")) => Place::Query(Style::Joined(',')),
        ("query", Some("spaceDelimited")) => Place::Query(Style::Joined(' ')),
        ("query", Some("pipeDelimited")) => Place::Query(Style::Joined('|')),
        ("query", Some("deepObject")) => Place::Query(Style::Deep),
        ("header", None | Some("simple")) => {
            let header = HeaderName::try_from(name).map_err(|_| LeftOut::Parameter(name.to_owned()))?;
            let is_ours = [
                ACCEPT,
                AUTHORIZATION,
                CONNECTION,
                CONTENT_LENGTH,
                CONTENT_TYPE,
                COOKIE,
                HOST,
                TRANSFER_ENCODING,
            ]
            .contains(&header);
            if is_ours {
                return Ok(None);
            }
            Place::Header(header)
        }
        ("cookie", None | Some("form")) if is_cookie_name(name) => Place::Cookie,
        _ => return Err(unsupported()),
    }))
}

pub(super) fn is_cookie_name(name: &str) -> bool {
    HeaderName::try_from(name).is_ok()
}

impl Input {
    /// Adds the argument for the body; gives its name.
    pub(super) fn add_body(&mut self, described: Value, required: bool) -> Result<String, LeftOut> {
        self.add("body", Place::Body, described, required)
    }

    fn add(&mut self, name: &str, place: Place, schema: Value, required: bool) -> Result<String, LeftOut> {
        let is_taken = |key: &str| self.arguments.iter().any(|argument| argument.key == key);
        let candidates =
            std::iter::once(name.to_owned()).chain((2..).map(|number| format!("{name}_{number}")));
        let key = candidates.into_iter().find(|key| !is_taken(key)).unwrap_or_default();
        // Braces would be taken for the marks of an argument.
        if name.is_empty() || name.contains(['{', '}']) || self.arguments.len() >= MOST_ARGUMENTS {
            return Err(LeftOut::Parameter(name.to_owned()));
        }
        let required = required || place == Place::Path;
        self.arguments.push(Argument { key: key.clone(), name: name.to_owned(), place, schema, required });
        Ok(key)
    }

    /// A path of the document with the names of arguments in it.
    pub(super) fn renamed_path(&self, path: &str) -> Result<String, LeftOut> {
        let mut renamed = String::new();
        for part in Template::parse(path)?.parts() {
            match part {
                Part::Text(text) => renamed.push_str(text),
                Part::Argument { name, .. } => {
                    let mut known = self.arguments.iter();
                    let argument = known.find(|one| one.place == Place::Path && one.name == *name);
                    let argument = argument.ok_or_else(|| LeftOut::Parameter(name.clone()))?;
                    renamed.push_str(&format!("{{{}}}", argument.key));
                }
            }
        }
        Ok(renamed)
    }

    /// The schema of all arguments.
    pub(super) fn schema(&self) -> Value {
        let properties: Map<String, Value> =
            self.arguments.iter().map(|argument| (argument.key.clone(), argument.schema.clone())).collect();
        let required: Vec<&str> =
            self.arguments.iter().filter(|one| one.required).map(|one| one.key.as_str()).collect();
        let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema
    }

    /// Puts all arguments to their places in a request.
    pub(super) fn bind(&self, binding: &mut Binding) {
        for argument in &self.arguments {
            let (name, value) = (argument.name.clone(), Template::of_argument(&argument.key));
            match &argument.place {
                Place::Path | Place::Body => {}
                Place::Query(style) => binding.query.push(Parameter { name, value, style: *style }),
                Place::Header(header) => binding.headers.push((header.clone(), value)),
                Place::Cookie => binding.cookies.push((name, value)),
            }
        }
    }
}
