//! A server with things to sell: a legacy one over HTTP, inside the test, so that a scene knows what really ran.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};

use harness::LONG;
use serde_json::{Value, json};

/// The server. Dropping it closes it.
pub(crate) struct Shop {
    address: String,
    counter: Arc<Counter>,
    door: Option<JoinHandle<()>>,
}

/// What happens at the counter, over all connections.
#[derive(Default)]
struct Counter {
    closed: AtomicBool,
    /// The params of all calls that arrived.
    orders: Mutex<Vec<Value>>,
    /// The ids of the tasks that were made.
    made: Mutex<Vec<String>>,
    released: Mutex<bool>,
    changed: Condvar,
}

impl Shop {
    pub(crate) fn open() -> Shop {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let counter = Arc::new(Counter::default());
        let serving = Arc::clone(&counter);
        let door = thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if serving.closed.load(Ordering::Acquire) {
                    return;
                }
                let counter = Arc::clone(&serving);
                // Ends with its connection, that is with the gateway.
                thread::spawn(move || counter.serve(stream));
            }
        });
        Shop { address, counter, door: Some(door) }
    }

    /// A configuration with this server as `shop`, more keys for its record, and more sections.
    pub(crate) fn config(&self, record: &str, sections: &str) -> String {
        let url = format!("http://{}/mcp", self.address);
        format!("servers:\n  shop: {{url: \"{url}\", era: legacy, {record}}}\n{sections}")
    }

    /// How many calls of a tool arrived.
    pub(crate) fn orders(&self, tool: &str) -> usize {
        self.counter.orders.lock().unwrap().iter().filter(|order| order["name"] == tool).count()
    }

    /// The params of the call that arrived last.
    pub(crate) fn last_order(&self) -> Value {
        self.counter.orders.lock().unwrap().last().cloned().unwrap_or_default()
    }

    /// Lets the calls of `hold` go on, now and from now on.
    pub(crate) fn release(&self) {
        *self.counter.released.lock().unwrap() = true;
        self.counter.changed.notify_all();
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.release();
        self.counter.closed.store(true, Ordering::Release);
        // Wakes the door, which looks whether it is closed.
        drop(TcpStream::connect(&self.address));
        self.door.take().unwrap().join().unwrap();
    }
}

impl Counter {
    /// One connection: requests one after the other, until the other side has had enough.
    fn serve(&self, stream: TcpStream) {
        stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(stream);
        while let Some((method, body)) = read_request(&mut reader) {
            let response = match (&*method, serde_json::from_slice::<Value>(&body)) {
                ("POST", Ok(message)) => self.answer(&message).map_or_else(
                    || head("202 Accepted", 0),
                    |answer| {
                        let answer = answer.to_string();
                        head("200 OK", answer.len()) + &answer
                    },
                ),
                _ => head("405 Method Not Allowed", 0),
            };
            if reader.get_mut().write_all(response.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, message: &Value) -> Option<Value> {
        let id = message.get("id")?;
        let params = &message["params"];
        let answer = match message["method"].as_str()? {
            "initialize" => Ok(json!({
                "protocolVersion": "2025-11-25", "serverInfo": {"name": "shop", "version": "1"},
                "capabilities": {"tools": {}, "prompts": {}, "resources": {"subscribe": true}, "completions": {},
                                 "tasks": {"list": {}, "cancel": {}}},
            })),
            "tools/list" => Ok(json!({"tools": tools()})),
            "prompts/list" => Ok(json!({"prompts": [{"name": "welcome"}, {"name": "vault"}]})),
            "resources/list" => Ok(json!({"resources": [
                {"uri": "shop://window", "name": "window"}, {"uri": "shop://vault", "name": "vault"}]})),
            "resources/templates/list" => Ok(json!({"resourceTemplates": [
                {"uriTemplate": "shop://shelf/{number}", "name": "shelf"},
                {"uriTemplate": "shop://safe/{number}", "name": "safe"}]})),
            "prompts/get" => {
                Ok(json!({"messages": [{"role": "user", "content": {"type": "text", "text": "welcome"}}]}))
            }
            "resources/read" => match params["uri"].as_str()? {
                uri @ ("shop://window" | "shop://vault") => {
                    Ok(json!({"contents": [{"uri": uri, "text": "things"}]}))
                }
                uri => Err(json!({"code": -32002, "message": format!("we do not sell {uri}")})),
            },
            "completion/complete" => Ok(json!({"completion": {"values": ["1"]}})),
            "tools/call" => self.sell(params),
            "tasks/list" => {
                let ids = self.made.lock().unwrap();
                Ok(json!({"tasks": ids.iter().map(|id| task(id)).collect::<Vec<_>>()}))
            }
            "tasks/get" | "tasks/cancel" => {
                self.orders.lock().unwrap().push(json!({"name": message["method"], "arguments": params}));
                Ok(task(params["taskId"].as_str()?))
            }
            "tasks/result" => Ok(text("done at last")),
            _ => Ok(json!({})),
        };
        Some(match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        })
    }

    fn sell(&self, params: &Value) -> Result<Value, Value> {
        self.orders.lock().unwrap().push(params.clone());
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap_or_default() {
            "buy" => Ok(text(&format!("sold {}", arguments["item"]))),
            "hold" => {
                let released = self.released.lock().unwrap();
                drop(self.changed.wait_timeout_while(released, LONG, |released| !*released).unwrap());
                Ok(text("released"))
            }
            "break" => Ok(json!({"content": [{"type": "text", "text": "broken"}], "isError": true})),
            "upset" => Err(json!({"code": -32055, "message": "upset"})),
            "long" => Ok(text(&"x".repeat(arguments["bytes"].as_u64().unwrap() as usize))),
            "later" => {
                let mut made = self.made.lock().unwrap();
                let number = made.len() + 1;
                made.push(format!("task-{number}"));
                Ok(json!({"task": task(made.last().unwrap())}))
            }
            name => Ok(text(name)),
        }
    }
}

fn task(id: &str) -> Value {
    json!({"taskId": id, "status": "working", "createdAt": "2026-08-03T12:00:00Z", "ttl": 60000})
}

/// What is for sale. `region` of `headed` must be repeated in a header by modern clients.
fn tools() -> Value {
    let any = json!({"type": "object"});
    let count = json!({"type": "object", "required": ["n"], "properties": {
        "n": {"type": "integer"}, "note": {"type": "string"},
        "deep": {"type": "object", "properties": {"flag": {"type": "boolean"}}}}});
    let headed =
        json!({"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}});
    let plain = ["buy", "hold", "break", "upset", "long", "vault", "later"];
    let mut tools: Vec<Value> = plain.iter().map(|name| json!({"name": name, "inputSchema": any})).collect();
    tools.push(json!({"name": "count", "inputSchema": count}));
    tools.push(json!({"name": "dear", "inputSchema": any, "_meta": {"io.toolgate/price": "3"}}));
    let strict = json!({"type": "object", "required": ["kind"], "additionalProperties": false, "properties": {
        "kind": {"enum": ["tea", "cup"]},
        "amount": {"type": "integer", "minimum": 1, "maximum": 9},
        "name": {"type": "string", "minLength": 2, "pattern": "^[a-z]+$"},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string"}}}});
    tools.push(json!({"name": "strict", "inputSchema": strict}));
    tools.push(json!({"name": "headed", "inputSchema": headed}));
    Value::Array(tools)
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn head(status: &str, length: usize) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n")
}

/// The method and the body of the next request; nothing at the end of the connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> Option<(String, Vec<u8>)> {
    let mut line = String::new();
    if reader.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let method = line.split(' ').next()?.to_owned();
    let mut length = 0;
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((method, body))
}
