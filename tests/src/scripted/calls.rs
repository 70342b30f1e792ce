//! What each tool of a scripted server does.

use std::fs::OpenOptions;
use std::io::Write;

use serde_json::{Map, Value, json};

use crate::client::Era;
use crate::scripted::{Out, Scripted, refusal};

/// The tools that every scripted server has.
pub(super) const TOOLS: [&str; 19] = [
    "add-tool",
    "ask",
    "echo",
    "flood",
    "garbage",
    "hold",
    "huge",
    "log",
    "nothing",
    "progress",
    "release",
    "seen",
    "shout",
    "strangers",
    "touch",
    "twice",
    "upset",
    "vanish",
    "verbatim",
];

/// A result as no typed model would write it.
pub const VERBATIM: &str = r#"{"zeta":0.7,"content":[{"type":"text","text":"\u00e9 é","odd":1.0e2}],"alpha":{"tools":[1E2,-0]},"structuredContent":{"b":1,"a":12345678901234567890},"isError":false}"#;

impl Scripted {
    pub(super) fn call(&self, id: &Value, params: &Value, out: &dyn Out) {
        let arguments = &params["arguments"];
        let number = |name: &str| arguments[name].as_u64().unwrap_or(1);
        let result = match params["name"].as_str().unwrap_or_default() {
            "echo" => {
                let said = arguments["text"].as_str().unwrap_or_default();
                self.tally(said);
                text(said)
            }
            "verbatim" => return self.verbatim(id, out),
            "seen" => json!({"content": [], "structuredContent": {"seen": self.seen()}}),
            "hold" => {
                self.note(json!({"began": arguments}));
                if !self.wait(id, out) {
                    return self.note(json!({"cancelled": arguments}));
                }
                text("released")
            }
            "release" => {
                self.release();
                text("released")
            }
            "progress" => {
                let token = &params["_meta"]["progressToken"];
                for step in 1..=number("steps") {
                    let params =
                        json!({"progressToken": token, "progress": step, "message": format!("step {step}")});
                    notify("notifications/progress", &params, out);
                }
                text("done")
            }
            "log" => {
                for level in ["debug", "info", "error"] {
                    notify(
                        "notifications/message",
                        &json!({"level": level, "logger": "scene", "data": level}),
                        out,
                    );
                }
                text("logged")
            }
            "ask" => return self.question(id, params, out),
            "add-tool" => {
                let name = arguments["name"].as_str().unwrap_or("fresh").to_owned();
                self.state.lock().unwrap().added_tools.push(name);
                self.announce("notifications/tools/list_changed", &json!({}));
                text("added")
            }
            "touch" if arguments.get("announce").is_some() => {
                self.announce(arguments["announce"].as_str().unwrap_or_default(), &arguments["params"]);
                text("announced")
            }
            "touch" => {
                self.announce("notifications/resources/updated", &json!({"uri": arguments["uri"]}));
                text("touched")
            }
            name => return self.misbehave(name, id, arguments, out),
        };
        self.answer(id, result, out);
    }

    /// Notes what was done where other processes of the same server note it too.
    fn tally(&self, done: &str) {
        if let Some(path) = self.value("tally") {
            let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
            // One write for a line: lines of several processes do not mix.
            file.write_all(format!("{done}\n").as_bytes()).unwrap();
        }
    }

    fn misbehave(&self, name: &str, id: &Value, arguments: &Value, out: &dyn Out) {
        let number = |name: &str| arguments[name].as_u64().unwrap_or(1);
        match name {
            "garbage" => {
                for garbage in ["Server is starting...", "{\"jsonrpc\":", "[]", "{}", "null", ""] {
                    out.say(garbage);
                }
            }
            "twice" => self.answer(id, text("first"), out),
            "strangers" => {
                for stranger in [json!(987_654_321), json!("stranger"), json!(null), json!(0.5)] {
                    self.answer(&stranger, text("for nobody"), out);
                }
                notify("notifications/progress", &json!({"progressToken": "nobody", "progress": 1}), out);
            }
            "flood" => {
                for number in 0..number("times") {
                    notify("notifications/message", &json!({"level": "info", "data": number}), out);
                }
            }
            "shout" => shout(number("lines")),
            "huge" => {
                let bytes = usize::try_from(number("bytes")).unwrap();
                return self.answer(id, text(&"x".repeat(bytes)), out);
            }
            "nothing" => return,
            "vanish" => return out.vanish(),
            "upset" => {
                let code = arguments["code"].as_i64().unwrap_or(-32055);
                let mut error = json!({"code": code, "message": "this tool is upset"});
                if let Some(data) = arguments.get("data") {
                    error["data"] = data.clone();
                }
                return out.say(&json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string());
            }
            name if name.starts_with("tool-") => {}
            _ => return out.say(&refusal(id, -32602, "no such tool")),
        }
        self.answer(id, text(name), out);
    }

    fn verbatim(&self, id: &Value, out: &dyn Out) {
        let era = if self.era == Era::Modern { r#""resultType":"complete","# } else { "" };
        let result = VERBATIM.strip_prefix('{').unwrap_or_default();
        out.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{era}{result}}}"#));
    }

    /// Asks what its arguments say. A modern server sends the questions as its answer and is called again. A legacy one
    /// that is told to `withdraw` takes the questions back and waits; one that is told to `leave` answers at once.
    fn question(&self, id: &Value, params: &Value, out: &dyn Out) {
        let arguments = &params["arguments"];
        let questions = arguments["questions"].as_array().cloned().unwrap_or_default();
        if self.era == Era::Legacy && (arguments["withdraw"] == true || arguments["leave"] == true) {
            for question in &questions {
                let (asked, _) = self.put(question, out);
                if arguments["withdraw"] == true {
                    notify("notifications/cancelled", &json!({"requestId": asked}), out);
                    self.wait(id, out);
                }
            }
            return self.answer(id, text("never mind"), out);
        }
        let replies = match (self.era, params.get("inputResponses")) {
            (Era::Legacy, _) => self.ask(&questions, arguments.get("then"), out),
            (Era::Modern, None) if !self.is("rude") && lacks_something(params, &questions) => {
                return out.say(&refusal(
                    id,
                    -32021,
                    "the client lacks the capability 'elicitation' or another",
                ));
            }
            (Era::Modern, None) => {
                let requests: Map<_, _> = questions
                    .iter()
                    .enumerate()
                    .map(|(at, question)| (format!("ask-{at}"), question.clone()))
                    .collect();
                let result = json!({"resultType": "input_required", "inputRequests": requests, "requestState": "mine"});
                return self.answer(id, result, out);
            }
            (Era::Modern, Some(responses)) => {
                if params["requestState"] != "mine" {
                    return out.say(&refusal(id, -32602, "the state is not mine"));
                }
                (0..questions.len()).map(|at| responses[format!("ask-{at}")].clone()).collect()
            }
        };
        let refused = replies.iter().any(|reply| reply.get("code").is_some());
        let replies = json!({"replies": replies});
        let content = json!([{"type": "text", "text": replies.to_string()}]);
        self.answer(id, json!({"content": content, "structuredContent": replies, "isError": refused}), out);
    }
}

/// Whether the client does not say that it can answer all of these.
fn lacks_something(params: &Value, questions: &[Value]) -> bool {
    let capabilities = &params["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    questions.iter().any(|question| {
        let kind =
            question["method"].as_str().and_then(|method| method.split('/').next()).unwrap_or_default();
        capabilities.get(kind).is_none()
    })
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn notify(method: &str, params: &Value, out: &dyn Out) {
    out.say(&json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string());
}

#[expect(clippy::print_stderr, reason = "that is what it is for")]
fn shout(lines: u64) {
    for number in 0..lines {
        eprintln!("{number} {}", "noise ".repeat(20));
    }
}
