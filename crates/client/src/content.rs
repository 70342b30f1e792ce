//! Content of tools, prompts and resources as text, for whoever can take nothing else: what is not text is described.

use serde_json::Value;

/// All blocks of content, one below the other.
pub fn text(blocks: &Value) -> String {
    let blocks = match blocks {
        Value::Array(blocks) => blocks.as_slice(),
        single => std::slice::from_ref(single),
    };
    blocks.iter().map(block).collect::<Vec<_>>().join("\n")
}

fn block(block: &Value) -> String {
    let member = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    match member("type") {
        "text" => member("text").to_owned(),
        kind @ ("image" | "audio") => {
            format!("[{kind}: {}, {} bytes]", member("mimeType"), decoded_length(member("data")))
        }
        "resource_link" => format!("[resource: {}]", member("uri")),
        "resource" => block.get("resource").map(resource).unwrap_or_default(),
        kind => format!("[{kind}]"),
    }
}

/// The content of a resource: its text, or what kind of bytes it is.
pub fn resource(content: &Value) -> String {
    let member = |key: &str| content.get(key).and_then(Value::as_str);
    match (member("text"), member("blob")) {
        (Some(text), _) => text.to_owned(),
        (None, Some(blob)) => {
            let kind = member("mimeType").unwrap_or("application/octet-stream");
            format!("[{}: {kind}, {} bytes]", member("uri").unwrap_or("resource"), decoded_length(blob))
        }
        (None, None) => String::new(),
    }
}

/// How many bytes a base64 text stands for.
fn decoded_length(base64: &str) -> usize {
    base64.trim_end_matches('=').len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_text_is_described() {
        let check = |content: Value, expected: &str| assert_eq!(text(&content), expected);
        check(json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]), "a\nb");
        check(
            json!([{"type": "image", "mimeType": "image/png", "data": "AAECAw=="}]),
            "[image: image/png, 4 bytes]",
        );
        check(json!({"type": "resource_link", "uri": "file:///a"}), "[resource: file:///a]");
        check(json!([{"type": "resource", "resource": {"uri": "x:y", "text": "inside"}}]), "inside");
        check(
            json!([{"type": "resource", "resource": {"uri": "x:y", "blob": "AAEC"}}]),
            "[x:y: application/octet-stream, 3 bytes]",
        );
        check(json!([{"type": "new"}]), "[new]");
        check(json!([]), "");
    }
}
