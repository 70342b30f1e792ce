//! What a request says.

use serde_json::{Map, Value};
use toolgate_protocol::{Code, ErrorReply, Message};

use super::HIDDEN;

/// The `params` of a request.
#[derive(Debug, Default)]
pub(super) struct Params(Map<String, Value>);

impl Params {
    /// Those of this message; none where there are none.
    pub(super) fn of(message: &Message) -> Params {
        Params(message.body().and_then(|body| serde_json::from_slice(body).ok()).unwrap_or_default())
    }

    /// One member.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// A member that must be text.
    pub(super) fn text(&self, key: &str) -> Result<&str, ErrorReply> {
        let missing = || ErrorReply::new(Code::InvalidParams, format!("'params.{key}' must be a string"));
        self.get(key).and_then(Value::as_str).ok_or_else(missing)
    }

    /// A text in `_meta`.
    pub(super) fn meta_text(&self, key: &str) -> Option<&str> {
        self.get("_meta")?.get(key)?.as_str()
    }

    /// Whether the caller must not learn of a skill.
    pub(super) fn hides(&self, uri: &str) -> bool {
        let hidden = self.get("_meta").and_then(|meta| meta.get(HIDDEN)).and_then(Value::as_array);
        hidden.is_some_and(|hidden| hidden.iter().any(|one| one == uri))
    }

    /// Cuts one page out of a list; gives where the next one begins.
    pub(super) fn page<'a, T>(
        &self,
        all: &'a [T],
        size: usize,
    ) -> Result<(&'a [T], Option<String>), ErrorReply> {
        let unknown = || ErrorReply::new(Code::InvalidParams, "unknown cursor; ask for the list without one");
        let start = match self.get("cursor") {
            None | Some(Value::Null) => 0,
            Some(cursor) => {
                cursor.as_str().and_then(|cursor| cursor.parse::<usize>().ok()).ok_or_else(unknown)?
            }
        };
        let rest = all.get(start..).unwrap_or_default();
        match rest.split_at_checked(size) {
            Some((page, left)) if !left.is_empty() => Ok((page, Some((start + size).to_string()))),
            _ => Ok((rest, None)),
        }
    }
}
