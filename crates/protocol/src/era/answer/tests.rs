//! Answers in all four cells, by exact bytes.

use super::*;

const CELLS: [(Era, Era); 4] = [
    (Era::Legacy, Era::Legacy),
    (Era::Legacy, Era::Modern),
    (Era::Modern, Era::Legacy),
    (Era::Modern, Era::Modern),
];

fn answer(text: &str, method: Method, from: Era, to: Era) -> String {
    let message = Message::parse(Bytes::copy_from_slice(text.as_bytes())).unwrap();
    let written = write(&message, br#""client-1""#, method, from, to, r#"{"name":"g"}"#);
    String::from_utf8(written.to_vec()).unwrap()
}

/// The result of a server as the client reads it, with the id before and after it.
fn check_result(method: Method, from: Era, to: Era, result: &str, expected: &str) {
    let before = |id: &str, result: &str| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
    let after =
        |id: &str, result: &str| format!("{{ \"result\" : {result} , \"id\":{id},\"jsonrpc\":\"2.0\"}}\n");
    assert_eq!(answer(&before("42", result), method, from, to), before(r#""client-1""#, expected));
    assert_eq!(answer(&after("42", result), method, from, to), after(r#""client-1""#, expected));
}

#[test]
fn within_an_era_only_the_id_changes() {
    for era in [Era::Legacy, Era::Modern] {
        for result in ["{}", r#"{ "content" : [ ],"x":1.0,"resultType":"complete","ttlMs":5}"#] {
            check_result(Method::ToolsCall, era, era, result, result);
            check_result(Method::ResourcesRead, era, era, result, result);
        }
    }
}

#[test]
fn a_modern_client_reads_what_kind_of_result_it_is() {
    let named = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"g"}}"#;
    let check = |method, result: &str, expected: &str| {
        check_result(method, Era::Legacy, Era::Modern, result, &expected.replace("NAMED", named));
    };
    check(Method::ToolsCall, "{}", r#"{"resultType":"complete",NAMED}"#);
    check(Method::ToolsCall, "{ }", r#"{"resultType":"complete",NAMED }"#);
    check(Method::ToolsCall, r#"{"content":[]}"#, r#"{"resultType":"complete",NAMED,"content":[]}"#);
    check(
        Method::ToolsCall,
        r#"{"tools":[],"ttlMs":1}"#,
        r#"{"resultType":"complete",NAMED,"tools":[],"ttlMs":1}"#,
    );
    check(Method::PromptsGet, r#"{"resultType":"complete"}"#, r#"{NAMED,"resultType":"complete"}"#);
    check(Method::Complete, r#"{"result\u0054ype":"complete"}"#, r#"{NAMED,"result\u0054ype":"complete"}"#);
    check(Method::TasksGet, r#"{"taskId":"1"}"#, r#"{"resultType":"complete",NAMED,"taskId":"1"}"#);
}

#[test]
fn a_modern_client_reads_how_long_a_result_may_be_kept() {
    for method in [
        Method::ResourcesRead,
        Method::ResourcesList,
        Method::ResourcesTemplatesList,
        Method::ToolsList,
        Method::PromptsList,
        Method::Discover,
    ] {
        let check = |result, expected| check_result(method, Era::Legacy, Era::Modern, result, expected);
        check(
            r#"{"_meta":null,"contents":[]}"#,
            r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":null,"contents":[]}"#,
        );
        check(
            r#"{"_meta":null,"resultType":"complete","ttlMs":9}"#,
            r#"{"cacheScope":"private","_meta":null,"resultType":"complete","ttlMs":9}"#,
        );
    }
}

#[test]
fn a_modern_client_reads_who_answers() {
    let check = |result: &str, expected: &str| {
        check_result(Method::ToolsCall, Era::Legacy, Era::Modern, result, expected);
    };
    check(
        r#"{"resultType":"complete","_meta":{ "a":1.0}}"#,
        r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"g"}, "a":1.0}}"#,
    );
    check(
        r#"{"_meta":{},"content":[]}"#,
        r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"g"}},"content":[]}"#,
    );
    let own = r#"{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#;
    check(own, own);
}

#[test]
fn a_legacy_client_does_not_read_modern_members() {
    let check = |method, result, expected| check_result(method, Era::Modern, Era::Legacy, result, expected);
    check(Method::ToolsCall, r#"{"resultType":"complete"}"#, "{}");
    check(Method::ToolsCall, r#"{"resultType":"complete","content":[ 1.0 ]}"#, r#"{"content":[ 1.0 ]}"#);
    check(Method::ToolsCall, r#"{"content":[],"result\u0054ype":"complete"}"#, r#"{"content":[]}"#);
    check(Method::TasksGet, r#"{"taskId":"1","ttlMs":5,"resultType":"task"}"#, r#"{"taskId":"1","ttlMs":5}"#);
    check(
        Method::ResourcesRead,
        r#"{"ttlMs":0,"contents":[{"ttlMs":1}],"cacheScope":"public","resultType":"complete"}"#,
        r#"{"contents":[{"ttlMs":1}]}"#,
    );
    check(Method::ToolsList, r#"{"tools":[]}"#, r#"{"tools":[]}"#);
}

#[test]
fn only_a_code_that_the_client_must_not_see_changes() {
    let check = |from, to, code: &str, expected: &str| {
        let text = |id: &str, code: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":{id},"error":{{"message":"-32002","code":{code} ,"data":{{"code":-32002}}}}}}"#
            )
        };
        let written = answer(&text("42", code), Method::ResourcesRead, from, to);
        assert_eq!(written, text(r#""client-1""#, expected), "{from:?} to {to:?}");
    };
    for (from, to) in CELLS {
        for code in ["-32042", "-32602", "-32601", "-32021", "1"] {
            check(from, to, code, code);
        }
        let not_found = if (from, to) == (Era::Legacy, Era::Modern) { "-32602" } else { "-32002" };
        check(from, to, "-32002", not_found);
    }
}

#[test]
fn an_error_without_an_id_passes_as_it_came() {
    for text in [
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
    ] {
        for (from, to) in CELLS {
            assert_eq!(answer(text, Method::ToolsCall, from, to), text);
        }
    }
}
