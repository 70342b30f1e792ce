//! Which URIs belong to which templates.

use proptest::prelude::*;

use super::*;

fn check(template: &str, yes: &[&str], no: &[&str]) {
    let compiled = UriTemplate::parse(template).unwrap();
    for uri in yes {
        assert!(compiled.matches(uri), "{template} should match {uri}");
    }
    for uri in no {
        assert!(!compiled.matches(uri), "{template} should not match {uri}");
    }
}

#[test]
fn text_without_expressions_matches_itself() {
    check("file:///a", &["file:///a"], &["file:///ab", "file:///", "", "file:///A"]);
    check("", &[""], &["a"]);
}

#[test]
fn simple_values_are_segments() {
    check(
        "users/{id}",
        &["users/1", "users/a%20b", "users/a b", "users/é"],
        &["users/", "users/1/2", "users", "users/1?x"],
    );
    check("a{x}b{y}c", &["a1b2c", "abbbc", "a1b2bc", "abcbcc"], &["abc", "a1b2", "abc1"]);
    check("{a}-{b,c}.json", &["1-2,3.json", "x-y-z.json"], &["-.json", "1-2.xml"]);
    check(
        "test://template/{id}/data",
        &["test://template/123/data"],
        &["test://template//data", "test://template/1/2/data"],
    );
    check("{id:3}", &["abc"], &[""]);
}

#[test]
fn reserved_values_and_fragments_are_anything() {
    check("file://{+path}", &["file:///a/b?c#d", "file://x"], &["file://", "http://x"]);
    check("a{#part}", &["a", "a#", "a#b/c"], &["ab"]);
}

#[test]
fn paths_and_labels_have_their_separator() {
    check("a{/b}", &["a", "a/1"], &["a/", "a/1/2", "a1"]);
    check("a{/b,c}/end", &["a/end", "a/1/end", "a/1/2/end"], &["a/1/2/3/end"]);
    check("a{/b*}", &["a", "a/1", "a/1/2/3"], &["a//", "a1"]);
    check("a{.ext}", &["a", "a.txt", "a.tar.gz"], &["a.", "atxt"]);
}

#[test]
fn queries_have_their_names_in_any_order() {
    check(
        "s{?q,lang}",
        &["s", "s?q=1", "s?lang=&q=a%20b", "s?q"],
        &["s?", "s?x=1", "s?q=1&x=2", "s?q=1&", "s&q=1", "s?qq=1"],
    );
    check("s?fixed=1{&q}", &["s?fixed=1", "s?fixed=1&q=2"], &["s?q=2", "s?fixed=1&x=2"]);
    check("s{?all*}", &["s", "s?anything=1&other=2"], &["s?", "s#x"]);
    check("s{;a,b}", &["s", "s;a=1;b", "s;b=2"], &["s;", "s;c=1"]);
    check("s/{id}{?q}", &["s/1", "s/1?q=2"], &["s/?q=2", "s/1?x=2"]);
}

#[test]
fn what_is_no_template_is_refused_with_the_place() {
    let check = |template: &str, what: &'static str, at: usize| {
        assert_eq!(UriTemplate::parse(template).unwrap_err(), InvalidTemplate { what, at }, "{template}");
    };
    check("a{b", "an expression without '}'", 1);
    check("a}b", "'}' without an expression", 1);
    check("{a}b}", "'}' without an expression", 4);
    check("x{}", "no variable name", 2);
    check("{a,}", "no variable name", 1);
    check("{a b}", "no variable name", 1);
    check("{{a}}", "no variable name", 1);
    check("{a:b}", "no variable name", 1);
    check("{?}", "no variable name", 1);
    check("{=a}", "an operator that RFC 6570 keeps for later", 1);
    check(&"x".repeat(MAX_TEMPLATE_LENGTH + 1), "text beyond the longest template", MAX_TEMPLATE_LENGTH);
    check(&"{a}".repeat(MAX_VARIABLES + 1), "a variable too many", MAX_VARIABLES * 3 + 1);
    let refused = UriTemplate::parse("a{b").unwrap_err();
    assert_eq!(refused.to_string(), "an expression without '}' at byte 1 of the URI template");
}

/// Sixty-four values side by side have more readings than there are atoms; one step for each byte decides.
#[test]
fn many_readings_take_no_more_time() {
    let template = UriTemplate::parse(&"{+a}".repeat(MAX_VARIABLES)).unwrap();
    assert!(template.matches(&"a".repeat(10_000)));
    let never = UriTemplate::parse(&format!("{}!", "{+a}".repeat(MAX_VARIABLES))).unwrap();
    assert!(!never.matches(&"a".repeat(10_000)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn what_a_template_becomes_matches_it(
        parts in proptest::collection::vec(("[a-z:/.-]{0,6}", 0..7_usize, "[A-Za-z0-9._~-]{1,8}"), 0..6)
    ) {
        let expressions = ["{v}", "{+v}", "{#v}", "{.v}", "{/v}", "{?v}", "{;v}"];
        let begins = ["", "", "#", ".", "/", "?v=", ";v="];
        let template: String = parts.iter().map(|(literal, kind, _)| format!("{literal}{}", expressions[*kind])).collect();
        let uri: String = parts.iter().map(|(literal, kind, value)| format!("{literal}{}{value}", begins[*kind])).collect();
        prop_assert!(UriTemplate::parse(&template).unwrap().matches(&uri), "{} {}", template, uri);
    }

    #[test]
    fn any_text_is_compiled_or_refused(template in "[a-z{}+#./;?&*:,é]{0,40}", uri in "[a-z/?&=#.;]{0,40}") {
        if let Ok(template) = UriTemplate::parse(&template) {
            template.matches(&uri);
        }
    }
}
