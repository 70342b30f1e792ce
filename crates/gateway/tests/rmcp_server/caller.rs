//! A client of a gateway in this process, over what would be its standard input and output.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use toolgate_gateway::downstream::stdio;
use toolgate_gateway::{Gateway, Principal};

/// The client. What it was told and nobody asked for yet waits.
pub(crate) struct Caller {
    incoming: Lines<BufReader<ReadHalf<DuplexStream>>>,
    outgoing: WriteHalf<DuplexStream>,
    heard: VecDeque<Value>,
    next_id: u64,
}

/// Waits for something that must happen.
pub(crate) async fn soon<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), what).await.unwrap()
}

impl Caller {
    /// A client that has begun a session and can be asked.
    pub(crate) async fn legacy(gateway: &Arc<Gateway>) -> Caller {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (input, output) = tokio::io::split(theirs);
        let principal = Arc::new(Principal::named("test"));
        // Ends when our side is dropped.
        tokio::spawn(stdio::serve(Arc::clone(gateway), BufReader::new(input), output, principal));
        let (incoming, outgoing) = tokio::io::split(ours);
        let incoming = BufReader::new(incoming).lines();
        let mut caller = Caller { incoming, outgoing, heard: VecDeque::new(), next_id: 1 };
        let greeting = json!({
            "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {"form": {}}},
            "clientInfo": {"name": "caller", "version": "1"},
        });
        caller.ask("initialize", greeting).await;
        caller.notify("notifications/initialized", json!({})).await;
        caller
    }

    /// Sends a request; its id.
    pub(crate) async fn begin(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    /// Sends a request and waits for its answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params).await;
        self.answer_to(id).await
    }

    /// The same as a modern client does it.
    pub(crate) async fn ask_modern(&mut self, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "caller", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        });
        self.ask(method, params).await
    }

    /// Sends a notification.
    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    /// Answers a question.
    pub(crate) async fn reply(&mut self, question: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    }

    /// The answer to a request.
    pub(crate) async fn answer_to(&mut self, id: u64) -> Value {
        self.first(|message| message["id"] == id && message.get("method").is_none()).await
    }

    /// The next notification or question of this kind.
    pub(crate) async fn next(&mut self, method: &str) -> Value {
        self.first(|message| message["method"] == method).await
    }

    async fn first(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(place) = self.heard.iter().position(&fits) {
            return self.heard.remove(place).unwrap();
        }
        loop {
            let line = soon(self.incoming.next_line()).await.unwrap().unwrap();
            let message: Value = serde_json::from_str(&line).unwrap();
            if fits(&message) {
                return message;
            }
            self.heard.push_back(message);
        }
    }

    async fn send(&mut self, message: &Value) {
        self.outgoing.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
}
