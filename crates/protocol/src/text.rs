//! Strings as they stand in JSON text.

use std::borrow::Cow;

use crate::scan::length_of_plain_text;

/// The characters of a JSON string, given what stands between its quotation marks. Borrowed unless it has escapes.
/// A lone surrogate, which JSON can write and text cannot hold, gives nothing.
pub fn unescape(inside: &[u8]) -> Option<Cow<'_, str>> {
    // Most names are short and plain, which is told before a search for the one byte would begin.
    if length_of_plain_text(inside) == inside.len() || memchr::memchr(b'\\', inside).is_none() {
        return std::str::from_utf8(inside).ok().map(Cow::Borrowed);
    }
    let mut quoted = Vec::with_capacity(inside.len() + 2);
    quoted.push(b'"');
    quoted.extend_from_slice(inside);
    quoted.push(b'"');
    serde_json::from_slice::<String>(&quoted).ok().map(Cow::Owned)
}

/// The text of a JSON string value with its quotation marks; nothing for any other value.
pub fn string(value: &[u8]) -> Option<Cow<'_, str>> {
    match value {
        [b'"', inside @ .., b'"'] => unescape(inside),
        _ => None,
    }
}

/// `text` as a JSON string with its quotation marks.
pub fn quote(text: &str) -> String {
    if length_of_plain_text(text.as_bytes()) < text.len() {
        return serde_json::Value::from(text).to_string();
    }
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    quoted.push_str(text);
    quoted.push('"');
    quoted
}

/// Adds JSON text without its line breaks. A bare line break can only be white space between values there.
pub fn push_on_one_line(out: &mut Vec<u8>, json: &[u8]) {
    let start = out.len();
    out.extend_from_slice(json);
    if memchr::memchr2(b'\n', b'\r', json).is_some() {
        for byte in out.iter_mut().skip(start).filter(|byte| matches!(byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn strings_are_read() {
        let check = |value: &[u8], expected: Option<&str>| assert_eq!(string(value).as_deref(), expected);
        check(br#""""#, Some(""));
        check(br#""plain""#, Some("plain"));
        check(br#""\u0041\n\ud83d\ude00""#, Some("A\n😀"));
        check(br#""\ud800""#, None);
        check(br#""\udc00\ud800""#, None);
        check(b"\"", None);
        check(b"1", None);
        check(b"\"\xFF\"", None);
        assert!(matches!(string(br#""plain""#), Some(Cow::Borrowed(_))));
    }

    #[test]
    fn line_breaks_between_values_become_spaces() {
        let check = |json: &str, expected: &str| {
            let mut out = b"data:\n".to_vec();
            push_on_one_line(&mut out, json.as_bytes());
            assert_eq!(out, format!("data:\n{expected}").as_bytes());
        };
        check(r#"{"a": "\n"}"#, r#"{"a": "\n"}"#);
        check("{\r\n\t\"a\":\n1\r}", "{  \t\"a\": 1 }");
        check("", "");
    }

    #[test]
    fn strings_are_written_with_the_escapes_they_need() {
        for text in ["", "plain", "two words", "\u{7f}é😀", "a \" b", "a\\", "line\nbreak", "\u{0}"] {
            assert_eq!(quote(text), serde_json::Value::from(text).to_string());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_is_quoted_is_read_again(text in any::<String>()) {
            prop_assert_eq!(string(quote(&text).as_bytes()).as_deref().map(str::to_owned), Some(text));
        }
    }
}
