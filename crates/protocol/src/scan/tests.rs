//! The scanner against RFC 8259, by table and against another reader.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::*;
use crate::generated::{any_json, nearly_json};

/// Looks over the whole text as one value.
fn scan(text: &[u8]) -> Result<Span, Malformed> {
    let mut scanner = Scanner::new(text)?;
    let place = scanner.value()?;
    scanner.end()?;
    Ok(place)
}

#[test]
fn what_is_json_is_accepted() {
    let texts = [
        "0",
        "-0",
        "1",
        "-1",
        "10",
        "0.5",
        "-0.5",
        "1e3",
        "1E+3",
        "1e-3",
        "0e0",
        "1.50e00",
        "123456789012345678901234567890",
        "true",
        "false",
        "null",
        r#""""#,
        r#""plain""#,
        r#""\"\\\/\b\f\n\r\t""#,
        r#""\u0041\uD83D\uDE00""#,
        r#""\ud800""#,
        "\"\u{7f}\u{80}é世\u{1F600}\"",
        "{}",
        "[]",
        "[[]]",
        "[{}]",
        r#"{"":0}"#,
        r#"{"a":1,"a":2}"#,
        " [ 1 , 2 ] ",
        "\t\r\n{ \"a\" : [ ] }\n",
        r#"{"a":{"b":[true,false,null]}}"#,
    ];
    for text in texts {
        assert!(scan(text.as_bytes()).is_ok(), "{text} → {:?}", scan(text.as_bytes()));
    }
}

#[test]
fn what_is_not_json_is_refused_with_the_place() {
    let check = |text: &[u8], what: &str, at: usize| {
        let expected = Malformed::new(what, at);
        assert_eq!(scan(text), Err(expected), "{}", text.escape_ascii());
    };
    check(b"", "unexpected end of the text, expected a value", 0);
    check(b"  ", "unexpected end of the text, expected a value", 2);
    check(b"01", "unexpected text after the value", 1);
    check(b"-", "expected a digit", 1);
    check(b"-a", "expected a digit", 1);
    check(b"+1", "expected a value", 0);
    check(b".5", "expected a value", 0);
    check(b"1.", "expected a digit", 2);
    check(b"1.e3", "expected a digit", 2);
    check(b"1e", "expected a digit", 2);
    check(b"1e+", "expected a digit", 3);
    check(b"0x10", "unexpected text after the value", 1);
    check(b"NaN", "expected a value", 0);
    check(b"tru", "expected a value", 0);
    check(b"nulL", "expected a value", 0);
    check(b"truefalse", "unexpected text after the value", 4);
    check(b"'a'", "expected a value", 0);
    check(b"\"a", "unexpected end of the text in a string", 2);
    check(b"\"long enough for a word", "unexpected end of the text in a string", 23);
    check(b"\"a\nb\"", "control character in a string", 2);
    check(b"\"0123456789\x1f\"", "control character in a string", 11);
    check(br#""\x""#, "unknown escape in a string", 1);
    check(br#""\"#, "unknown escape in a string", 1);
    check(br#""\u12g4""#, "expected four hexadecimal digits after \\u", 1);
    check(br#""\u12"#, "expected four hexadecimal digits after \\u", 1);
    check(b"[1,]", "expected a value", 3);
    check(b"[1 2]", "expected ',' or ']' in an array", 3);
    check(b"[1", "expected ',' or ']' in an array", 2);
    check(b"[", "unexpected end of the text, expected a value", 1);
    check(b"{\"a\":1,}", "expected a member name in quotation marks", 7);
    check(b"{a:1}", "expected a member name in quotation marks", 1);
    check(b"{\"a\" 1}", "expected ':' after a member name", 5);
    check(b"{\"a\":}", "expected a value", 5);
    check(b"{\"a\":1 \"b\":2}", "expected ',' or '}' in an object", 7);
    check(b"{\"a\":1]", "expected ',' or '}' in an object", 6);
    check(b"{} x", "unexpected text after the value", 3);
    check(b"{}{}", "unexpected text after the value", 2);
    check(b"\xEF\xBB\xBF{}", "expected a value", 0);
    check(b"\"\xFF\"", "invalid UTF-8", 1);
    check(b"\"\xED\xA0\x80\"", "invalid UTF-8", 1);
    check(b"[\x0C1]", "expected a value", 1);
}

#[test]
fn nesting_is_allowed_up_to_the_bound() {
    let nested =
        |open: &str, close: &str, depth: usize| format!("{}0{}", open.repeat(depth), close.repeat(depth));
    let bound = MAX_DEPTH as usize;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        assert!(scan(nested(open, close, bound).as_bytes()).is_ok());
        let refused = scan(nested(open, close, bound + 1).as_bytes()).unwrap_err();
        assert_eq!(refused, Malformed::new("nested deeper than 128 levels", open.len() * bound));
    }
    let side_by_side = format!("[{}0]", "[],".repeat(bound * 4));
    assert!(scan(side_by_side.as_bytes()).is_ok(), "only depth counts, not number");
    assert!(scan("[".repeat(5_000_000).as_bytes()).is_err());
}

#[test]
fn a_value_is_found_without_the_blanks_around_it() {
    assert_eq!(scan(b" \n{\"a\": 1} ").unwrap(), Span::new(2, 10));
}

#[test]
fn an_error_tells_what_and_where() {
    assert_eq!(scan(b"[1,]").unwrap_err().to_string(), "expected a value at byte 3");
}

#[test]
fn the_first_byte_tells_the_shape() {
    let check = |value: &[u8], shape| assert_eq!(Shape::of(value), shape);
    check(b"{}", Some(Shape::Object));
    check(b"[]", Some(Shape::Array));
    check(b"\"\"", Some(Shape::String));
    check(b"-1", Some(Shape::Number));
    check(b"9", Some(Shape::Number));
    check(b"true", Some(Shape::Boolean));
    check(b"false", Some(Shape::Boolean));
    check(b"null", Some(Shape::Null));
    check(b"", None);
    check(b" 1", None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn all_json_is_accepted(text in any_json()) {
        prop_assert!(scan(text.as_bytes()).is_ok(), "{}", text);
    }

    /// serde_json reads a raw value without turning escapes into text, so half surrogate pairs are no difference; and
    /// without a bound of depth, which the generator does not reach.
    #[test]
    fn what_another_reader_accepts_is_accepted_and_nothing_else(text in nearly_json()) {
        let other = serde_json::from_str::<&RawValue>(&text).is_ok();
        prop_assert_eq!(scan(text.as_bytes()).is_ok(), other, "{}", text);
    }

    #[test]
    fn any_bytes_are_accepted_or_refused_at_a_place_within(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Err(refused) = scan(&bytes) {
            prop_assert!(refused.at() <= bytes.len());
        }
    }
}
