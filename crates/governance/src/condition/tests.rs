use proptest::prelude::*;

use super::*;

fn holds(condition: &str, arguments: Option<&str>) -> Result<bool, String> {
    let groups: [Arc<str>; 2] = ["analysts".into(), "night".into()];
    let noon: Timestamp = "2026-08-03T12:30:00Z".parse().unwrap();
    let facts =
        Facts::new("anna", &groups, Subject::tool("files", "read"), arguments.map(str::as_bytes), noon);
    let condition = Condition::compile(condition).map_err(|problem| problem.to_string())?;
    condition.holds(&facts).map_err(|problem| problem.to_string())
}

#[test]
fn conditions_see_the_facts_of_a_request() {
    for (condition, arguments, expected) in [
        ("caller.id == 'anna'", None, true),
        ("'analysts' in caller.groups", None, true),
        ("'admins' in caller.groups", None, false),
        ("server == 'files' && tool == 'read'", None, true),
        ("arguments.amount > 100", Some(r#"{"amount":101}"#), true),
        ("arguments.amount > 100", Some(r#"{"amount":99.5}"#), false),
        ("arguments.amount + 1 == 3", Some(r#"{"amount":2}"#), true),
        ("has(arguments.path) && arguments.path.startsWith('/etc')", Some(r#"{"path":"/etc/passwd"}"#), true),
        ("has(arguments.path)", None, false),
        (
            "arguments.items.exists(item, item.price > 5)",
            Some(r#"{"items":[{"price":1},{"price":9}]}"#),
            true,
        ),
        ("arguments.name.matches('^[a-z]+$')", Some(r#"{"name":"abc"}"#), true),
        ("arguments.big == 18446744073709551615u", Some(r#"{"big":18446744073709551615}"#), true),
        ("type(arguments.n) == int", Some(r#"{"n":1}"#), true),
        ("now.getHours() == 12", None, true),
        ("now.getHours('Europe/Berlin') == 14", None, true),
        ("now > timestamp('2026-01-01T00:00:00Z')", None, true),
    ] {
        assert_eq!(holds(condition, arguments), Ok(expected), "{condition}");
    }
}

#[test]
fn conditions_without_an_answer_say_why_and_quote_no_values() {
    for (condition, arguments, expected) in [
        ("arguments.path == 'x'", Some(r#"{"secret":"hunter2"}"#), "there is no `path`"),
        ("arguments.path > 5", Some(r#"{"path":"hunter2"}"#), "types of its values"),
        ("arguments.path == 'x'", Some("{broken hunter2"), "they cannot be read"),
        ("1 + 1", None, "not true or false"),
    ] {
        let problem = holds(condition, arguments).unwrap_err();
        assert!(problem.contains(expected), "{condition}: {problem}");
        assert!(!problem.contains("hunter2"), "{condition}: {problem}");
    }
}

#[test]
fn unreadable_conditions_are_found_at_load() {
    for (condition, expected) in [
        ("arguments.x ==", "not valid CEL"),
        ("argument.x == 1", "`argument`, which does not exist"),
        ("[1].exists(x, x == y)", "`y`, which does not exist"),
        ("", "not valid CEL"),
    ] {
        let problem = Condition::compile(condition).unwrap_err().to_string();
        assert!(problem.contains(expected), "{condition}: {problem}");
    }
    assert!(matches!(Condition::compile(&" ".repeat(5000)), Err(ConditionError::TooLong(5000))));
}

/// Anything too deep must be refused, not tried: an overflowing stack ends the process and this test with it.
#[test]
fn no_depth_exhausts_the_stack() {
    for (open, inner, close) in [
        ("(", "true", ")"),
        ("[", "1", "]"),
        ("!", "true", ""),
        ("-", "1", ""),
        ("{'a':", "1", "}"),
        ("true ? ", "true", ": false"),
        ("(true ? ", "true", ": false)"),
        ("[1].all(x, ", "true", ")"),
        ("true && ", "true", ""),
        ("1 + ", "1", ""),
        ("", "arguments", ".a"),
        ("", "arguments", "[0]"),
    ] {
        for depth in [10, 12, 24, 50, 4000 / (open.len() + close.len())] {
            let text = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            if let Ok(condition) = Condition::compile(&text) {
                let facts = Facts::new("anna", &[], Subject::tool("s", "t"), None, Timestamp::UNIX_EPOCH);
                let _ = condition.holds(&facts);
            }
        }
    }
    let deep = format!("{}true{}", "(".repeat(25), ")".repeat(25));
    assert!(matches!(Condition::compile(&deep), Err(ConditionError::TooDeep)));
    let long = format!("{}1 == 1", "1 + ".repeat(70));
    assert!(matches!(Condition::compile(&long), Err(ConditionError::TooDeep)));
}

#[test]
fn a_condition_knows_what_it_waits_for() {
    for (condition, caller, open) in [
        ("caller.id == 'x'", true, false),
        ("tool == 'x'", false, false),
        ("arguments.x == 1", false, true),
        ("now.getHours() > 8 && caller.id == 'x'", true, true),
    ] {
        let compiled = Condition::compile(condition).unwrap();
        assert_eq!((compiled.needs_caller(), compiled.is_open_until_called()), (caller, open), "{condition}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_text_makes_the_compiler_panic(text in "[a-z0-9 .()\\[\\]{}'\"?:&|=<>!+*/%,-]{0,40}") {
        let _ = Condition::compile(&text);
    }
}
