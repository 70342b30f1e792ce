use super::*;
use crate::results::{Limits, Range};

fn answer(result: &Value) -> Message {
    let whole = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    Message::parse(Bytes::from(whole.to_string())).unwrap()
}

fn result(message: &Message) -> Value {
    serde_json::from_slice(message.body().unwrap()).unwrap()
}

fn long_text(bytes: usize) -> Value {
    json!({"type": "text", "text": "é".repeat(bytes / 2)})
}

#[test]
fn a_long_result_is_cut_and_says_so() {
    let whole = answer(&json!({"content": [long_text(800)]}));
    assert!(is_overlong(&whole, 300) && !is_overlong(&whole, 10_000));
    let cut = result(&cut(whole, 300));
    assert_eq!(cut["_meta"]["io.toolgate/truncated"]["limit"], 300);
    assert!(cut["content"][0]["text"].as_str().unwrap().len() <= 300);
    assert!(cut["content"][1]["text"].as_str().unwrap().contains("cut by the gateway"));
    assert_eq!(cut["isError"], false);
}

#[test]
fn what_is_no_result_of_a_tool_is_left_alone() {
    let read = answer(&json!({"contents": [long_text(800)]}));
    assert!(!is_overlong(&read, 300));
    let error = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":{"content":[]}}}"#;
    assert!(!is_overlong(&Message::parse(Bytes::from_static(error.as_bytes())).unwrap(), 10));
}

#[test]
fn structured_content_is_passed_on_whole_or_not_at_all() {
    let check = |structured: Value, passes: bool| {
        let modern =
            json!({"content": [long_text(800)], "structuredContent": structured, "resultType": "complete"});
        let cut = result(&cut(answer(&modern), 300));
        assert_eq!(cut.get("structuredContent").is_some(), passes);
        // Without what its schema promises, a client would refuse a success and lose the text.
        assert_eq!(cut["isError"], !passes);
        assert_eq!(cut["resultType"], "complete");
    };
    check(json!({"sum": 3}), true);
    check(json!({"rows": "x".repeat(400)}), false);
}

#[test]
fn what_is_kept_is_text_where_text_says_everything() {
    let check = |result: Value, media: &str, content: &str| {
        let whole = Overlong::read(&answer(&result), 10).unwrap().whole();
        assert_eq!((whole.media, whole.content.as_str()), (media, content));
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    check(json!({"content": [text("one"), text("two")]}), "text/plain", "one\ntwo");
    check(json!({"content": [text("one")], "structuredContent": {"result": "one"}}), "text/plain", "one");
    check(
        json!({"content": [text("{\"a\": 1}")], "structuredContent": {"a": 1}}),
        "text/plain",
        "{\"a\": 1}",
    );
    let more = json!({"content": [text("one")], "structuredContent": {"b": 2}});
    check(more.clone(), "application/json", &more.to_string());
    let image = json!({"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]});
    check(image.clone(), "application/json", &image.to_string());
}

#[test]
fn a_kept_result_is_linked_and_goes_on_where_the_cut_was() {
    let state = tempfile::tempdir().unwrap();
    let limits = Limits { max_bytes: 10_000, max_count: 10, keep_for: Duration::from_secs(60) };
    let results = Arc::new(Results::under(Some(state.path()), limits));
    let tool = Arc::new(Target {
        kind: toolgate_governance::Kind::Tool,
        server: "shop".into(),
        exposed: "shop__long".into(),
        native: "long".into(),
        declared_price: None,
    });
    let keeping = |links| Keeping {
        results: Arc::clone(&results),
        seal: Arc::new(Seal::new(&[7; 32]).unwrap()),
        owner: "anna".into(),
        tool: Arc::clone(&tool),
        links,
    };
    let whole = answer(&json!({"content": [long_text(800)]}));
    let kept = result(&keep(whole.clone(), 301, &keeping(true)));
    let passed_on = kept["content"][0]["text"].as_str().unwrap();
    let uri = kept["content"][2]["uri"].as_str().unwrap();
    assert_eq!(
        (kept["content"][2]["type"].as_str(), kept["content"][2]["size"].as_u64()),
        (Some("resource_link"), Some(800))
    );
    let note = kept["content"][1]["text"].as_str().unwrap();
    assert!(note.contains(&format!("{uri}?offset={}&length=", passed_on.len())), "{note}");
    let id = uri.strip_prefix("result://").unwrap();
    let rest = results.find(id, "anna").unwrap();
    let rest = rest.read(Range { offset: passed_on.len() as u64, length: 10_000 }).unwrap();
    assert_eq!(format!("{passed_on}{}", rest.text), "é".repeat(400));

    let unlinked = result(&keep(whole, 301, &keeping(false)));
    assert_eq!(unlinked["content"].as_array().unwrap().len(), 2, "an old client gets the address as text");
    let too_large = result(&keep(answer(&json!({"content": [long_text(20_000)]})), 300, &keeping(true)));
    assert_eq!(too_large["content"].as_array().unwrap().len(), 2);
    assert_eq!(too_large["_meta"]["io.toolgate/truncated"].get("uri"), None);
}
