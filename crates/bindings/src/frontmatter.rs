//! Tools in the frontmatter of a skill.
//!
//! ```yaml
//! tools:
//!   - name: exchange_rate
//!     description: Tell what a currency is worth.
//!     read_only: true
//!     input: {type: object, properties: {base: {type: string}}, required: [base]}
//!     http: {method: GET, url: "https://api.example.com/v1/{base}", headers: {X-Key: "${ENV:RATES_KEY}"}, result: /rates}
//! ```
//!
//! Unlike the rest of frontmatter, what is not understood here is refused: a misspelt key would send a request that
//! nobody meant.

mod http_binding;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use toolgate_config::reference::ReferenceError;
use toolgate_governance::Micros;
use url::Url;

use crate::binding::defaults_of;
use crate::template::BadTemplate;
use crate::tool::{BadSchema, Effects, MAX_NAME, Tool, check_schema, is_tool_name};
use crate::url_template::BadUrl;

/// How many tools one skill may have.
const MOST_TOOLS: usize = 64;
/// How long a description may be, in characters.
const MAX_DESCRIPTION: usize = 4096;

const KEYS: [&str; 9] =
    ["name", "title", "description", "read_only", "idempotent", "destructive", "price", "input", "http"];

/// Looks a variable up, if skills may send it to this address.
pub type Variables<'a> = dyn Fn(&str, &Url) -> Option<String> + 'a;

/// A tool that is not offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tool '{name}' is not offered: {why}")]
pub struct BadTool {
    /// Its place in the list, counted from zero.
    pub place: usize,
    /// Its name, or its place in words.
    pub name: String,
    /// Why not.
    pub why: Why,
}

/// What is wrong with a tool.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// It is no mapping, or the list of tools is none.
    #[error("it must be a mapping with name, description and http")]
    NoMapping,
    /// There are too many.
    #[error("a skill may have at most {MOST_TOOLS} tools")]
    TooMany,
    /// A key is unknown.
    #[error("'{key}' is not known here; known are {known}")]
    UnknownKey {
        /// The key.
        key: String,
        /// Those that are known.
        known: String,
    },
    /// A value has the wrong type or is missing.
    #[error("'{key}' must be {wanted}")]
    Wrong {
        /// The key.
        key: &'static str,
        /// What is wanted.
        wanted: String,
    },
    /// Secrets have their places.
    #[error("a secret may stand in headers and in values of the query only")]
    SecretInUrl,
    /// An argument is used and not described.
    #[error("it uses the argument '{0}', which 'input' does not describe under properties")]
    UnknownArgument(String),
    /// The request could be made twice.
    #[error("'retries' needs 'idempotent: true' or 'read_only: true'; a call could take effect twice")]
    NotIdempotent,
    /// Its arguments could not be checked.
    #[error("'input' is no JSON Schema: {0}")]
    Schema(#[from] BadSchema),
    /// Its address is none.
    #[error("'http.url': {0}")]
    Url(#[from] BadUrl),
    /// A text is no template.
    #[error(transparent)]
    Template(#[from] BadTemplate),
    /// A reference has no value.
    #[error(
        "{0} (variables for skills are named under bindings.secrets, some of them for certain hosts only)"
    )]
    Secret(#[from] ReferenceError),
}

/// The tools that a skill declares, and those that cannot be offered. `skill` is its URI.
pub fn tools(
    frontmatter: &Map<String, Value>,
    skill: &str,
    variables: &Variables<'_>,
) -> (Vec<Tool>, Vec<BadTool>) {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    let declared = match frontmatter.get("tools") {
        None | Some(Value::Null) => return (good, bad),
        Some(Value::Array(declared)) => declared,
        // Others use this key for lists of names; that is no fault.
        Some(_) => return (good, bad),
    };
    for (place, entry) in declared.iter().enumerate() {
        // A plain name says which tools the skill needs.
        if entry.is_string() {
            continue;
        }
        let name = entry
            .get("name")
            .and_then(Value::as_str)
            .map_or_else(|| format!("no. {}", place + 1), str::to_owned);
        let tool = if place < MOST_TOOLS { tool(entry, skill, variables) } else { Err(Why::TooMany) };
        match tool {
            Ok(tool) => good.push(tool),
            Err(why) => bad.push(BadTool { place, name, why }),
        }
        if place >= MOST_TOOLS {
            break;
        }
    }
    (good, bad)
}

fn tool(entry: &Value, skill: &str, variables: &Variables<'_>) -> Result<Tool, Why> {
    let entry = entry.as_object().ok_or(Why::NoMapping)?;
    only_known(entry, &KEYS)?;
    let name = text(entry, "name")?.filter(|name| is_tool_name(name));
    let name =
        name.ok_or_else(|| wrong("name", format!("1 to {MAX_NAME} letters, digits, '_', '-' and '.'")))?;
    let description =
        text(entry, "description")?.filter(|text| (1..=MAX_DESCRIPTION).contains(&text.chars().count()));
    let description = description
        .ok_or_else(|| wrong("description", format!("a text of 1 to {MAX_DESCRIPTION} characters")))?;
    let input_schema =
        entry.get("input").cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}}));
    if input_schema.get("type") != Some(&json!("object")) {
        return Err(wrong("input", "a JSON Schema with 'type: object'"));
    }
    check_schema(&input_schema)?;
    let read_only = flag(entry, "read_only")?.unwrap_or(false);
    let effects = Effects {
        read_only,
        idempotent: flag(entry, "idempotent")?.unwrap_or(read_only),
        destructive: flag(entry, "destructive")?.unwrap_or(false),
    };
    let http = entry.get("http").and_then(Value::as_object).ok_or(Why::NoMapping)?;
    let mut binding = http_binding::read(http, variables)?;
    binding.defaults = defaults_of(&input_schema);
    if binding.retries > 0 && !effects.idempotent {
        return Err(Why::NotIdempotent);
    }
    let described = input_schema.get("properties").and_then(Value::as_object);
    let is_described = |name: &str| described.is_some_and(|described| described.contains_key(name));
    if let Some(unknown) = binding.names().find(|name| !is_described(name)) {
        return Err(Why::UnknownArgument(unknown.to_owned()));
    }
    let mut meta = Map::from_iter([("io.toolgate/skill".to_owned(), json!(skill))]);
    if let Some(price) = entry.get("price") {
        meta.insert("io.toolgate/price".to_owned(), json!(amount(price)?));
    }
    Ok(Tool {
        name: name.to_owned(),
        title: text(entry, "title")?.map(str::to_owned),
        description: description.to_owned(),
        input_schema,
        effects,
        meta,
        binding,
    })
}

fn amount(price: &Value) -> Result<String, Why> {
    let written = crate::template::written(price);
    // As the gate reads it: a price that it would not understand is no price.
    let is_amount = written.parse().ok().and_then(Micros::from_units).is_some();
    is_amount.then_some(written).ok_or_else(|| wrong("price", "a number that is not negative"))
}

fn only_known(members: &Map<String, Value>, known: &[&str]) -> Result<(), Why> {
    match members.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(Why::UnknownKey { key: key.clone(), known: known.join(", ") }),
        None => Ok(()),
    }
}

fn wrong(key: &'static str, wanted: impl Into<String>) -> Why {
    Why::Wrong { key, wanted: wanted.into() }
}

fn text<'a>(members: &'a Map<String, Value>, key: &'static str) -> Result<Option<&'a str>, Why> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(key, "a text")),
    }
}

fn flag(members: &Map<String, Value>, key: &'static str) -> Result<Option<bool>, Why> {
    match members.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(wrong(key, "true or false")),
    }
}
