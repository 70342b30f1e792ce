//! What kind of file it is, told by its name and, where that says nothing, by its content.

/// Endings of names with the type they stand for.
const KNOWN: [(&str, &str); 36] = [
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("txt", "text/plain"),
    ("csv", "text/csv"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("xml", "application/xml"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("ts", "text/plain"),
    ("py", "text/x-python"),
    ("sh", "text/x-shellscript"),
    ("rs", "text/plain"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("ico", "image/x-icon"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("woff2", "font/woff2"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
];

/// Types with these beginnings are not text, whatever their bytes are.
const NOT_TEXT: [&str; 7] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/x-icon",
    "font/",
    "application/vnd.openxmlformats",
];

/// The type of a file of this name, and whether its content is text. Nothing where the name promises text and the
/// content is none.
pub fn of(name: &str, content: &[u8]) -> Option<(&'static str, bool)> {
    let is_text = std::str::from_utf8(content).is_ok_and(|text| !text.contains('\0'));
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    let known = ending.and_then(|ending| KNOWN.iter().find(|(known, _)| *known == ending));
    match known.map(|(_, media_type)| *media_type) {
        Some(media_type) if is_binary(media_type) => Some((media_type, false)),
        Some(media_type) => is_text.then_some((media_type, true)),
        None if is_text => Some(("text/plain", true)),
        None => Some(("application/octet-stream", false)),
    }
}

fn is_binary(media_type: &str) -> bool {
    matches!(media_type, "application/pdf" | "application/zip" | "application/gzip")
        || NOT_TEXT.iter().any(|beginning| media_type.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_promise_text_must_keep_it() {
        let check = |name: &str, content: &[u8], expected: Option<(&str, bool)>| {
            assert_eq!(of(name, content), expected, "{name}");
        };
        check("SKILL.md", b"# hello", Some(("text/markdown", true)));
        check("SKILL.md", b"\xff\xfe", None);
        check("SKILL.md", b"a\0b", None);
        check("logo.PNG", b"\x89PNG", Some(("image/png", false)));
        check("form.pdf", b"%PDF", Some(("application/pdf", false)));
        check("LICENSE", b"free", Some(("text/plain", true)));
        check("model.bin", b"\xff", Some(("application/octet-stream", false)));
        check("data.json", b"\xff", None);
    }
}
