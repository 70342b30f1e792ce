//! Looking into objects and arrays.

use super::*;

#[test]
fn members_are_found_by_key() {
    let text = br#" {"a":1,"b\n":"t\u0065xt","a":[2],"":null,"\ud800":3} "#;
    let object = Object::parse(text).unwrap();
    assert_eq!(object.get("a"), Some(b"[2]".as_slice()), "the last one counts");
    assert_eq!(object.get("b"), None);
    assert_eq!(object.text("b\n").as_deref(), Some("text"));
    assert_eq!(object.text("a"), None);
    assert_eq!(object.get(""), Some(b"null".as_slice()));
    assert_eq!(object.repeated_key().as_deref(), Some("a"));
    assert_eq!(object.places().len(), 5);
    let member = object.member("").unwrap();
    assert_eq!(member.whole.of(text), br#""":null"#);
    let keys: Vec<_> = object.members().map(|(key, _)| key.into_owned()).collect();
    assert_eq!(keys, ["a", "b\n", "a", "", r"\ud800"]);
    assert_eq!(object.places_of(&["a", ""]).count(), 3);
}

#[test]
fn an_object_without_repeated_keys_has_none() {
    assert_eq!(Object::parse(br#"{"a":1,"b":1}"#).unwrap().repeated_key(), None);
    assert!(Object::parse(br#"{"a":1,"\u0061":1}"#).unwrap().repeated_key().is_some());
}

#[test]
fn what_is_no_object_is_refused() {
    for text in ["", "[]", "1", "{", "{}{}", "{\"a\"}"] {
        assert!(Object::parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn elements_are_told_apart() {
    let check = |text: &str, expected: &[&str]| {
        let expected: Vec<&[u8]> = expected.iter().map(|element| element.as_bytes()).collect();
        assert_eq!(elements(text.as_bytes()).unwrap(), expected);
    };
    check("[]", &[]);
    check(r#" [ 1, "a,]" ,[2], {"b":3}] "#, &["1", r#""a,]""#, "[2]", r#"{"b":3}"#]);
    assert!(elements(b"{}").is_err());
    assert!(elements(b"[1] 2").is_err());
}

#[test]
fn one_value_is_found_as_in_the_whole_object() {
    let text = br#"{"a":1,"b":{"a":2},"\u0061":3}"#;
    for key in ["a", "b", "c", ""] {
        assert_eq!(value_of(text, key), Object::parse(text).unwrap().get(key), "{key}");
    }
    assert_eq!(value_of(b"[1]", "a"), None);
    assert_eq!(value_of(br#"{"a":1"#, "a"), None);
}
