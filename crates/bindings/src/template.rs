//! Texts with places for arguments: `{name}`, or `{+name}` where a path may have further slashes.

use serde_json::{Map, Value};

/// How many places a text may have.
const MOST_PLACES: usize = 64;

/// The arguments of a call, by name.
pub type Arguments = Map<String, Value>;

/// A text with places for arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Stays as it is.
    Text(String),
    /// Stands for an argument.
    Argument {
        /// Its name.
        name: String,
        /// Whether it was written `{+name}`.
        with_slashes: bool,
    },
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadTemplate {
    /// A brace has no partner.
    #[error("a brace in '{0}' has no partner; an argument is written {{name}}")]
    Unclosed(String),
    /// Nothing stands between the braces.
    #[error("'{0}' has an argument without a name")]
    NoName(String),
    /// There are more places than a request needs.
    #[error("there are more than {MOST_PLACES} arguments in one text")]
    TooMany,
}

impl Template {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Template, BadTemplate> {
        let unclosed = || BadTemplate::Unclosed(text.to_owned());
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            let (inside, after) =
                from.strip_prefix('{').and_then(|from| from.split_once('}')).ok_or_else(unclosed)?;
            let (name, with_slashes) = match inside.strip_prefix('+') {
                Some(name) => (name, true),
                None => (inside, false),
            };
            if name.contains('{') {
                return Err(unclosed());
            }
            if name.trim().is_empty() {
                return Err(BadTemplate::NoName(text.to_owned()));
            }
            parts.push(Part::Argument { name: name.to_owned(), with_slashes });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        if parts.len() > 2 * MOST_PLACES {
            return Err(BadTemplate::TooMany);
        }
        Ok(Template { parts })
    }

    /// A template that is one argument and nothing else.
    pub fn of_argument(name: &str) -> Template {
        Template { parts: vec![Part::Argument { name: name.to_owned(), with_slashes: false }] }
    }

    /// Its pieces in order.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The names of its arguments.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Argument { name, .. } => Some(name.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The value it stands for: that of the argument, with its type, where it is one and nothing else; text otherwise.
    /// Nothing where an argument is absent.
    pub fn value(&self, arguments: &Arguments) -> Option<Value> {
        if let [Part::Argument { name, .. }] = self.parts.as_slice() {
            return arguments.get(name).cloned();
        }
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Text(piece) => text.push_str(piece),
                Part::Argument { name, .. } => text.push_str(&written(arguments.get(name)?)),
            }
        }
        Some(Value::String(text))
    }
}

/// A value as it stands in an address, a header or a form: text without quotation marks, everything else as JSON.
pub fn written(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments() -> Arguments {
        let Value::Object(arguments) = json!({"a": 1, "b": "x y", "list": [1, 2]}) else { unreachable!() };
        arguments
    }

    #[test]
    fn arguments_keep_their_type_where_they_stand_alone() {
        let check = |text: &str, expected: Option<Value>| {
            assert_eq!(Template::parse(text).unwrap().value(&arguments()), expected, "{text}");
        };
        check("{a}", Some(json!(1)));
        check("{list}", Some(json!([1, 2])));
        check("no. {a}: {b}", Some(json!("no. 1: x y")));
        check("plain", Some(json!("plain")));
        check("", Some(json!("")));
        check("{absent}", None);
        check("{a} and {absent}", None);
    }

    #[test]
    fn what_is_no_template_is_refused() {
        for text in ["{", "}", "{a", "a}", "{}", "{+}", "{a{b}}", "{ }", "{a}}"] {
            assert!(Template::parse(text).is_err(), "{text}");
        }
        assert_eq!(Template::parse(&"{a}-".repeat(MOST_PLACES + 1)), Err(BadTemplate::TooMany));
    }
}
