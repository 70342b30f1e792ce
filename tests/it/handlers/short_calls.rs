//! What a worker is sent: of a handler that looks at nothing but its arguments, those alone.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use harness::{Client, Era, eventually};
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
def say(text: str) -> str:
    return text

@handler
def tell(text: str, ctx: Context) -> str:
    return text

@handler
def who(ctx: Context) -> str:
    return str(ctx.caller.name)
"#;

/// An interpreter that writes down what it is sent, and what has been written down of calls.
fn eavesdropping(workshop: &Workshop) -> (String, impl Fn() -> Vec<Value>) {
    let (script, heard) = (workshop.path("python"), workshop.path("heard"));
    let words = format!("#!/bin/sh\ntee -a \"{}\" | \"{}\" \"$@\"\n", heard.display(), python().display());
    fs::write(&script, words).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let calls = move || {
        let lines = fs::read_to_string(&heard).unwrap_or_default();
        // What is being written at the moment has no end yet.
        let whole = lines.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        let messages = whole.map(|line| serde_json::from_str::<Value>(line).unwrap());
        messages.filter(|message| message.is_array() || message["method"] == "tools/call").collect()
    };
    (script.display().to_string(), calls)
}

/// The tools that are called in a scene, where what does not fit its schema is not sent.
const EXPECTED: [&str; 6] = ["grade", "grade", "later", "pick", "pick", "who"];

#[test]
fn a_handler_without_a_context_is_sent_its_checked_arguments_alone() {
    let workshop = Workshop::with(SOURCE);
    let (interpreter, calls) = eavesdropping(&workshop);
    let gateway = workshop.open_with_python(&interpreter, "", "");
    for (turn, era) in Era::BOTH.into_iter().enumerate() {
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
        let before = turn * EXPECTED.len();
        // Who writes down what a worker is sent may do so after it was answered.
        let sent = eventually("all was written down", || {
            let mut all = calls();
            (all.len() >= before + EXPECTED.len()).then(|| all.split_off(before))
        });
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
        let list = client.request("tools/list", &json!({}));
        let tools = list.result()["tools"].as_array().unwrap();
        let grade = tools.iter().find(|tool| tool["name"] == "w__grade").unwrap();
        assert_eq!(sent[0][3], grade["_meta"]["io.toolgate/short-call"], "{sent:?}");
    }
}

#[test]
fn what_python_cannot_read_is_answered_at_once() {
    let workshop = Workshop::with(SOURCE);
    let gateway = workshop.open("");
    let long = "9".repeat(5000);
    for era in Era::BOTH {
        let client = Client::new(&gateway, era);
        // Half of a surrogate pair is JSON, and a number may have any length.
        for (tool, arguments) in [
            ("w__say", r#"{"text":"\ud800"}"#),
            ("w__tell", r#"{"text":"\ud800"}"#),
            ("w__later", &format!(r#"{{"points":{long}}}"#)),
        ] {
            let params = client.params(&json!({"name": tool, "arguments": "ARGUMENTS"}));
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let headers = client.headers(&call);
            let body = call.to_string().replace(r#""ARGUMENTS""#, arguments);
            let answer = client.post_raw(body.as_bytes(), &headers).json();
            assert_eq!(answer["error"]["code"], -32700, "{tool}: {answer}");
        }
        assert_eq!(client.call("w__later", &json!({"points": 1})).text(), "1");
    }
}

#[test]
fn a_handler_that_has_changed_since_it_was_listed_is_not_run_on_what_no_longer_fits() {
    let source = |bound: u32| {
        format!(
            "from typing import Annotated\nfrom pydantic import Field\nfrom toolgate import handler\n\n\
             @handler\ndef grade(points: Annotated[int, Field(le={bound})]) -> int:\n    return points\n"
        )
    };
    let workshop = Workshop::with(&source(9));
    let mut gateway = workshop.open("");
    assert_eq!(Client::modern(&gateway).call("w__grade", &json!({"points": 9})).text(), "9");
    assert!(gateway.stop().success());
    workshop.write(&source(3));
    // It begins with the list that it remembers, and the first call comes before there is another.
    let gateway = gateway.succeed().start();
    assert_eq!(Client::modern(&gateway).call("w__grade", &json!({"points": 9})).code(), -32602);
}
