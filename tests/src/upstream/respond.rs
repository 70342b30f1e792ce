//! Responses as a server writes them.

use std::cell::Cell;
use std::io::{ErrorKind, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

use crate::scripted::Out;

/// Nobody hears what is said about a notification or a reply.
pub(super) struct Nobody;

impl Out for Nobody {
    fn say(&self, _: &str) {}

    fn vanish(&self) {}
}

/// The answer to one request: plain JSON where it is all that is said, else a stream of events.
pub(super) struct Answering<'a> {
    stream: &'a TcpStream,
    id: Value,
    session: Option<String>,
    stage: Cell<Stage>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Silent,
    Streaming,
    Answered,
    Vanished,
}

impl<'a> Answering<'a> {
    pub(super) fn new(stream: &'a TcpStream, id: Value, session: Option<String>) -> Answering<'a> {
        Answering { stream, id, session, stage: Cell::new(Stage::Silent) }
    }

    pub(super) fn has_answered(&self) -> bool {
        self.stage.get() == Stage::Answered
    }
}

impl Out for Answering<'_> {
    fn say(&self, message: &str) {
        let parsed: Value = serde_json::from_str(message).unwrap_or_default();
        let is_answer = parsed.get("method").is_none() && parsed.get("id") == Some(&self.id);
        match (self.stage.get(), is_answer) {
            (Stage::Answered | Stage::Vanished, _) => {}
            (Stage::Silent, true) => {
                let session =
                    self.session.as_ref().map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
                let length = message.len();
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{session}content-length: {length}\r\n\r\n"
                );
                write(self.stream, format!("{head}{message}").as_bytes());
                self.stage.set(Stage::Answered);
            }
            (stage, is_answer) => {
                if stage == Stage::Silent {
                    begin_events(self.stream);
                    self.stage.set(Stage::Streaming);
                }
                event(self.stream, message);
                if is_answer {
                    write(self.stream, b"0\r\n\r\n");
                    self.stage.set(Stage::Answered);
                }
            }
        }
    }

    fn vanish(&self) {
        self.stage.set(Stage::Vanished);
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    fn is_awaited(&self) -> bool {
        is_open(self.stream)
    }
}

/// A response in plain words; whether it was written.
pub(super) fn plain(stream: &TcpStream, status: u16, words: &str) -> bool {
    let length = words.len();
    write(
        stream,
        format!("HTTP/1.1 {status} -\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{words}")
            .as_bytes(),
    )
}

/// The head of a stream of events; whether it was written.
pub(super) fn begin_events(stream: &TcpStream) -> bool {
    write(stream, b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
}

/// One event; whether it was written.
pub(super) fn event(stream: &TcpStream, message: &str) -> bool {
    let event = format!("data: {message}\n\n");
    write(stream, format!("{:x}\r\n{event}\r\n", event.len()).as_bytes())
}

/// Whether the other side still holds the connection.
pub(super) fn is_open(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return false;
    }
    let open = match stream.peek(&mut [0]) {
        Ok(read) => read > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    };
    stream.set_nonblocking(false).is_ok() && open
}

fn write(mut stream: &TcpStream, bytes: &[u8]) -> bool {
    stream.write_all(bytes).is_ok()
}
