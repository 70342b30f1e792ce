use proptest::prelude::*;
use serde_json::json;

use super::*;

fn head(text: &str) -> Result<Value, Flaw> {
    take_apart(text).head.map(Value::Object)
}

#[test]
fn heads_are_passed_on_as_they_were_written() {
    let check = |text: &str, expected: Value| assert_eq!(head(text), Ok(expected), "{text}");
    check("---\nname: a\ndescription: b\n---\nbody", json!({"name": "a", "description": "b"}));
    check("\u{feff}---\r\nname: a\r\n---\r\nbody", json!({"name": "a"}));
    check(
        "---\nz: 1\nunknown: [x, 2, true, ~]\nmetadata:\n  version: \"1.0\"\n  number: 1.5\n---\n",
        json!({"z": 1, "unknown": ["x", 2, true, null], "metadata": {"version": "1.0", "number": 1.5}}),
    );
    check("---\ntext: |\n  two\n  lines\nmode: 0755\n---\n", json!({"text": "two\nlines\n", "mode": "0755"}));
    check("---\na: &x [1]\nb: *x\n---\n", json!({"a": [1], "b": [1]}));
}

#[test]
fn what_is_no_head_is_said() {
    let check = |text: &str, expected: &str| {
        let flaw = head(text).expect_err(text).to_string();
        assert!(flaw.contains(expected), "{text:?}: {flaw}");
    };
    check("# only text", "no frontmatter");
    check("", "no frontmatter");
    check("---\nname: a\n", "no end");
    check("---\n- a\n---\n", "list of members");
    check("---\n---\n", "list of members");
    check("---\nname: a\ndescription: Use when: needed\n---\n", "line 3");
    check("---\na: 1\na: 2\n---\n", "second time");
    check(&format!("---\n{}---\n", "x: y # long\n".repeat(9000)), "longer");
    check(&format!("---\na: {}{}\n---\n", "[".repeat(60), "]".repeat(60)), "deeply");
    let laughs: String =
        (1..9).map(|n| format!("l{n}: &l{n} [{}]\n", format!("*l{},", n - 1).repeat(9))).collect();
    check(&format!("---\nl0: &l0 [a,a,a,a,a,a,a,a,a]\n{laughs}---\n"), "too many values");
}

#[test]
fn the_body_is_what_follows_the_head() {
    assert_eq!(take_apart("---\nname: a\n---\n# A\ntext\n").body, "# A\ntext\n");
    assert_eq!(take_apart("# A\n---\n").body, "# A\n---\n");
}

#[test]
fn heads_are_held_to_the_format() {
    let check_head = |value: Value, expected: Option<&str>| {
        let head = value.as_object().unwrap();
        let flaw = check(head, "refunds").err().map(|flaw| flaw.to_string());
        assert_eq!(flaw.is_some(), expected.is_some(), "{value}: {flaw:?}");
        assert!(flaw.unwrap_or_default().contains(expected.unwrap_or_default()), "{value}");
    };
    check_head(json!({"name": "refunds", "description": "d", "x": 1}), None);
    check_head(json!({"description": "d"}), Some("'name'"));
    check_head(json!({"name": 5, "description": "d"}), Some("'name'"));
    check_head(json!({"name": "refunds"}), Some("'description'"));
    check_head(json!({"name": "refunds", "description": " "}), Some("1 to 1024"));
    check_head(json!({"name": "refunds", "description": "d".repeat(1025)}), Some("1 to 1024"));
    check_head(json!({"name": "other", "description": "d"}), Some("folder, 'refunds'"));
    for name in ["Refunds", "-a", "a-", "a--b", "a b", ""] {
        check_head(json!({"name": name, "description": "d"}), Some("single hyphens"));
    }
}

#[test]
fn tags_are_found_in_both_places_and_both_forms() {
    let check_tags = |value: Value, expected: &[&str]| {
        assert_eq!(tags(value.as_object().unwrap()), expected, "{value}");
    };
    check_tags(json!({"tags": ["B", "a", "a"]}), &["a", "b"]);
    check_tags(json!({"tags": "x, y z"}), &["x", "y", "z"]);
    check_tags(json!({"metadata": {"tags": "x"}}), &["x"]);
    check_tags(json!({"tags": 5}), &[]);
    check_tags(json!({}), &[]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_head_makes_it_panic(text in "(---\n)?([a-z&*!|>\\[\\]{}:,#'\"\\-?%@` \n\t]|: |- |\\PC){0,80}(\n---\n)?\\PC{0,10}") {
        let parts = take_apart(&text);
        prop_assert!(text.ends_with(parts.body));
    }

    #[test]
    fn members_survive_being_written_and_read(
        members in proptest::collection::btree_map("[a-z]{1,8}", "\\PC{0,30}", 1..6),
    ) {
        let lines: String =
            members.iter().map(|(key, value)| format!("{key}: {}\n", Value::String(value.clone()))).collect();
        let read = head(&format!("---\n{lines}---\nbody")).unwrap();
        prop_assert_eq!(read, json!(members));
    }
}
