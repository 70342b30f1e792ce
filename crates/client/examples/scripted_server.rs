//! An MCP server over stdio that misbehaves on request. The tests of this crate start it.
//!
//! The first argument says how it greets: `legacy`, `modern`, `short` (modern, and reads calls in short), `silent` (ignores `server/discover`), `dies` (ends when it
//! is sent `server/discover`), `mute` (answers nothing), `fails` (ends at once), `deaf` (legacy,
//! ignores `ping`). The name of a called
//! tool says what it does then.

#![expect(clippy::print_stderr, reason = "its last words go there")]

use std::io::{BufRead, Write};
use std::process::exit;

use serde_json::{Value, json};

struct Script {
    mode: String,
    /// Notifications and settings that have come.
    seen: Vec<Value>,
    /// The id of the call that waits for the answer to a question.
    asking: Option<Value>,
}

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_else(|| "legacy".to_owned());
    if mode == "fails" {
        eprintln!("cannot find the configuration");
        exit(3);
    }
    let mut script = Script { mode, seen: Vec::new(), asking: None };
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = line.and_then(|line| serde_json::from_str::<Value>(&line).map_err(Into::into))
        else {
            exit(4);
        };
        script.hear(&message);
    }
}

impl Script {
    fn hear(&mut self, message: &Value) {
        if let Some([id, ..]) = message.as_array().map(Vec::as_slice) {
            return result(id, &json!({"in short": message}));
        }
        let id = message.get("id").cloned();
        match (message.get("method").and_then(Value::as_str), id) {
            _ if self.mode == "mute" => {}
            (Some(method), Some(id)) => self.request(method, &id, message),
            (Some(_), None) => self.seen.push(message.clone()),
            (None, _) => {
                let answer = message.get("result").or_else(|| message.get("error")).cloned();
                if let Some(call) = self.asking.take() {
                    result(&call, &json!({"answered": answer}));
                } else {
                    self.seen.push(message.clone());
                }
            }
        }
    }

    fn request(&mut self, method: &str, id: &Value, message: &Value) {
        match (method, self.mode.as_str()) {
            ("server/discover", "modern") => result(
                id,
                &json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": true}},
                        "resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted"}}}),
            ),
            ("server/discover", "short") => result(
                id,
                &json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "resultType": "complete",
                        "_meta": {"io.toolgate/short-calls": true}}),
            ),
            ("server/discover", "dies") => {
                eprintln!("expected initialize");
                exit(5);
            }
            ("server/discover", "silent") => eprintln!("what?"),
            ("ping", "deaf") => eprintln!("what?"),
            ("tools/list", "deaf") => result(id, &json!({"tools": []})),
            ("initialize", "legacy" | "silent" | "dies" | "deaf") => result(
                id,
                &json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "scripted", "version": "1"},
                        "capabilities": {"tools": {}, "logging": {}, "resources": {"subscribe": true}}}),
            ),
            ("subscriptions/listen", "modern") => {
                self.seen.push(message.clone());
                say(&json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                            "params": {"_meta": {"io.modelcontextprotocol/subscriptionId": id}}}));
            }
            ("logging/setLevel" | "resources/subscribe" | "resources/unsubscribe", _) => {
                self.seen.push(message.clone());
                result(id, &json!({}));
            }
            ("tools/call", _) => self.call(id, message),
            _ => say(
                &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"}}),
            ),
        }
    }

    fn call(&mut self, id: &Value, message: &Value) {
        let params = message.get("params").cloned().unwrap_or_default();
        let done = json!({"content": []});
        match params.get("name").and_then(Value::as_str).unwrap_or_default() {
            "echo" => result(id, &params),
            "seen" => result(id, &json!({"seen": self.seen})),
            "environment" => {
                let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                result(id, &json!({"names": names}));
            }
            "garbage" => {
                write(b"Server is starting...\n\xff\xfe\n{\"jsonrpc\":\n[]\n{}\n\n");
                result(id, &done);
            }
            "split" => {
                for byte in format!("{}\r\n", json!({"jsonrpc": "2.0", "id": id, "result": done})).bytes() {
                    write(&[byte]);
                }
            }
            "huge" => result(id, &json!({"text": "x".repeat(300_000)})),
            "silent" => {}
            "stuck" => loop {
                std::thread::park();
            },
            "number" => result(id, &json!({"number": std::env::var("TOOLGATE_PROCESS").ok()})),
            "twice" => {
                result(id, &json!({"which": 1}));
                result(id, &json!({"which": 2}));
            }
            "unknown ids" => {
                result(&json!(987_654_321), &done);
                result(&json!("odd"), &done);
                result(id, &done);
            }
            "exit" => {
                eprintln!("these are my last words");
                exit(7);
            }
            "stderr flood" => {
                for _ in 0..20_000 {
                    eprintln!("{}", "noise ".repeat(20));
                }
                result(id, &done);
            }
            "progress" => {
                let token = params.pointer("/_meta/progressToken").cloned().unwrap_or_default();
                for step in 1..=3 {
                    say(&json!({"jsonrpc": "2.0", "method": "notifications/progress",
                                "params": {"progressToken": token, "progress": step}}));
                }
                say(&json!({"jsonrpc": "2.0", "method": "notifications/message",
                            "params": {"level": "info", "data": "nearly done"}}));
                result(id, &done);
            }
            "log flood" => {
                for number in 0..5_000 {
                    say(&json!({"jsonrpc": "2.0", "method": "notifications/message",
                                "params": {"level": "info", "data": number}}));
                }
                result(id, &done);
            }
            "ask" => {
                self.asking = Some(id.clone());
                say(&json!({"jsonrpc": "2.0", "id": "question", "method": "elicitation/create",
                            "params": {"message": "really?"}}));
            }
            "take back" => {
                say(
                    &json!({"jsonrpc": "2.0", "id": "question", "method": "elicitation/create", "params": {}}),
                );
                say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": {"requestId": "question"}}));
                result(id, &done);
            }
            "ping" => {
                self.asking = Some(id.clone());
                say(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
            }
            "changed" => {
                say(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                result(id, &done);
            }
            _ => say(
                &json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": "no such tool"}}),
            ),
        }
    }
}

fn result(id: &Value, result: &Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

fn say(message: &Value) {
    write(format!("{message}\n").as_bytes());
}

fn write(bytes: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    if stdout.write_all(bytes).and_then(|()| stdout.flush()).is_err() {
        exit(6);
    }
}
