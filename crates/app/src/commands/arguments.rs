//! Arguments of tools and prompts on the command line.

use std::io::Read;

use clap::Args;
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The longest JSON that is read from a file or standard input.
const LONGEST: u64 = 64 << 20;

/// Arguments of a tool or prompt.
#[derive(Debug, Args)]
pub(super) struct ArgumentArgs {
    /// An argument: KEY=TEXT, or KEY:=JSON for anything that is not text
    #[arg(value_name = "KEY=VALUE")]
    pairs: Vec<String>,
    /// All arguments as a JSON object; @FILE reads a file, - standard input
    #[arg(long, short, value_name = "JSON")]
    arguments: Option<String>,
}

impl ArgumentArgs {
    /// The arguments as one object. A pair wins over the object.
    pub(super) fn object(&self) -> Result<Map<String, Value>, Failure> {
        let mut object = match self.arguments.as_deref() {
            None => Map::new(),
            Some("-") => parse(&read(std::io::stdin(), "standard input")?)?,
            Some(text) => match text.strip_prefix('@') {
                Some(path) => {
                    let file = std::fs::File::open(path)
                        .map_err(|error| Failure::invalid(format!("{path} cannot be read: {error}")))?;
                    parse(&read(file, path)?)?
                }
                None => parse(text)?,
            },
        };
        for text in &self.pairs {
            let (key, value) = pair(text)?;
            object.insert(key, value);
        }
        Ok(object)
    }
}

fn read(input: impl Read, name: &str) -> Result<String, Failure> {
    let mut text = String::new();
    input
        .take(LONGEST)
        .read_to_string(&mut text)
        .map_err(|error| Failure::invalid(format!("{name} cannot be read: {error}")))?;
    Ok(text)
}

fn parse(text: &str) -> Result<Map<String, Value>, Failure> {
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Failure::invalid("the arguments must be a JSON object")),
        Err(error) => Err(Failure::invalid(format!("the arguments are not JSON: {error}"))),
    }
}

fn pair(text: &str) -> Result<(String, Value), Failure> {
    let wrong = || Failure::invalid(format!("'{text}' must have the form KEY=TEXT or KEY:=JSON"));
    let (key, value) = text.split_once('=').ok_or_else(wrong)?;
    let (key, value) = match key.strip_suffix(':') {
        Some(key) => {
            let value = serde_json::from_str(value)
                .map_err(|error| Failure::invalid(format!("the value of '{key}' is not JSON: {error}")))?;
            (key, value)
        }
        None => (key, Value::String(value.to_owned())),
    };
    if key.is_empty() { Err(wrong()) } else { Ok((key.to_owned(), value)) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pairs_are_text_unless_they_say_json() {
        let check = |text: &str, expected: Option<(&str, Value)>| {
            let expected = expected.map(|(key, value)| (key.to_owned(), value));
            assert_eq!(pair(text).ok(), expected, "{text}");
        };
        check("a=1", Some(("a", json!("1"))));
        check("a:=1", Some(("a", json!(1))));
        check("a:=[1,{}]", Some(("a", json!([1, {}]))));
        check("a=b=c", Some(("a", json!("b=c"))));
        check("a=", Some(("a", json!(""))));
        check("a:=x", None);
        check("=1", None);
        check("a", None);
    }

    #[test]
    fn a_pair_wins_over_the_object() {
        let args = ArgumentArgs { pairs: vec!["a=x".into()], arguments: Some(r#"{"a":1,"b":2}"#.into()) };
        assert_eq!(Value::Object(args.object().unwrap()), json!({"a": "x", "b": 2}));
    }
}
