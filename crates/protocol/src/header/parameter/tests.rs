//! The constraints of the specification on `x-mcp-header`, one by one.

use super::*;

fn annotate(schema: &str) -> Result<Vec<(String, String)>, String> {
    let found = annotations(schema.as_bytes()).map_err(|error| error.to_string())?;
    Ok(found.into_iter().map(|annotation| (annotation.path.join("."), annotation.header)).collect())
}

fn path(names: &str) -> Vec<String> {
    names.split('.').map(str::to_owned).collect()
}

#[test]
fn annotations_are_found_along_properties() {
    let check = |schema: &str, expected: &[(&str, &str)]| {
        let expected =
            expected.iter().map(|(path, header)| ((*path).to_owned(), (*header).to_owned())).collect();
        assert_eq!(annotate(schema), Ok(expected), "{schema}");
    };
    check("{}", &[]);
    check(r#"{"properties":{"a":{"type":"string"}}}"#, &[]);
    check(r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"}}}"#, &[("a", "Region")]);
    check(r#"{"properties":{"a":{"type":"string","x-mcp-h\u0065ader":"R"}}}"#, &[("a", "R")]);
    check(
        r#"{"properties":{"o":{"type":"object","properties":{"i":{"type":"integer","x-mcp-header":"I"}}},"b":{"type":"boolean","x-mcp-header":"B-2"}}}"#,
        &[("o.i", "I"), ("b", "B-2")],
    );
    // A property, a definition or data of that name is no annotation.
    check(r#"{"properties":{"x-mcp-header":{"type":"string"}}}"#, &[]);
    check(r#"{"$defs":{"x-mcp-header":{"type":"string"}}}"#, &[]);
    check(r#"{"default":{"x-mcp-header":"R"},"enum":[{"x-mcp-header":"R"}]}"#, &[]);
    check(
        r#"{"properties":{"properties":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}"#,
        &[("properties.a", "A")],
    );
}

#[test]
fn annotations_against_the_rules_are_refused() {
    let at_property = |property: &str, expected: &str| {
        let schema = format!(r#"{{"properties":{{"a":{property}}}}}"#);
        assert_eq!(annotate(&schema), Err(format!("x-mcp-header at 'a' {expected}")), "{schema}");
    };
    let name = "must be a header name";
    at_property(r#"{"type":"string","x-mcp-header":""}"#, name);
    at_property(r#"{"type":"string","x-mcp-header":"My Region"}"#, name);
    at_property(r#"{"type":"string","x-mcp-header":"a:b"}"#, name);
    at_property(r#"{"type":"string","x-mcp-header":"a\r\nb"}"#, name);
    at_property(r#"{"type":"string","x-mcp-header":"é"}"#, name);
    at_property(r#"{"type":"string","x-mcp-header":1}"#, "must be a string");
    let primitive = "must be on a string, integer or boolean";
    for shape in ["number", "object", "array", "null"] {
        at_property(&format!(r#"{{"type":"{shape}","x-mcp-header":"A"}}"#), primitive);
    }
    at_property(r#"{"x-mcp-header":"A"}"#, primitive);
    let unreachable = "must be on a property that is reached through 'properties' only";
    let annotated = r#"{"type":"string","x-mcp-header":"A"}"#;
    for keyword in ["items", "additionalProperties", "not", "if", "then", "else", "contains"] {
        at_property(&format!(r#"{{"{keyword}":{annotated}}}"#), unreachable);
    }
    for keyword in ["oneOf", "anyOf", "allOf", "prefixItems"] {
        at_property(&format!(r#"{{"{keyword}":[{{}},{annotated}]}}"#), unreachable);
    }
    let check =
        |schema: &str, expected: &str| assert_eq!(annotate(schema), Err(expected.to_owned()), "{schema}");
    check(&format!(r#"{{"$defs":{{"d":{annotated}}}}}"#), &format!("x-mcp-header at 'd' {unreachable}"));
    check(annotated, &format!("x-mcp-header at '' {unreachable}"));
    check(
        r#"{"properties":{"a":{"type":"string","x-mcp-header":"Region"},"b":{"type":"string","x-mcp-header":"REGION"}}}"#,
        "x-mcp-header at 'b' is used twice",
    );
    check(
        &format!(r#"{{"allOf":[{{"properties":{{"a":{annotated}}}}}]}}"#),
        &format!("x-mcp-header at 'a' {unreachable}"),
    );
}

#[test]
fn values_are_taken_from_their_exact_path() {
    let arguments =
        br#"{"s":"a\u0062","i":-7,"f":42.0,"p":1e3,"b":true,"n":null,"o":{"s":"deep"},"l":[1],"half":0.5}"#;
    let check = |names: &str, expected: Option<&str>| {
        assert_eq!(value(arguments, &path(names)).as_deref(), expected, "{names}");
    };
    check("s", Some("ab"));
    check("i", Some("-7"));
    check("f", Some("42"));
    check("p", Some("1000"));
    check("half", Some("0.5"));
    check("b", Some("true"));
    check("n", None);
    check("o", None);
    check("l", None);
    check("o.s", Some("deep"));
    check("s.o", None);
    check("missing", None);
}

#[test]
fn a_header_must_say_what_the_argument_says() {
    let arguments = r#"{"text":"1.0","number":9007199254740993,"whole":42.0,"no":null,"wide":"世"}"#;
    let check = |header: Option<&str>, name: &str, expected: bool| {
        assert_eq!(repeats(header, arguments.as_bytes(), &path(name)), expected, "{header:?} for {name}");
    };
    check(Some("1.0"), "text", true);
    check(Some("1"), "text", false);
    check(None, "text", false);
    check(Some("9007199254740993"), "number", true);
    check(Some("9007199254740992"), "number", false);
    check(Some("42"), "whole", true);
    check(Some("42.0"), "whole", true);
    check(Some("43"), "whole", false);
    check(Some(" 42"), "whole", false);
    check(None, "no", true);
    check(Some("null"), "no", false);
    check(None, "absent", true);
    check(Some("=?base64?5LiW?="), "wide", true);
    check(Some("=?base64?5LiW"), "wide", false);
}

#[test]
fn numbers_are_compared_as_numbers_and_nothing_else_is() {
    let check = |header: &str, argument: &str, expected: bool| {
        assert_eq!(agrees(header, argument), expected, "{header} and {argument}");
    };
    check("42", "42.0", true);
    check("1e2", "100", true);
    check("0.5", "5e-1", true);
    check("-0", "0", true);
    check("inf", "Infinity", false);
    check("nan", "NaN", false);
    check("true", "True", false);
    check("+1", "1", false);
}
