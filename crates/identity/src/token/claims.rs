//! What a token says, read with bounds.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::denied::Reason;

/// The longest name of a caller or group that is taken from a token, in bytes.
const MAX_NAME_BYTES: usize = 256;

/// The most groups that one token may name.
const MAX_GROUPS: usize = 1024;

/// The claims of a token.
pub(super) struct Claims(Map<String, Value>);

impl Claims {
    pub(super) fn parse(bytes: &[u8]) -> Option<Claims> {
        serde_json::from_slice(bytes).ok().map(Claims)
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// A moment in seconds since 1970; fractions are cut off. Anything but a number makes the token malformed.
    pub(super) fn seconds(&self, name: &str) -> Result<Option<u64>, Reason> {
        match self.0.get(name) {
            None => Ok(None),
            Some(Value::Number(number)) => match (number.as_u64(), number.as_f64()) {
                (Some(seconds), _) => Ok(Some(seconds)),
                (None, Some(seconds)) if seconds.is_finite() && seconds >= 0.0 => Ok(Some(seconds as u64)),
                _ => Err(Reason::MalformedToken),
            },
            Some(_) => Err(Reason::MalformedToken),
        }
    }

    /// The audience, which may be one or several.
    pub(super) fn audiences(&self) -> impl Iterator<Item = &str> {
        let several = match self.0.get("aud") {
            Some(Value::Array(several)) => several.as_slice(),
            Some(one) => std::slice::from_ref(one),
            None => &[],
        };
        several.iter().filter_map(Value::as_str)
    }

    /// The name of the caller, if it is one that can be printed.
    pub(super) fn caller(&self, claim: &str) -> Option<&str> {
        self.at(claim)?.as_str().filter(|name| is_printable(name))
    }

    /// The groups: none if the claim is not there, `None` if it is there and cannot be used.
    pub(super) fn groups(&self, claim: &str) -> Option<Vec<Arc<str>>> {
        let names: Vec<&str> = match self.at(claim) {
            None => Vec::new(),
            Some(Value::String(words)) => words.split_ascii_whitespace().collect(),
            Some(Value::Array(items)) => items.iter().map(Value::as_str).collect::<Option<_>>()?,
            Some(_) => return None,
        };
        let usable = names.len() <= MAX_GROUPS && names.iter().all(|name| is_printable(name));
        usable.then(|| names.into_iter().map(Arc::from).collect())
    }

    /// A claim by its name, or by a path with dots. Names with dots in them, such as addresses, are found first.
    fn at(&self, claim: &str) -> Option<&Value> {
        if let Some(value) = self.0.get(claim) {
            return Some(value);
        }
        let (first, rest) = claim.split_once('.')?;
        rest.split('.').try_fold(self.0.get(first)?, |value, name| value.get(name))
    }
}

fn is_printable(name: &str) -> bool {
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control)
}
