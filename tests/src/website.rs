//! A small web service that is no MCP server, for tools that are bound to HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::waiting::LONG;

/// A web service on a free port of this machine. It ends with the test's process.
#[derive(Debug)]
pub struct Website {
    port: u16,
    heard: Arc<Mutex<Vec<Heard>>>,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Heard {
    /// The first line: method, path and query, version.
    pub line: String,
    /// The headers, in lower case.
    pub head: String,
    /// The body.
    pub body: String,
}

type Page = dyn Fn(&Heard) -> (u16, Value) + Send + Sync;

impl Website {
    /// Begins to serve: `page` gives the status and the JSON for each request.
    pub fn open(page: impl Fn(&Heard) -> (u16, Value) + Send + Sync + 'static) -> Website {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (notes, page): (_, Arc<Page>) = (Arc::clone(&heard), Arc::new(page));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (notes, page) = (Arc::clone(&notes), Arc::clone(&page));
                thread::spawn(move || answer(stream, &notes, &*page));
            }
        });
        Website { port, heard }
    }

    /// One that answers every request with what it heard.
    pub fn echo() -> Website {
        Website::open(|heard| (200, json!({"line": heard.line, "body": heard.body})))
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What it was asked so far.
    pub fn heard(&self) -> Vec<Heard> {
        self.heard.lock().unwrap().clone()
    }
}

/// Answers one request and closes.
fn answer(stream: TcpStream, notes: &Mutex<Vec<Heard>>, page: &Page) {
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut header = String::new();
        if reader.read_line(&mut header).unwrap() <= 2 {
            break;
        }
        let header = header.to_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&header);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let heard =
        Heard { line: line.trim().to_owned(), head, body: String::from_utf8_lossy(&body).into_owned() };
    notes.lock().unwrap().push(heard.clone());
    let (status, value) = page(&heard);
    let text = value.to_string();
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    // The other side may be gone: that is what some scenes are about.
    let _ = reader.get_mut().write_all(answer.as_bytes());
}
