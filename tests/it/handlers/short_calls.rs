//! What a worker is sent: of a handler that looks at nothing but its arguments, those alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use harness::{Client, Era};
use serde_json::{Value, json};

use super::{Workshop, python};

const SOURCE: &str = r#"
from typing import Annotated, Literal
from pydantic import Field
from toolgate import Context, handler

# More than the gateway makes a schema of.
Many = Literal[tuple(f"{number:01000}" for number in range(300))]

@handler
def grade(points: Annotated[int, Field(ge=0, le=9)], note: str = "none") -> str:
    return f"{points} {note}"

@handler
async def later(points: int) -> int:
    return points

@handler
def pick(one: Many) -> int:
    return int(one)

@handler
def who(ctx: Context) -> str:
    return str(ctx.caller.name)
"#;

/// An interpreter that writes down what it is sent.
fn eavesdropping(workshop: &Workshop) -> (String, impl Fn() -> Vec<Value>) {
    let (script, heard) = (workshop.path("python"), workshop.path("heard"));
    let words = format!("#!/bin/sh\ntee -a \"{}\" | \"{}\" \"$@\"\n", heard.display(), python().display());
    fs::write(&script, words).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let calls = move || {
        let lines = fs::read_to_string(&heard).unwrap();
        let messages = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages.filter(|message| message.is_array() || message["method"] == "tools/call").collect()
    };
    (script.display().to_string(), calls)
}

#[test]
fn a_handler_without_a_context_is_sent_its_checked_arguments_alone() {
    let workshop = Workshop::with(SOURCE);
    let (interpreter, calls) = eavesdropping(&workshop);
    let gateway = workshop.open_with_python(&interpreter, "", "");
    for era in Era::BOTH {
        let before = calls().len();
        let client = Client::new(&gateway, era);
        let graded = client.call("w__grade", &json!({"points": 3}));
        assert_eq!(graded.text(), "3 none");
        let kind = (era == Era::Modern).then(|| json!("complete"));
        assert_eq!(graded.result().get("resultType"), kind.as_ref());
        let named = &graded.result()["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
        assert_eq!(named == "toolgate", era == Era::Modern, "{}", graded.answer);
        assert_eq!(client.call("w__grade", &json!({"points": 4, "note": null})).text(), "4 none");
        assert_eq!(client.call("w__later", &json!({"points": 5})).text(), "5");
        assert_eq!(client.call("w__grade", &json!({"points": 10})).code(), -32602);
        assert_eq!(client.call("w__pick", &json!({"one": format!("{:01000}", 7)})).text(), "7");
        assert_eq!(client.call("w__pick", &json!({"one": "8"})).code(), -32602);
        client.call("w__who", &json!({})).result();
        let sent = calls().split_off(before);
        let forms: Vec<_> =
            sent.iter().map(|call| call.get(1).or(call.pointer("/params/name")).unwrap()).collect();
        assert_eq!(
            forms,
            ["grade", "grade", "later", "pick", "pick", "who"],
            "what did not fit was not sent"
        );
        let in_short: Vec<_> = sent.iter().map(Value::is_array).collect();
        assert_eq!(in_short, [true, true, true, false, false, false], "{sent:?}");
        assert_eq!(sent[0][2], json!({"points": 3}));
    }
}

#[test]
fn what_python_cannot_read_is_answered_at_once() {
    let workshop = Workshop::with(SOURCE);
    let gateway = workshop.open("");
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        for (tool, arguments) in
            [("w__grade", r#"{"points":1,"note":"\ud800"}"#), ("w__who", r#"{"\ud800":1}"#)]
        {
            let params = client.params(&json!({"name": tool, "arguments": "ARGUMENTS"}));
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let headers = client.headers(&call);
            let body = call.to_string().replace(r#""ARGUMENTS""#, arguments);
            let answer = client.post_raw(body.as_bytes(), &headers);
            let answer: Value = serde_json::from_slice(&answer.body).unwrap();
            assert!(answer["error"]["code"].is_i64(), "{tool}: {answer}");
        }
        assert_eq!(client.call("w__later", &json!({"points": 1})).text(), "1");
    }
}
