//! From an answer over HTTP to the result of a tool. Pure.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde_json::{Value, json};

/// How much of an error's body is told, in characters.
const EXCERPT: usize = 2000;

/// An answer.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// Its status.
    pub status: StatusCode,
    /// What it says its body is.
    pub content_type: Option<&'a str>,
    /// Its body.
    pub body: &'a [u8],
}

/// The result of a tool whose request was answered so. `pointer` says which part of a JSON answer counts.
pub fn result(answer: Answer<'_>, pointer: &str) -> Value {
    if !answer.status.is_success() {
        return failure(&refusal(answer));
    }
    let kind = essence(answer.content_type);
    if let Some(value) = json_of(&kind, answer.body) {
        return match value.pointer(pointer) {
            Some(picked) => success(picked),
            None => failure(&format!("the answer has nothing at '{pointer}': {}", excerpt(answer.body))),
        };
    }
    if answer.body.is_empty() && pointer.is_empty() {
        return text(&format!("Done ({}).", named(answer.status)));
    }
    if !pointer.is_empty() || is_json(&kind) {
        return failure(&format!("the answer is not JSON: {}", excerpt(answer.body)));
    }
    match (kind.split_once('/').map(|(group, _)| group), std::str::from_utf8(answer.body)) {
        (Some(group @ ("image" | "audio")), _) if kind != "image/svg+xml" => {
            json!({"content": [{"type": group, "data": STANDARD.encode(answer.body), "mimeType": kind}]})
        }
        (_, Ok(words)) => text(words),
        (_, Err(_)) => failure(&format!(
            "the answer is {} bytes of '{kind}', which is no text that a model could read",
            answer.body.len()
        )),
    }
}

/// The result of a tool that could not do what it was asked.
pub fn failure(words: &str) -> Value {
    let mut result = text(words);
    result["isError"] = json!(true);
    result
}

fn success(value: &Value) -> Value {
    let mut result = match value {
        Value::String(words) => text(words),
        other => text(&other.to_string()),
    };
    // Clients of the legacy era take objects only.
    if value.is_object() {
        result["structuredContent"] = value.clone();
    }
    result
}

fn text(words: &str) -> Value {
    json!({"content": [{"type": "text", "text": words}]})
}

fn refusal(answer: Answer<'_>) -> String {
    let words = excerpt(answer.body);
    let status = named(answer.status);
    if answer.status.is_redirection() {
        return format!("the server answers {status}: it sends us to another address, which is not followed");
    }
    if words.is_empty() {
        format!("the server answers {status}")
    } else {
        format!("the server answers {status}: {words}")
    }
}

fn named(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

fn excerpt(body: &[u8]) -> String {
    // No more is decoded than can be shown; a character has at most four bytes.
    let start = body.get(..body.len().min(4 * EXCERPT)).unwrap_or_default();
    let words = String::from_utf8_lossy(start);
    let mut shown: String =
        words.trim().chars().filter(|c| !c.is_control() || *c == '\n').take(EXCERPT).collect();
    if words.chars().count() > EXCERPT || start.len() < body.len() {
        shown.push('…');
    }
    shown
}

fn json_of(kind: &str, body: &[u8]) -> Option<Value> {
    // Many servers do not say what they send.
    let may_be =
        is_json(kind) || kind.is_empty() || kind == "text/plain" && matches!(body.first(), Some(b'{' | b'['));
    if may_be { serde_json::from_slice(body).ok() } else { None }
}

fn is_json(kind: &str) -> bool {
    kind == "application/json" || kind == "text/json" || kind.ends_with("+json")
}

/// The type without its parameters, in lower case.
fn essence(content_type: Option<&str>) -> String {
    content_type.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests;
