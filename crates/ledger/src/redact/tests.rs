//! What is taken out, what stays, and what cannot be read.

use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{RedactionRules, Redactor, UNREADABLE};

fn rules(keys: &[&str], paths: &[&str]) -> Redactor {
    let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    Redactor::new(&RedactionRules { keys: own(keys), paths: own(paths), replacement: "X".to_owned() })
        .unwrap()
}

fn check(redactor: &Redactor, input: &str, expected: &str) {
    let redacted = redactor.redact(input.as_bytes());
    assert_eq!(std::str::from_utf8(&redacted).unwrap(), expected);
    if expected.as_bytes() != UNREADABLE {
        assert_eq!(redactor.redact_json(input.as_bytes()), redacted);
    }
    assert_eq!(matches!(redacted, Cow::Borrowed(_)), input == expected || expected.as_bytes() == UNREADABLE);
}

#[test]
fn keys() {
    let redactor = rules(&["api_key", "*pass*", "a*c", "*_end"], &[]);
    check(&redactor, r#"{"city":"Rome","n":1.50}"#, r#"{"city":"Rome","n":1.50}"#);
    check(&redactor, r#"{"api_key":"s"}"#, r#"{"api_key":"X"}"#);
    check(&redactor, r#"{"apiKey":"s","API-KEY" : 12 }"#, r#"{"apiKey":"X","API-KEY" : "X" }"#);
    check(&redactor, r#"{"\u0061pi_key":"s"}"#, r#"{"\u0061pi_key":"X"}"#);
    check(&redactor, r#"[{"x":{"userPassword":{"deep":["s"]}}}, 2]"#, r#"[{"x":{"userPassword":"X"}}, 2]"#);
    check(&redactor, r#"{"abc":1,"ac":null,"abcd":3}"#, r#"{"abc":"X","ac":"X","abcd":3}"#);
    check(&redactor, r#"{"text":"\"pass\":\"s\""}"#, r#"{"text":"\"pass\":\"s\""}"#);
    check(&redactor, r#"{"pass":"a\"}b","q":"\\"}"#, r#"{"pass":"X","q":"\\"}"#);
    check(&redactor, r#"{"weekEnd":1,"ending":2}"#, r#"{"weekEnd":"X","ending":2}"#);
    check(&redactor, r#"["pass","s"]"#, r#"["pass","s"]"#);
    // No text can hold the first key, so nobody can say that it is harmless.
    check(&redactor, r#"{"\ud800":"s","city":"Rome"}"#, r#"{"\ud800":"X","city":"Rome"}"#);
    check(&redactor, r#"{"pass":1,"pass":2}"#, r#"{"pass":"X","pass":"X"}"#);
}

#[test]
fn paths() {
    let redactor = rules(&[], &["/user/ssn", "/list/*/id", "/deep/1", "/a~1b"]);
    check(&redactor, r#"{"user":{"ssn":1,"x":2},"ssn":3}"#, r#"{"user":{"ssn":"X","x":2},"ssn":3}"#);
    check(&redactor, r#"{"x":{"user":{"ssn":1}}}"#, r#"{"x":{"user":{"ssn":1}}}"#);
    check(
        &redactor,
        r#"{"list":[{"id":1},{"id":2,"n":{"id":3}}]}"#,
        r#"{"list":[{"id":"X"},{"id":"X","n":{"id":3}}]}"#,
    );
    check(&redactor, r#"{"deep":[0,1,2]}"#, r#"{"deep":[0,"X",2]}"#);
    check(&redactor, r#"{"a/b":1}"#, r#"{"a/b":"X"}"#);
}

/// A body after redaction, which both ways agree on.
fn redacted(redactor: &Redactor, input: &str) -> String {
    let redacted = redactor.redact_json(input.as_bytes());
    assert_eq!(redactor.redact(input.as_bytes()), redacted);
    String::from_utf8(redacted.into_owned()).unwrap()
}

fn text_of(json: &str) -> String {
    serde_json::from_str::<Value>(json).unwrap()["text"].as_str().unwrap().to_owned()
}

#[test]
fn documents_quoted_in_strings() {
    let redactor = rules(&["pass"], &["/id"]);
    check(&redactor, r#"{"text":"{\"pass\":\"s\",\"n\":1}"}"#, r#"{"text":"{\"pass\":\"X\",\"n\":1}"}"#);
    check(
        &redactor,
        r#"["[{\"a\":\"{\\\"pass\\\":1}\"}]"]"#,
        r#"["[{\"a\":\"{\\\"pass\\\":\\\"X\\\"}\"}]"]"#,
    );
    for start in [" ", r"\n", r" \r\n\t", r"\u0020\u000A "] {
        let document = |value: &str| format!(r#"{{"text":"{start}{{\"pass\":{value}}}"}}"#);
        let plain = text_of(&document(r#"\"X\""#));
        assert_eq!(text_of(&redacted(&redactor, &document(r#"\"s\""#))), plain);
    }
    check(&redactor, r#"{"text":"\u007b\"pass\":\"s\"}"}"#, r#"{"text":"{\"pass\":\"X\"}"}"#);
    check(&redactor, r#"["\"{\\\"pass\\\":1}\""]"#, r#"["\"{\\\"pass\\\":\\\"X\\\"}\""]"#);
    check(&redactor, r#"["\n\"pass\": 1"]"#, r#"["\n\"pass\": 1"]"#);
    check(&redactor, r#"{"text":"{\"id\":1}"}"#, r#"{"text":"{\"id\":1}"}"#);
    check(&redactor, r#"{"text":"{\"pass\":\"\ud800\"}"}"#, r#"{"text":"X"}"#);
    check(&redactor, r#"{"text":"{\"pass\" is no JSON"}"#, r#"{"text":"{\"pass\" is no JSON"}"#);
}

#[test]
fn unreadable_bodies_are_not_kept() {
    let redactor = rules(&["key"], &[]);
    let unreadable = std::str::from_utf8(UNREADABLE).unwrap();
    let too_deep = "[".repeat(200) + &"]".repeat(200);
    for input in
        ["", "{", "password=1", r#"{"a":1"#, r#"{"a" 1}"#, "[1 2]", r#"{"key":}"#, "{} {}", &too_deep]
    {
        check(&redactor, input, unreadable);
    }
}

#[test]
fn default_rules() {
    let redactor = Redactor::new(&RedactionRules::default()).unwrap();
    for secret in [
        "password",
        "db_password",
        "Authorization",
        "apiKey",
        "x-api-key",
        "access_token",
        "clientSecret",
        "cookie",
        "private_key",
        "aws_secret_access_key",
    ] {
        check(&redactor, &format!(r#"{{"{secret}":"s"}}"#), &format!(r#"{{"{secret}":"[redacted]"}}"#));
    }
    for harmless in ["max_tokens", "tokenize", "secretary", "key", "author", "city"] {
        let input = format!(r#"{{"{harmless}":"s"}}"#);
        check(&redactor, &input, &input);
    }
}

#[test]
fn rules_that_cannot_be() {
    let refused = |keys: &[&str], paths: &[&str]| {
        let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
        let rules = RedactionRules { keys: own(keys), paths: own(paths), replacement: String::new() };
        Redactor::new(&rules).is_err()
    };
    assert!(refused(&["_"], &[]));
    assert!(refused(&[], &["user/ssn"]));
    assert!(!refused(&["*"], &["/user"]));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        // A document in a string, as the text of a tool's result often is.
        ("[ \n]{0,2}", ".{0,4}")
            .prop_map(|(space, text)| Value::from(format!("{space}{}", json!({"city": text})))),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        let key = prop_oneof![Just("token".to_owned()), Just("To-Ken".to_owned()), ".{0,4}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn redact_tree(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(redact_tree),
        Value::Object(members) => {
            for (key, member) in members {
                if key.replace(['_', '-'], "").eq_ignore_ascii_case("token") {
                    *member = json!("X");
                } else {
                    redact_tree(member);
                }
            }
        }
        _ => {}
    }
}

/// Whether a key has the pattern, the plain way.
fn has_pattern(pattern: &[u8], key: &[u8]) -> bool {
    match (pattern, key) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => (0..=key.len()).any(|covered| has_pattern(rest, &key[covered..])),
        ([first, pattern @ ..], [byte, key @ ..]) => first == byte && has_pattern(pattern, key),
        _ => false,
    }
}

proptest! {
    #[test]
    fn keys_are_judged_as_the_plain_way_would(
        patterns in proptest::collection::vec("[abA*_-]{0,2}[abB*]|[ab*]{7,9}", 1..4),
        key in "[abAB_-]{0,12}",
    ) {
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let folded = |text: &str| text.replace(['_', '-'], "").to_ascii_lowercase().into_bytes();
        let is_secret = patterns.iter().any(|pattern| has_pattern(&folded(pattern), &folded(&key)));
        let redacted = rules(&patterns, &[]).redact_json(json!({&key: 1}).to_string().as_bytes()).into_owned();
        prop_assert_eq!(redacted, json!({&key: if is_secret { json!("X") } else { json!(1) }}).to_string().into_bytes());
    }

    #[test]
    fn agrees_with_a_walk_over_the_tree(value in values(), pretty in any::<bool>()) {
        let redactor = rules(&["token"], &[]);
        let json = if pretty { format!("{value:#}") } else { value.to_string() };
        prop_assert_eq!(redactor.redact_json(json.as_bytes()), redactor.redact(json.as_bytes()));
        let redacted: Value = serde_json::from_slice(&redactor.redact(json.as_bytes())).unwrap();
        let mut expected = value;
        redact_tree(&mut expected);
        prop_assert_eq!(redacted, expected);
    }

    #[test]
    fn no_bytes_make_the_scanner_panic(bytes in any::<Vec<u8>>(), text in r#"[\[\]{}:,"\\a0 -]{0,40}"#) {
        let redactor = rules(&["a"], &["/a/0"]);
        redactor.redact(&bytes);
        redactor.redact(text.as_bytes());
        let redactor = rules(&["a"], &[]);
        redactor.redact_json(&bytes);
        redactor.redact_json(text.as_bytes());
    }
}
