//! `multipart/form-data` of texts.
//!
//! A text must not be able to end its own part, so the line between parts is one that no text has in it.

use bytes::Bytes;

/// The content type and the body.
pub(super) fn encode(fields: &[(String, String)]) -> (String, Bytes) {
    let boundary = boundary(fields);
    let mut body = String::new();
    for (name, value) in fields {
        let name = escaped(name);
        body.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
        ));
    }
    body.push_str(&format!("--{boundary}--\r\n"));
    (format!("multipart/form-data; boundary={boundary}"), Bytes::from(body))
}

fn boundary(fields: &[(String, String)]) -> String {
    let candidates = (0_u32..).map(|number| format!("toolgate-part-{number}"));
    let is_free = |candidate: &String| !fields.iter().any(|(_, value)| value.contains(candidate.as_str()));
    // Finite texts cannot have all numbers in them.
    candidates.into_iter().find(is_free).unwrap_or_default()
}

/// As browsers write the names of fields.
fn escaped(name: &str) -> String {
    name.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22")
}
