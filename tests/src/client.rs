//! A client over HTTP, in either era.
//!
//! One type for both, so that a scene is written once and played in every cell: a legacy client has a session and is
//! asked on the stream of its request; a modern one says everything in each request and is asked by `input_required`.

mod pending;
mod question;

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

pub use pending::Pending;

use crate::gateway::Gateway;
use crate::http::{Connection, Head, Response};

/// The newest revision of the modern era.
pub const MODERN: &str = "2026-07-28";
/// The newest revision of the legacy era.
pub const LEGACY: &str = "2025-11-25";

/// In which way a client or a server speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// Up to 2025-11-25, with `initialize`.
    Legacy,
    /// From 2026-07-28 on.
    Modern,
}

impl Era {
    /// Both.
    pub const BOTH: [Era; 2] = [Era::Legacy, Era::Modern];

    /// The word that the scripted server knows it by.
    pub fn word(self) -> &'static str {
        match self {
            Era::Legacy => "legacy",
            Era::Modern => "modern",
        }
    }
}

/// A client.
#[derive(Debug)]
pub struct Client {
    era: Era,
    version: String,
    address: String,
    session: Option<String>,
    capabilities: Value,
    /// Sent with every message besides what belongs to it.
    more_headers: Vec<(&'static str, String)>,
    next_id: AtomicU64,
}

/// A request with all that came for it.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The status of the response.
    pub status: u16,
    /// The head of the response.
    pub head: Head,
    /// What came before the answer.
    pub before: Vec<Value>,
    /// The answer.
    pub answer: Value,
    /// The answer as it was written.
    pub raw: String,
}

impl Exchange {
    /// The result.
    pub fn result(&self) -> &Value {
        self.answer.get("result").unwrap_or_else(|| panic!("no result: {}", self.answer))
    }

    /// The code of the error.
    pub fn code(&self) -> i64 {
        self.answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {}", self.answer))
    }

    /// The message of the error.
    pub fn error(&self) -> &str {
        self.answer["error"]["message"].as_str().unwrap_or_else(|| panic!("no error: {}", self.answer))
    }

    /// The text of the first block of content.
    pub fn text(&self) -> &str {
        self.result()["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {}", self.answer))
    }
}

impl Client {
    /// A client that can answer every question.
    pub fn new(gateway: &Gateway, era: Era) -> Client {
        let all =
            json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {"listChanged": true}});
        Client::able(gateway, era, all)
    }

    /// A legacy client.
    pub fn legacy(gateway: &Gateway) -> Client {
        Client::new(gateway, Era::Legacy)
    }

    /// A modern client.
    pub fn modern(gateway: &Gateway) -> Client {
        Client::new(gateway, Era::Modern)
    }

    /// A client that sends these headers with every request, to say who it is.
    pub fn presenting(gateway: &Gateway, era: Era, credentials: &[(&'static str, &str)]) -> Client {
        let version = match era {
            Era::Legacy => LEGACY,
            Era::Modern => MODERN,
        };
        let capabilities = json!({"elicitation": {"form": {}}});
        let mut client = Client::unconnected(gateway.address(), era, version, capabilities);
        client.more_headers = credentials.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        if era == Era::Legacy {
            client.initialize();
        }
        client
    }

    /// A client with these capabilities.
    pub fn able(gateway: &Gateway, era: Era, capabilities: Value) -> Client {
        match era {
            Era::Legacy => Client::dated(gateway, LEGACY, capabilities),
            Era::Modern => Client::unconnected(gateway.address(), era, MODERN, capabilities),
        }
    }

    /// A legacy client of this revision, its session begun.
    pub fn dated(gateway: &Gateway, version: &str, capabilities: Value) -> Client {
        let mut client = Client::unconnected(gateway.address(), Era::Legacy, version, capabilities);
        client.initialize();
        client
    }

    /// A legacy client that goes on with the session of another, here or at another gateway.
    pub fn continuing(gateway: &Gateway, other: &Client) -> Client {
        let mut client =
            Client::unconnected(gateway.address(), other.era, &other.version, other.capabilities.clone());
        client.session = other.session.clone();
        client.more_headers = other.more_headers.clone();
        client.next_id = AtomicU64::new(1_000_000);
        client
    }

    fn unconnected(address: &str, era: Era, version: &str, capabilities: Value) -> Client {
        Client {
            era,
            version: version.to_owned(),
            address: address.to_owned(),
            session: None,
            capabilities,
            more_headers: Vec::new(),
            next_id: AtomicU64::new(1),
        }
    }

    fn initialize(&mut self) {
        let params = json!({"protocolVersion": self.version, "capabilities": self.capabilities,
                            "clientInfo": {"name": "scene", "version": "1"}});
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let response = self.post(&message);
        assert_eq!(response.head.status, 200, "{}", response.text());
        assert_eq!(response.json()["result"]["protocolVersion"], json!(self.version), "{}", response.text());
        self.session = response.head.header("mcp-session-id").map(str::to_owned);
        assert!(self.session.is_some(), "no session");
        self.notify("notifications/initialized", &json!({}));
    }

    /// Its era.
    pub fn era(&self) -> Era {
        self.era
    }

    /// The id of its session.
    pub fn session(&self) -> &str {
        self.session.as_deref().unwrap_or_default()
    }

    /// Sends a request and waits for its answer.
    pub fn request(&self, method: &str, params: &Value) -> Exchange {
        self.begin(method, params).finish()
    }

    /// Calls a tool by its exposed name.
    pub fn call(&self, tool: &str, arguments: &Value) -> Exchange {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Sends a request on a connection of its own; what comes for it is read from what this gives.
    pub fn begin(&self, method: &str, params: &Value) -> Pending {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": self.params(params)});
        let mut connection = Connection::open(&self.address);
        let headers = self.headers(&message);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        connection.send("POST", "/mcp", &headers, message.to_string().as_bytes()).unwrap();
        Pending::new(connection, id)
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: &Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        let response = self.post(&message);
        assert_eq!(response.head.status, 202, "{}", response.text());
    }

    /// Answers a question that came on a stream.
    pub fn answer(&self, question: &Value, result: &Value) {
        let response = self.post(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
        assert_eq!(response.head.status, 202, "{}", response.text());
    }

    /// Posts a message with the headers that belong to it.
    pub fn post(&self, message: &Value) -> Response {
        self.post_raw(message.to_string().as_bytes(), &self.headers(message))
    }

    /// Posts bytes as they are.
    pub fn post_raw(&self, body: &[u8], headers: &[(&str, String)]) -> Response {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        Connection::open(&self.address).exchange("POST", "/mcp", &headers, body)
    }

    /// Opens the stream of the session, after this event.
    pub fn listen(&self, after: Option<&str>) -> Connection {
        let mut connection = Connection::open(&self.address);
        let mut headers = vec![
            ("accept", "text/event-stream"),
            ("mcp-session-id", self.session()),
            ("mcp-protocol-version", &self.version),
        ];
        headers.extend(after.map(|id| ("last-event-id", id)));
        headers.extend(self.more_headers.iter().map(|(name, value)| (*name, value.as_str())));
        connection.send("GET", "/mcp", &headers, b"").unwrap();
        let head = connection.head().unwrap();
        assert_eq!(head.status, 200);
        assert!(head.is_event_stream());
        connection
    }

    /// Ends the session; the status of the response.
    pub fn end(&self) -> u16 {
        let headers = [("mcp-session-id", self.session()), ("mcp-protocol-version", &self.version)];
        Connection::open(&self.address).exchange("DELETE", "/mcp", &headers, b"").head.status
    }

    /// The params of a request: those of a modern one say who asks.
    pub fn params(&self, params: &Value) -> Value {
        let mut params = params.clone();
        if self.era == Era::Modern {
            let meta = json!({
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientInfo": {"name": "scene", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
            let Value::Object(meta) = meta else { unreachable!("it is an object") };
            let all = params.as_object_mut().expect("params are an object");
            let known = all.entry("_meta").or_insert_with(|| json!({}));
            known.as_object_mut().expect("'_meta' is an object").extend(meta);
        }
        params
    }

    /// The headers that belong to a message.
    pub fn headers(&self, message: &Value) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json, text/event-stream".to_owned()),
        ];
        headers.extend(self.more_headers.iter().cloned());
        match self.era {
            Era::Legacy => {
                if let Some(session) = &self.session {
                    headers.push(("mcp-session-id", session.clone()));
                    headers.push(("mcp-protocol-version", self.version.clone()));
                }
            }
            Era::Modern => {
                headers.push(("mcp-protocol-version", self.version.clone()));
                let method = message["method"].as_str().unwrap_or_default();
                headers.push(("mcp-method", method.to_owned()));
                let named = match method {
                    "tools/call" | "prompts/get" => message["params"]["name"].as_str(),
                    "resources/read" => message["params"]["uri"].as_str(),
                    _ => None,
                };
                headers.extend(named.map(|name| ("mcp-name", name.to_owned())));
            }
        }
        headers
    }
}
