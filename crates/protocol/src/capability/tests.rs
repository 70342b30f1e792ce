//! Declarations by exact bytes, and questions by table.

use proptest::prelude::*;

use super::*;

fn check(servers: &[&str], legacy: &str, modern: &str) {
    let merged = merge(servers);
    assert_eq!(merged.json(Era::Legacy), legacy, "{servers:?}");
    assert_eq!(merged.json(Era::Modern), modern, "{servers:?}");
}

fn check_both(servers: &[&str], expected: &str) {
    check(servers, expected, expected);
}

#[test]
fn a_gateway_can_do_what_any_server_can() {
    check_both(&[], "{}");
    check_both(&["{}", "{}"], "{}");
    check_both(&[r#"{"tools":{}}"#], r#"{"tools":{}}"#);
    check_both(
        &[r#"{"tools":{"listChanged":false}}"#, r#"{"tools":{"listChanged":true}}"#],
        r#"{"tools":{"listChanged":true}}"#,
    );
    check_both(
        &[r#"{"prompts":{"listChanged":true}}"#, r#"{"tools":{},"logging":{},"completions":{}}"#],
        r#"{"completions":{},"logging":{},"prompts":{"listChanged":true},"tools":{}}"#,
    );
    check_both(
        &[r#"{"resources":{"subscribe":true}}"#, r#"{"resources":{"listChanged":true,"subscribe":false}}"#],
        r#"{"resources":{"listChanged":true,"subscribe":true}}"#,
    );
}

#[test]
fn tasks_are_for_legacy_clients_and_extensions_for_modern_ones() {
    check(
        &[
            r#"{"tasks":{"requests":{"tools":{"call":{}}}}}"#,
            r#"{"tasks":{"list":{},"requests":{"tools":{"x":1}}},"extensions":{"b/x":{"v":1.0}}}"#,
            r#"{"extensions":{"a/y":{},"b/x":{"v":2}},"tasks":{}}"#,
        ],
        r#"{"tasks":{"list":{},"requests":{"tools":{"call":{},"x":1}}}}"#,
        r#"{"extensions":{"a/y":{},"b/x":{"v":1.0}}}"#,
    );
}

#[test]
fn experiments_are_united() {
    check_both(
        &[r#"{"experimental":{"z":{"a":1}}}"#, r#"{"experimental":{"a\"":{},"z":{}}}"#],
        r#"{"experimental":{"a\"":{},"z":{"a":1}}}"#,
    );
}

#[test]
fn what_cannot_be_understood_says_nothing() {
    check_both(
        &[
            "",
            "[]",
            "null",
            "{",
            r#"{"tools":null,"prompts":true,"logging":1,"tasks":[],"extensions":{"a/b":3}}"#,
        ],
        "{}",
    );
    check_both(&["x", r#"{"logging":{}}"#], r#"{"logging":{}}"#);
}

#[test]
fn a_client_is_asked_what_it_can() {
    let check = |capabilities: &str, expected: &[&str]| {
        let has = Has::of(capabilities.as_bytes());
        let answers = [
            ("sampling", has.sampling()),
            ("sampling tools", has.sampling_tools()),
            ("roots", has.roots()),
            ("form", has.elicitation_form()),
            ("url", has.elicitation_url()),
            ("tasks", has.tasks()),
            ("extension a/b", has.extension("a/b").is_some()),
            ("extension c/d", has.extension("c/d").is_some()),
        ];
        let yes: Vec<_> = answers.iter().filter(|(_, yes)| *yes).map(|(name, _)| *name).collect();
        assert_eq!(yes, expected, "{capabilities}");
    };
    check("{}", &[]);
    check("", &[]);
    check("[]", &[]);
    check(r#"{"sampling":{}}"#, &["sampling"]);
    check(r#"{"sampling":{"tools":{}}}"#, &["sampling", "sampling tools"]);
    check(r#"{"sampling":null,"roots":true}"#, &[]);
    check(r#"{"roots":{"listChanged":true}}"#, &["roots"]);
    check(r#"{"elicitation":{}}"#, &["form"]);
    check(r#"{"elicitation":{"form":{}}}"#, &["form"]);
    check(r#"{"elicitation":{"url":{}}}"#, &["url"]);
    check(r#"{"elicitation":{"form":{},"url":{}}}"#, &["form", "url"]);
    check(r#"{"tasks":{},"extensions":{"a\/b":{"x":1}}}"#, &["tasks", "extension a/b"]);
}

#[test]
fn a_question_goes_only_to_who_can_answer_it() {
    let check = |capabilities: &str, question: Method, params: Option<&str>, expected: bool| {
        let answer = Has::of(capabilities.as_bytes()).answer_to(question, params.map(str::as_bytes));
        assert_eq!(answer, expected, "{capabilities} {question:?} {params:?}");
    };
    check(r#"{"sampling":{}}"#, Method::CreateMessage, None, true);
    check(r#"{"sampling":{}}"#, Method::RootsList, None, false);
    check(r#"{"roots":{}}"#, Method::RootsList, None, true);
    check(r#"{"elicitation":{}}"#, Method::Elicit, Some(r#"{"message":"?"}"#), true);
    check(r#"{"elicitation":{}}"#, Method::Elicit, Some(r#"{"mode":"form"}"#), true);
    check(r#"{"elicitation":{}}"#, Method::Elicit, Some(r#"{"mode":"url"}"#), false);
    check(r#"{"elicitation":{"url":{}}}"#, Method::Elicit, Some(r#"{"mode":"url"}"#), true);
    check(r#"{"elicitation":{"url":{}}}"#, Method::Elicit, None, false);
    check(r#"{"sampling":{}}"#, Method::ToolsCall, None, false);
}

/// Capabilities whose settings are alike wherever they stand, so that no order can matter.
fn capabilities() -> impl Strategy<Value = String> {
    let members = vec![
        r#""tools":{"listChanged":true}"#,
        r#""prompts":{}"#,
        r#""resources":{"subscribe":true}"#,
        r#""logging":{}"#,
        r#""completions":{}"#,
        r#""tasks":{"list":{},"requests":{"tools":{"call":{}}}}"#,
        r#""extensions":{"a/b":{},"c/d":{"x":[1]}}"#,
        r#""experimental":{"e":{}}"#,
    ];
    let some = proptest::sample::subsequence(members.clone(), 0..=members.len()).prop_shuffle();
    some.prop_map(|members| format!("{{{}}}", members.join(",")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn the_order_of_servers_does_not_show(servers in proptest::collection::vec(capabilities(), 0..6)) {
        let backwards: Vec<_> = servers.iter().rev().cloned().collect();
        for era in [Era::Legacy, Era::Modern] {
            let json = merge(&servers).json(era);
            prop_assert_eq!(&json, &merge(&backwards).json(era));
            prop_assert_eq!(&json, &merge(&[&json]).json(era), "what is merged once stays");
        }
    }
}
