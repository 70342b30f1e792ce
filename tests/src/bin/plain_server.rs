//! A small MCP server over stdio, in both eras, for tests: two tools, a resource, a template, a prompt.
//!
//! It is written without any MCP library, so that a test of ours never proves only that we agree with ourselves. Its
//! first argument chooses how it behaves: `legacy` and `modern` speak one era only, `dies` says why on standard error and
//! ends at once, `files` has the tools of a file server, of which one says a lot.

use std::io::{BufRead, Write};

use serde_json::{Value, json};

const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const MODERN: &str = "2026-07-28";
/// How much is said by the tool that says a lot.
const LONG: usize = 100_000;

/// Which eras are spoken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaks {
    Both,
    Legacy,
    Modern,
}

/// An error answer: code and message.
struct Refusal(i64, String);

fn main() -> std::io::Result<()> {
    let speaks = match std::env::args().nth(1).as_deref() {
        Some("legacy") => Speaks::Legacy,
        Some("modern") => Speaks::Modern,
        Some("dies") => {
            writeln!(std::io::stderr(), "plain_server: the licence has run out")?;
            std::process::exit(7);
        }
        _ => Speaks::Both,
    };
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else { continue };
        // What has no id wants no answer; what has no method is an answer, and we asked nothing.
        let (Some(id), Some(method)) = (message.get("id"), message.get("method").and_then(Value::as_str))
        else {
            continue;
        };
        let params = message.get("params").unwrap_or(&Value::Null);
        let modern = params.pointer("/_meta/io.modelcontextprotocol~1protocolVersion").is_some();
        let answer = match answer(method, params, modern, speaks) {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(Refusal(code, what)) => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": what}})
            }
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
    }
    Ok(())
}

fn answer(method: &str, params: &Value, modern: bool, speaks: Speaks) -> Result<Value, Refusal> {
    let capabilities = json!({"tools": {}, "resources": {}, "prompts": {}});
    let info = json!({"name": "plain", "version": "1.0.0"});
    match (method, speaks) {
        ("initialize", Speaks::Both | Speaks::Legacy) => {
            let wanted = params.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
            let version = if LEGACY.contains(&wanted) { wanted } else { LEGACY[0] };
            Ok(json!({"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}))
        }
        ("server/discover", Speaks::Both | Speaks::Modern) => Ok(json!({
            "resultType": "complete", "supportedVersions": [MODERN], "capabilities": capabilities,
            "serverInfo": info, "ttlMs": 60_000, "cacheScope": "private",
        })),
        ("ping", Speaks::Both | Speaks::Legacy) => Ok(json!({})),
        _ if modern && speaks == Speaks::Legacy || !modern && speaks == Speaks::Modern => {
            Err(Refusal(-32601, format!("Method not found: {method}")))
        }
        _ => {
            let mut result = content(method, params)?;
            if let (true, Some(members)) = (modern, result.as_object_mut()) {
                members.insert("resultType".into(), "complete".into());
                if method.ends_with("/list") || method == "resources/read" {
                    members.insert("ttlMs".into(), 60_000.into());
                    members.insert("cacheScope".into(), "private".into());
                }
            }
            Ok(result)
        }
    }
}

fn has_files() -> bool {
    std::env::args().nth(1).as_deref() == Some("files")
}

fn content(method: &str, params: &Value) -> Result<Value, Refusal> {
    let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
    let argument = |key: &str| params.get("arguments").and_then(|arguments| arguments.get(key));
    let unknown = |what: &str| Refusal(-32602, format!("{what} not found: {name}"));
    match method {
        "tools/list" if has_files() => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            let tools = ["read_file", "search_files", "write_file"].map(tool);
            Ok(json!({"tools": tools}))
        }
        "tools/call" if has_files() => {
            let length = if name == "read_file" { LONG } else { 1 };
            Ok(json!({"content": [{"type": "text", "text": "x".repeat(length)}]}))
        }
        "tools/list" => Ok(json!({"tools": [
            {
                "name": "echo", "description": "Says what it is told.",
                "inputSchema": {
                    "type": "object", "required": ["text"],
                    "properties": {
                        "text": {"type": "string", "description": "What to say."},
                        "times": {"type": "integer", "description": "How often."},
                    },
                },
            },
            {"name": "fail", "description": "Always fails.", "inputSchema": {"type": "object"}},
        ]})),
        "tools/call" => match name {
            "echo" => {
                let text = argument("text").and_then(Value::as_str).unwrap_or_default();
                let times = argument("times").and_then(Value::as_u64).unwrap_or(1).min(100) as usize;
                Ok(json!({"content": [{"type": "text", "text": vec![text; times].join(" ")}]}))
            }
            "fail" => Ok(json!({"content": [{"type": "text", "text": "as always"}], "isError": true})),
            _ => Err(unknown("Tool")),
        },
        "resources/list" => Ok(json!({"resources": [
            {"uri": "note://greeting", "name": "greeting", "mimeType": "text/plain", "description": "A greeting."},
        ]})),
        "resources/templates/list" => Ok(json!({"resourceTemplates": [
            {"uriTemplate": "note://day/{day}", "name": "day", "mimeType": "text/plain", "description": "A day."},
        ]})),
        "resources/read" => match params.get("uri").and_then(Value::as_str) {
            Some(uri @ "note://greeting") => {
                Ok(json!({"contents": [{"uri": uri, "mimeType": "text/plain", "text": "Good morning.\n"}]}))
            }
            uri => Err(Refusal(-32002, format!("Resource not found: {}", uri.unwrap_or_default()))),
        },
        "prompts/list" => Ok(json!({"prompts": [{
            "name": "greet", "description": "Greets somebody.",
            "arguments": [{"name": "who", "required": true}, {"name": "how"}],
        }]})),
        "prompts/get" if name == "greet" => {
            let who = argument("who").and_then(Value::as_str).unwrap_or("you");
            let content = json!({"type": "text", "text": format!("Say hello to {who}.")});
            Ok(json!({"description": "Greets somebody.", "messages": [{"role": "user", "content": content}]}))
        }
        "prompts/get" => Err(unknown("Prompt")),
        _ => Err(Refusal(-32601, format!("Method not found: {method}"))),
    }
}
