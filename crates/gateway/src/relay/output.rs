//! What is changed in a result on its way out: too long ones are cut, what is left of quotas is put in.

use bytes::Bytes;
use serde_json::{Value, json};
use toolgate_protocol::message::Field;
use toolgate_protocol::{Kind, Message, Object, Span, Splice};

/// A result of at most `limit` bytes. A longer one keeps the beginning of its text and says that it was cut.
pub fn bounded(message: Message, limit: Option<usize>) -> Message {
    let Some(limit) = limit else { return message };
    let size = message.body().map_or(0, <[u8]>::len);
    if size <= limit || message.kind() != Kind::Result || message.field(Field::Content).is_none() {
        return message;
    }
    cut(&message, size, limit).unwrap_or(message)
}

fn cut(message: &Message, size: usize, limit: usize) -> Option<Message> {
    let content: Vec<Value> = serde_json::from_slice(message.field(Field::Content)?).ok()?;
    let mut left = limit;
    let mut kept = Vec::new();
    for mut block in content {
        let length = block.to_string().len();
        if length <= left {
            left -= length;
            kept.push(block);
            continue;
        }
        if let Some(text) = block.get("text").and_then(Value::as_str) {
            let mut end = left.min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            block["text"] = Value::from(&text[..end]);
            kept.push(block);
        }
        break;
    }
    kept.push(json!({
        "type": "text",
        "text": format!("[cut by the gateway: the result had {size} bytes, {limit} are passed on]"),
    }));
    let id = message.id()?;
    let error = message.field(Field::IsError) == Some(b"true");
    let result = json!({
        "content": kept,
        "isError": error,
        "_meta": {"io.toolgate/truncated": {"size": size, "limit": limit}},
    });
    Message::parse(toolgate_protocol::error::result_answer(id, result.to_string().as_bytes())).ok()
}

/// The answer with one more member in the `_meta` of its result; nothing for an error.
pub fn with_meta(answer: &Bytes, member: &str) -> Option<Bytes> {
    let message = Message::parse(answer.clone()).ok().filter(|message| message.kind() == Kind::Result)?;
    let result = message.body_place()?;
    let mut splice = Splice::new(answer, member.len() + 16);
    match message.place(Field::Meta) {
        Some(meta) if is_object(meta, answer) => {
            splice.insert_members(meta, member.as_bytes());
        }
        _ => {
            splice.insert_members(result, format!(r#""_meta":{{{member}}}"#).as_bytes());
        }
    }
    Some(Bytes::from(splice.finish()))
}

fn is_object(place: Span, bytes: &[u8]) -> bool {
    Object::parse(place.of(bytes)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Message::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap()
    }

    #[test]
    fn a_long_result_is_cut_and_says_so() {
        let long = "é".repeat(400);
        let whole = format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"text","text":"{long}"}}]}}}}"#
        );
        let cut = bounded(message(&whole), Some(300));
        let result: Value = serde_json::from_slice(cut.body().unwrap()).unwrap();
        assert_eq!(result["_meta"]["io.toolgate/truncated"]["limit"], 300);
        assert!(result["content"][0]["text"].as_str().unwrap().len() <= 300);
        assert!(result["content"][1]["text"].as_str().unwrap().contains("cut by the gateway"));
        let same = bounded(message(&whole), Some(10_000));
        assert_eq!(same.bytes(), whole.as_bytes());
    }

    #[test]
    fn what_is_left_is_put_beside_what_is_there() {
        let answer =
            Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"a":1},"content":[]}}"#);
        let with = with_meta(&answer, r#""q":[]"#).unwrap();
        assert_eq!(&with[..], br#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"q":[],"a":1},"content":[]}}"#);
        let answer = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        let with = with_meta(&answer, r#""q":[]"#).unwrap();
        assert_eq!(&with[..], br#"{"jsonrpc":"2.0","id":1,"result":{"_meta":{"q":[]}}}"#);
    }
}
