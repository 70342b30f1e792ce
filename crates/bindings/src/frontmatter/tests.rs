use serde_json::Value;

use super::*;
use crate::binding::Binding;

fn variables(name: &str, host: &Url) -> Option<String> {
    (name == "KEY" && host.host_str() == Some("h")).then(|| "s3cret".to_owned())
}

fn declared(http: &Value, more: &Value) -> Result<Tool, Why> {
    let mut tool = json!({
        "name": "t", "description": "d",
        "input": {"type": "object", "properties": {"a": {"type": "string", "default": "x"}, "n": {"type": "integer"}}},
        "http": http,
    });
    tool.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let frontmatter = json!({ "tools": [tool] });
    let (mut good, mut bad) = tools(frontmatter.as_object().unwrap(), "skill://c/n", &variables);
    bad.pop().map_or_else(|| Ok(good.remove(0)), |bad| Err(bad.why))
}

fn binding(http: &Value) -> Binding {
    declared(http, &json!({})).unwrap().binding
}

#[test]
fn a_tool_says_what_it_is_and_does() {
    let http = json!({
        "url": "https://h/{a}", "query": {"n": "{n}", "key": "${ENV:KEY}"},
        "headers": {"X-Key": "k ${KEY}"}, "auth_ref": "env:KEY", "timeout": "5s", "retries": 2, "result": "/rates",
    });
    let tool = declared(&http, &json!({"read_only": true, "price": "0.001", "title": "T"})).unwrap();
    let definition = tool.definition();
    assert_eq!(definition["annotations"]["readOnlyHint"], true);
    assert_eq!(definition["annotations"]["idempotentHint"], true);
    assert_eq!(
        definition["_meta"],
        json!({"io.toolgate/skill": "skill://c/n", "io.toolgate/price": "0.001"})
    );
    assert!(!definition.to_string().contains("s3cret") && !format!("{tool:?}").contains("s3cret"));
    let arguments = Map::from_iter([("n".to_owned(), json!(2))]);
    let request = tool.binding.request(&arguments).unwrap();
    assert_eq!(request.url, "https://h/x?n=2&key=s3cret");
    assert_eq!(request.headers["x-key"], "k s3cret");
    assert_eq!(request.headers["authorization"], "Bearer s3cret");
    assert_eq!((tool.binding.timeout.as_secs(), tool.binding.retries), (5, 2));
}

#[test]
fn what_is_not_understood_is_refused() {
    let check = |http: Value, more: Value, words: &str| {
        let why = declared(&http, &more).unwrap_err().to_string();
        assert!(why.contains(words), "{http}: {why}");
    };
    let none = || json!({});
    check(json!({"url": "https://h/", "quer": {}}), none(), "'quer' is not known");
    check(json!({"url": "https://h/"}), json!({"nam": 1}), "'nam' is not known");
    check(json!({"url": "https://h/"}), json!({"name": "a b"}), "'name'");
    check(json!({"url": "https://h/"}), json!({"input": {"type": "array"}}), "'input'");
    check(json!({"url": "https://h/"}), json!({"price": "-1"}), "'price'");
    check(json!({"url": "https://h/"}), json!({"read_only": "yes"}), "true or false");
    check(json!({"url": "https://h/{b}"}), none(), "argument 'b'");
    check(json!({"url": "https://h/", "body": {"x": ["{c}"]}}), none(), "argument 'c'");
    check(json!({"url": "https://h/", "retries": 1}), none(), "twice");
    check(json!({"url": "https://h/", "retries": 99}), json!({"idempotent": true}), "0 to 5");
    check(json!({"url": "https://{a}/"}), none(), "host");
    check(json!({"url": "https://h/${ENV:KEY}"}), none(), "headers and in values of the query");
    check(json!({"url": "https://h/", "headers": {"X": "${ENV:OTHER}"}}), none(), "OTHER");
    check(json!({"url": "https://other/", "headers": {"X": "${ENV:KEY}"}}), none(), "for certain hosts only");
    check(json!({"url": "https://other/", "query": {"x": "${ENV:KEY}"}}), none(), "for certain hosts only");
    check(json!({"url": "https://other/", "auth_ref": "env:KEY"}), none(), "for certain hosts only");
    let untrue = json!({"input": {"type": "object", "properties": {"a": {"type": "file"}}}});
    check(json!({"url": "https://h/"}), untrue, "at '/properties/a/type'");
    let elsewhere =
        json!({"input": {"type": "object", "properties": {"a": {"$ref": "https://h/schema.json"}}}});
    check(json!({"url": "https://h/"}), elsewhere, "'input' is no JSON Schema");
    check(json!({"url": "https://h/", "headers": {"X": "${file:/etc/passwd}"}}), none(), "file:/etc/passwd");
    check(json!({"url": "https://h/", "headers": {"X": "a\r\nb: c"}}), none(), "'X'");
    check(json!({"url": "https://h/", "headers": {"Host": "evil"}}), none(), "'Host'");
    check(json!({"url": "https://h/", "auth_ref": "file:x"}), none(), "env:NAME");
    check(json!({"url": "https://h/", "method": "TRACE"}), none(), "http.method");
    check(json!({"url": "https://h/", "timeout": "1h"}), none(), "http.timeout");
    check(json!({"url": "https://h/", "body": 1, "form": {}}), none(), "only one");
    check(json!({"url": "https://h/", "result": "rates"}), none(), "JSON pointer");
    check(json!({}), none(), "http.url");
}

#[test]
fn lists_of_names_are_no_tools_and_bodies_are_read() {
    for value in [json!("Bash, Read"), json!(["Bash"]), Value::Null] {
        let frontmatter = json!({ "tools": value });
        let (good, bad) = tools(frontmatter.as_object().unwrap(), "", &variables);
        assert!(good.is_empty() && bad.is_empty(), "{frontmatter}");
    }
    let many: Vec<Value> = (0..100).map(|number| json!({ "name": number.to_string() })).collect();
    let (_, bad) = tools(json!({ "tools": many }).as_object().unwrap(), "", &variables);
    assert_eq!(bad.last().unwrap().why, Why::TooMany);
    let bound = binding(&json!({"method": "post", "url": "https://h/", "form": {"x": "{a}"}}));
    let request = bound.request(&Map::new()).unwrap();
    assert_eq!((request.method.as_str(), &*request.body), ("POST", b"x=x".as_slice()));
}
