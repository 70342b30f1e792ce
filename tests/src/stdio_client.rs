//! A client on the gateway's standard input and output.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;

use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::waiting::LONG;

/// How many lines may wait to be looked at.
const LINES: usize = 10_000;

/// The client; it owns its gateway.
#[derive(Debug)]
pub struct StdioClient {
    /// The gateway that serves it.
    pub gateway: Gateway,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl StdioClient {
    pub(crate) fn over(gateway: Gateway, input: ChildStdin, output: ChildStdout) -> StdioClient {
        let (sender, lines) = sync_channel(LINES);
        // The thread ends with the pipe or with the client.
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        StdioClient { gateway, input: Some(input), lines, next_id: 1 }
    }

    /// Begins as a legacy client that can do this.
    pub fn initialize(&mut self, version: &str, capabilities: &Value) -> Value {
        let answer = self.request(
            "initialize",
            &json!({"protocolVersion": version, "capabilities": capabilities,
                    "clientInfo": {"name": "scene", "version": "1"}}),
        );
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        answer
    }

    /// Sends a request and gives its answer; what comes before it is skipped.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        self.until(|message| message["id"] == json!(id) && message.get("method").is_none())
    }

    /// Sends a request without waiting; its id.
    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a message.
    pub fn send(&mut self, message: &Value) {
        self.raw(format!("{message}\n").as_bytes()).expect("the gateway does not read");
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let input = self.input.as_mut().expect("the input is closed");
        input.write_all(bytes)?;
        input.flush()
    }

    /// The next message that is wanted.
    pub fn until(&mut self, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        loop {
            let message = self.next().expect("the gateway has closed its side");
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Closes the gateway's input.
    pub fn close(&mut self) {
        self.input = None;
    }
}

/// The messages that come, until the gateway has closed its side.
impl Iterator for StdioClient {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(LONG) {
            Ok(line) => Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(timeout) => panic!("no message comes: {timeout}"),
        }
    }
}
