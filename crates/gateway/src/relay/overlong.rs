//! Results that are longer than what is passed on: their beginning, and where all of it can be read.
//!
//! Structured content cannot be cut: it is passed on whole or not at all. Clients refuse a success without the structured
//! content that the tool's schema promises, and lose the text with it; so a result that had to lose it is marked as an
//! error for the client, whatever it is on record.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Kind, Message, error, object};

use crate::results::{Kept, Results, Whole};
use crate::router::Target;
use crate::seal::Seal;

/// The media type of a result that is nothing but text.
const PLAIN: &str = "text/plain";

/// Where long results are kept, and for whom.
#[derive(Clone, Debug)]
pub struct Keeping {
    pub results: Arc<Results>,
    pub seal: Arc<Seal>,
    pub owner: Arc<str>,
    pub tool: Arc<Target>,
    /// Whether the client's revision has links to resources.
    pub links: bool,
}

/// Whether a result is longer than `limit`. Only tools give results that can be cut.
pub fn is_overlong(message: &Message, limit: usize) -> bool {
    let size = message.body().map_or(0, <[u8]>::len);
    size > limit && message.kind() == Kind::Result && message.field(Field::Content).is_some()
}

/// Whether a resource is longer than `limit`. It is refused, not cut: a document without its end is another document.
pub fn is_overlong_resource(message: &Message, limit: usize) -> bool {
    let Some(body) = message.body().filter(|body| body.len() > limit) else { return false };
    message.kind() == Kind::Result && object::value_of(body, "contents").is_some()
}

/// The result cut down to about `limit` bytes, saying so. One that cannot be read stays as it is.
pub fn cut(message: Message, limit: usize) -> Message {
    Overlong::read(&message, limit).and_then(|overlong| overlong.cut(None)).unwrap_or(message)
}

/// The same, with all of it kept for its caller where that is possible. Waits for the disk.
pub fn keep(message: Message, limit: usize, keeping: &Keeping) -> Message {
    let Some(overlong) = Overlong::read(&message, limit) else { return message };
    let Keeping { results, seal, owner, tool, .. } = keeping;
    let whole = overlong.whole();
    let kept = match results.keep(seal, owner, tool, &whole) {
        Ok(kept) => Some(kept),
        Err(error) => {
            tracing::warn!(tool = %tool.exposed, %error, "a long result is not kept, only cut");
            None
        }
    };
    let place =
        kept.as_deref().map(|kept| Place { kept, keep_for: results.keep_for(), links: keeping.links });
    overlong.cut(place).unwrap_or(message)
}

/// A result taken apart.
struct Overlong {
    id: Bytes,
    /// The JSON of the result.
    body: Bytes,
    limit: usize,
    content: Vec<Value>,
    structured: Option<Value>,
    failed: bool,
    result_type: Option<Value>,
}

/// Where all of a result is.
struct Place<'a> {
    kept: &'a Kept,
    keep_for: Duration,
    links: bool,
}

impl Overlong {
    fn read(message: &Message, limit: usize) -> Option<Overlong> {
        let read = |field| message.field(field).and_then(|json| serde_json::from_slice(json).ok());
        Some(Overlong {
            id: Bytes::copy_from_slice(message.id()?),
            body: message.body_bytes()?,
            limit,
            content: serde_json::from_slice(message.field(Field::Content)?).ok()?,
            structured: read(Field::StructuredContent),
            failed: message.field(Field::IsError) == Some(b"true"),
            result_type: read(Field::ResultType),
        })
    }

    /// All of it: as plain text where that says everything, otherwise as the JSON that the server sent.
    fn whole(&self) -> Whole {
        match self.plain() {
            Some(content) => Whole { content, media: PLAIN },
            None => {
                let content = String::from_utf8_lossy(&self.body).into_owned();
                Whole { content, media: "application/json" }
            }
        }
    }

    /// The text, where there is nothing else. Structured content that repeats the text, as servers should, is nothing else.
    fn plain(&self) -> Option<String> {
        let text = joined_text(&self.content)?;
        let repeats = |structured: &Value| {
            *structured == json!({"result": text})
                || serde_json::from_str::<Value>(&text).is_ok_and(|said| said == *structured)
        };
        self.structured.as_ref().is_none_or(repeats).then_some(text)
    }

    fn cut(&self, place: Option<Place<'_>>) -> Option<Message> {
        let (limit, size) = (self.limit, self.body.len());
        // Text is what models read: at least half of what is passed on is left for it.
        let length = |value: &Value| value.to_string().len();
        let structured = self.structured.as_ref().filter(|structured| length(structured) <= limit / 2);
        let left = limit - structured.map_or(0, length);
        let mut content = beginning(&self.content, left);
        let passed_on = joined_text(&content).map_or(0, |text| text.len());
        let mut truncated = json!({"size": size, "limit": limit});
        let mut note = format!("cut by the gateway: the result had {size} bytes, {limit} are passed on");
        let mut link = None;
        if let Some(Place { kept, keep_for, links }) = place {
            let (uri, whole) = (kept.uri(), kept.size());
            let next = if kept.media() == PLAIN { passed_on } else { 0 };
            let minutes = keep_for.as_secs().div_ceil(60);
            note.push_str(&format!(
                ". All of it, {whole} bytes of {}, can be read for {minutes} min as the resource {uri}; in parts, \
                 for example from byte {next} on, as {uri}?offset={next}&length=65536",
                kept.media()
            ));
            truncated["uri"] = Value::from(uri.as_str());
            let name = format!("the whole result of {}", kept.tool().exposed);
            link = links.then(|| {
                json!({"type": "resource_link", "uri": uri, "name": name, "size": whole, "mimeType": kept.media()})
            });
        }
        let lost = self.structured.is_some() && structured.is_none();
        if lost {
            note.push_str(". The structured content is left out, so this is marked as an error");
        }
        content.push(json!({"type": "text", "text": format!("[{note}]")}));
        content.extend(link);
        let mut result = json!({
            "content": content,
            "isError": self.failed || lost,
            "_meta": {"io.toolgate/truncated": truncated},
        });
        if let Some(structured) = structured {
            result["structuredContent"] = structured.clone();
        }
        if let Some(result_type) = &self.result_type {
            result["resultType"] = result_type.clone();
        }
        Message::parse(error::result_answer(&self.id, result.to_string().as_bytes())).ok()
    }
}

/// As many blocks as fit into `left` bytes, and of the next one the beginning of its text.
fn beginning(content: &[Value], mut left: usize) -> Vec<Value> {
    let mut kept = Vec::new();
    for block in content {
        let length = block.to_string().len();
        if length <= left {
            left -= length;
            kept.push(block.clone());
            continue;
        }
        if let Some(text) = block.get("text").and_then(Value::as_str) {
            let mut end = left.min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            let mut block = block.clone();
            block["text"] = Value::from(&text[..end]);
            kept.push(block);
        }
        break;
    }
    kept
}

/// The texts of blocks that are all text, a line each.
fn joined_text(content: &[Value]) -> Option<String> {
    let texts = content.iter().map(|block| block["text"].as_str().filter(|_| block["type"] == "text"));
    Some(texts.collect::<Option<Vec<_>>>()?.join("\n"))
}

#[cfg(test)]
mod tests;
