use proptest::prelude::*;

use super::*;

fn answered(status: u16, kind: &str, body: &str, pointer: &str) -> Value {
    let status = StatusCode::from_u16(status).unwrap();
    let content_type = Some(kind).filter(|kind| !kind.is_empty());
    result(Answer { status, content_type, body: body.as_bytes() }, pointer)
}

#[test]
fn answers_become_text_and_structure() {
    let check = |kind: &str, body: &str, pointer: &str, words: &str, structure: Value| {
        let result = answered(200, kind, body, pointer);
        assert_eq!(result["content"][0]["text"], words, "{body}");
        assert_eq!(result.get("structuredContent").cloned().unwrap_or_default(), structure, "{body}");
        assert!(result.get("isError").is_none(), "{body}");
    };
    check(
        "application/json; charset=utf-8",
        r#"{"rates":{"EUR":1.5}}"#,
        "/rates",
        r#"{"EUR":1.5}"#,
        json!({"EUR": 1.5}),
    );
    check("application/problem+json", r#"{"a":"x"}"#, "/a", "x", Value::Null);
    check("", r#"[{"n":1}]"#, "/0/n", "1", Value::Null);
    check("text/plain", r#"{"a":1}"#, "", r#"{"a":1}"#, json!({"a": 1}));
    check("text/plain", "12", "", "12", Value::Null);
    check("text/html", "<p>", "", "<p>", Value::Null);
    check("application/json", "", "", "Done (200 OK).", Value::Null);
}

#[test]
fn failures_say_what_came() {
    let check = |status: u16, kind: &str, body: &str, pointer: &str, words: &str| {
        let result = answered(status, kind, body, pointer);
        assert_eq!(result["isError"], true, "{body}");
        let said = result["content"][0]["text"].as_str().unwrap();
        assert!(said.contains(words), "{said}");
    };
    check(
        404,
        "application/json",
        r#"{"error":"no such day"}"#,
        "",
        r#"404 Not Found: {"error":"no such day"}"#,
    );
    check(500, "", "", "", "500 Internal Server Error");
    check(302, "", "", "", "not followed");
    check(200, "application/json", "{}", "/rates", "nothing at '/rates'");
    check(200, "application/json", "<html>", "", "not JSON");
    check(200, "text/html", "<html>", "/a", "not JSON");
    let binary =
        Answer { status: StatusCode::OK, content_type: Some("application/zip"), body: b"PK\xff\xfe" };
    assert_eq!(result(binary, "")["isError"], true);
    let long = answered(400, "text/plain", &"ä".repeat(5000), "");
    let said = long["content"][0]["text"].as_str().unwrap().chars().count();
    assert!(said < EXCERPT + 100, "{said}");
}

#[test]
fn pictures_stay_pictures() {
    let picture = Answer { status: StatusCode::OK, content_type: Some("Image/PNG"), body: b"\x89PNG" };
    assert_eq!(
        result(picture, "")["content"][0],
        json!({"type": "image", "data": "iVBORw==", "mimeType": "image/png"})
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes, it is a result of a tool.
    #[test]
    fn every_answer_is_a_result(
        status in 200_u16..600,
        kind in prop::option::of(".{0,20}|application/json|image/png|text/plain"),
        body in prop::collection::vec(any::<u8>(), 0..64),
        pointer in "|/a|/0|/a/b|x",
    ) {
        let Ok(status) = StatusCode::from_u16(status) else { return Ok(()) };
        let result = result(Answer { status, content_type: kind.as_deref(), body: &body }, &pointer);
        prop_assert_eq!(result["content"].as_array().unwrap().len(), 1);
        prop_assert_eq!(result.get("isError").is_some(), result["isError"] == true);
        prop_assert!(status.is_success() || result["isError"] == true);
    }
}
