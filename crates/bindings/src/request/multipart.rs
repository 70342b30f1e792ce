//! `multipart/form-data`.
//!
//! A part must not be able to end itself, so the line between parts is one that no part has in it.

use bytes::Bytes;

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) content: Vec<u8>,
    /// Whether it is sent as a file, which has a name and a type.
    pub(super) is_file: bool,
}

/// The content type and the body.
pub(super) fn encode(parts: &[Part]) -> (String, Bytes) {
    let boundary = boundary(parts);
    let mut body = Vec::new();
    for Part { name, content, is_file } in parts {
        let name = escaped(name);
        let file = match is_file {
            true => format!("; filename=\"{name}\"\r\nContent-Type: application/octet-stream"),
            false => String::new(),
        };
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (format!("multipart/form-data; boundary={boundary}"), Bytes::from(body))
}

fn boundary(parts: &[Part]) -> String {
    let candidates = (0_u32..).map(|number| format!("toolgate-part-{number}"));
    let has =
        |part: &Part, text: &str| part.content.windows(text.len()).any(|piece| piece == text.as_bytes());
    let is_free = |candidate: &String| !parts.iter().any(|part| has(part, candidate));
    // Finite contents cannot have all numbers in them.
    candidates.into_iter().find(is_free).unwrap_or_default()
}

/// As browsers write the names of fields.
fn escaped(name: &str) -> String {
    name.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22")
}
