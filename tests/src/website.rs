//! A small web service that is no MCP server, for tools that are bound to HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
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

type Handler = dyn Fn(&Heard, &mut TcpStream) + Send + Sync;

impl Website {
    /// Begins to serve: `page` gives the status and the JSON for each request.
    pub fn open(page: impl Fn(&Heard) -> (u16, Value) + Send + Sync + 'static) -> Website {
        Website::raw(move |heard, stream| {
            let (status, value) = page(heard);
            answer(stream, status, "", &value.to_string());
        })
    }

    /// One that sends every request on to another address.
    pub fn redirecting(location: String) -> Website {
        Website::raw(move |_, stream| answer(stream, 302, &format!("location: {location}\r\n"), "{}"))
    }

    /// One that answers no request, and the number of those who have left without an answer.
    pub fn silent() -> (Website, Arc<AtomicUsize>) {
        let left = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&left);
        let website = Website::raw(move |_, stream| {
            // Nothing more is sent, so this ends with the connection.
            if matches!(stream.read(&mut [0]), Ok(0)) {
                count.fetch_add(1, Ordering::SeqCst);
            }
        });
        (website, left)
    }

    fn raw(handler: impl Fn(&Heard, &mut TcpStream) + Send + Sync + 'static) -> Website {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (notes, handler): (_, Arc<Handler>) = (Arc::clone(&heard), Arc::new(handler));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (notes, handler) = (Arc::clone(&notes), Arc::clone(&handler));
                thread::spawn(move || attend(stream, &notes, &*handler));
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

/// Reads one request, has it answered and closes.
fn attend(stream: TcpStream, notes: &Mutex<Vec<Heard>>, handler: &Handler) {
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
    handler(&heard, reader.get_mut());
}

fn answer(stream: &mut TcpStream, status: u16, headers: &str, text: &str) {
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    // The other side may be gone: that is what some scenes are about.
    let _ = stream.write_all(answer.as_bytes());
}
