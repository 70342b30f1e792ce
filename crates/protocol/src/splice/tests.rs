//! Changes by exact bytes, and any removal against a model of maps.

use proptest::prelude::*;

use super::*;
use crate::generated::{any_json, object};
use crate::object::Object;

fn changed(text: &str, change: impl FnOnce(&mut Splice<'_>)) -> String {
    let mut splice = Splice::new(text.as_bytes(), 16);
    change(&mut splice);
    String::from_utf8(splice.finish()).unwrap()
}

#[test]
fn changes_are_made_in_order_and_what_is_out_of_order_is_left_alone() {
    let check =
        |expected: &str, change: fn(&mut Splice<'_>)| assert_eq!(changed("0123456789", change), expected);
    check("0123456789", |_| {});
    check("0ab3456789", |splice| {
        splice.replace(Span::new(1, 3), b"ab");
    });
    check("x0123456789y", |splice| {
        splice.insert(0, b"x").insert(10, b"y");
    });
    check("0126789", |splice| {
        splice.replace(Span::new(3, 6), b"").replace(Span::new(2, 4), b"late").remove_member(Span::new(4, 5));
    });
    check("0123456789", |splice| {
        splice
            .replace(Span::new(20, 30), b"")
            .remove_member(Span::new(8, 11))
            .insert_members(Span::new(9, 12), b"x");
    });
}

#[test]
fn members_are_put_in_first() {
    let check = |object: &str, expected: &str| {
        let put = |splice: &mut Splice<'_>| {
            splice.insert_members(Span::new(0, object.len()), br#""new":1"#);
        };
        assert_eq!(changed(object, put), expected);
    };
    check("{}", r#"{"new":1}"#);
    check("{ \n}", "{\"new\":1 \n}");
    check(r#"{"a":2}"#, r#"{"new":1,"a":2}"#);
    check(r#"{ "a":2}"#, r#"{"new":1, "a":2}"#);
}

fn without(text: &str, keys: &[&str]) -> String {
    let object = Object::parse(text.as_bytes()).unwrap();
    changed(text, |splice| {
        for member in object.places_of(keys) {
            splice.remove_member(member.whole);
        }
    })
}

#[test]
fn members_go_with_their_comma() {
    let check = |text: &str, keys: &[&str], expected: &str| assert_eq!(without(text, keys), expected);
    check(r#"{"a":1}"#, &["a"], "{}");
    check(r#"{ "a" : 1 }"#, &["a"], "{ }");
    check(r#"{"a":1,"b":2}"#, &["a"], r#"{"b":2}"#);
    check(r#"{"a":1,"b":2}"#, &["b"], r#"{"a":1}"#);
    check(r#"{"a":1 , "b":2 }"#, &["b"], r#"{"a":1  }"#);
    check(r#"{"a":1,"b":2,"c":3}"#, &["b", "c"], r#"{"a":1}"#);
    check(r#"{"a":1,"b":2,"c":3}"#, &["a", "c"], r#"{"b":2}"#);
    check(r#"{"a":1,"b":2,"c":3}"#, &["a", "b", "c"], "{}");
    check(r#"{"a":[1,2],"\u0062":{"c":","}}"#, &["b"], r#"{"a":[1,2]}"#);
    check(r#"{"a":1,"x":2,"a":3}"#, &["a"], r#"{"x":2}"#);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_members_can_go_and_the_others_stay(
        (text, gone) in proptest::collection::vec((any_json(), any::<bool>()), 0..8).prop_flat_map(|members| {
            let gone: Vec<bool> = members.iter().map(|(_, gone)| *gone).collect();
            let members = members.into_iter().enumerate().map(|(at, (value, _))| (format!("\"k{at}\""), value)).collect();
            (object(members), Just(gone))
        })
    ) {
        let names: Vec<String> = (0..gone.len()).map(|at| format!("k{at}")).collect();
        let keys: Vec<&str> = std::iter::zip(&names, &gone).filter(|(_, gone)| **gone).map(|(name, _)| name.as_str()).collect();
        let rest = without(&text, &keys);
        let (before, after) = (Object::parse(text.as_bytes()).unwrap(), Object::parse(rest.as_bytes()).unwrap());
        let expected: Vec<_> = before.members().filter(|(key, _)| !keys.contains(&&**key)).collect();
        prop_assert_eq!(after.members().collect::<Vec<_>>(), expected);
    }
}
