//! HTTP/1.1 as a client speaks it, byte for byte: what is sent is exactly what the test says.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Instant;

use crate::waiting::LONG;

/// A connection that is kept for the next request where the server keeps it.
#[derive(Debug)]
pub struct Connection {
    reader: BufReader<TcpStream>,
    host: String,
    /// What is left of the body of the response that is being read.
    left: Left,
}

/// The head of a response.
#[derive(Clone, Debug)]
pub struct Head {
    /// The status.
    pub status: u16,
    headers: Vec<(String, String)>,
}

/// A response with its whole body.
#[derive(Clone, Debug)]
pub struct Response {
    /// Its head.
    pub head: Head,
    /// Its body.
    pub body: Vec<u8>,
}

/// An event of an event stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    /// Its name.
    pub name: Option<String>,
    /// Its id.
    pub id: Option<String>,
    /// Its data, lines joined.
    pub data: String,
}

#[derive(Clone, Copy, Debug)]
enum Left {
    Bytes(usize),
    /// Chunks; so many bytes are left of this one.
    Chunks(usize),
    UntilClosed,
}

impl Head {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
    }

    /// The names of all headers, in the order in which they came.
    pub fn header_names(&self) -> Vec<&str> {
        self.headers.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Whether the body is a stream of events.
    pub fn is_event_stream(&self) -> bool {
        self.header("content-type").is_some_and(|media| media.starts_with("text/event-stream"))
    }
}

impl Response {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }
}

impl Connection {
    /// Connects to `host:port`.
    pub fn open(address: &str) -> Connection {
        let stream = TcpStream::connect(address).unwrap_or_else(|error| panic!("{address}: {error}"));
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_write_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Connection { reader: BufReader::new(stream), host: address.to_owned(), left: Left::Bytes(0) }
    }

    /// Sends a request and reads the whole response.
    pub fn exchange(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        self.send(method, path, headers, body).expect("the request was not taken");
        let head = self.head().expect("no response");
        Response { head, body: self.rest().expect("the response broke off") }
    }

    /// Sends a request. A `host` or `content-length` among the headers replaces the right one.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<()> {
        let has = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut out = format!("{method} {path} HTTP/1.1\r\n");
        if !has("host") {
            out.push_str(&format!("host: {}\r\n", self.host));
        }
        if !has("content-length") && !has("transfer-encoding") {
            out.push_str(&format!("content-length: {}\r\n", body.len()));
        }
        for (name, value) in headers {
            out.push_str(&format!("{name}: {value}\r\n"));
        }
        out.push_str("\r\n");
        let mut out = out.into_bytes();
        out.extend_from_slice(body);
        self.raw(&out)
    }

    /// Sends bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Reads the head of the response.
    pub fn head(&mut self) -> io::Result<Head> {
        let line = self.line()?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.ok_or_else(|| io::Error::other(format!("no status line: {line:?}")))?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| io::Error::other(line.clone()))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let head = Head { status, headers };
        self.left = if head.header("transfer-encoding").is_some() {
            Left::Chunks(0)
        } else if let Some(length) = head.header("content-length") {
            Left::Bytes(length.parse().map_err(io::Error::other)?)
        } else if matches!(status, 204 | 304) || status < 200 {
            Left::Bytes(0)
        } else {
            Left::UntilClosed
        };
        Ok(head)
    }

    /// Reads what is left of the body.
    pub fn rest(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(byte) = self.byte()? {
            body.push(byte);
        }
        Ok(body)
    }

    /// The next event of an event stream; nothing at its end. Comments are skipped.
    pub fn event(&mut self) -> io::Result<Option<Event>> {
        let mut event = Event::default();
        let mut lines = Vec::new();
        let deadline = Instant::now() + LONG;
        loop {
            // What only keeps the stream alive does not keep the scene waiting.
            if Instant::now() > deadline {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let Some(line) = self.body_line()? else { return Ok(None) };
            if line.is_empty() {
                if lines.is_empty() && event.id.is_none() && event.name.is_none() {
                    continue;
                }
                event.data = lines.join("\n");
                return Ok(Some(event));
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "data" => lines.push(value),
                "event" => event.name = Some(value),
                "id" => event.id = Some(value),
                _ => {}
            }
        }
    }

    /// Closes both directions at once.
    pub fn close(self) {
        // The other side may have closed first.
        let _ = self.reader.get_ref().shutdown(Shutdown::Both);
    }

    fn body_line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        while let Some(byte) = self.byte()? {
            if byte == b'\n' {
                return Ok(Some(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()));
            }
            line.push(byte);
        }
        Ok(None)
    }

    fn byte(&mut self) -> io::Result<Option<u8>> {
        let mut one = [0];
        match self.left {
            Left::Bytes(0) => return Ok(None),
            Left::Bytes(left) => self.left = Left::Bytes(left - 1),
            Left::UntilClosed => {
                return Ok((self.reader.read(&mut one)? == 1).then_some(one[0]));
            }
            Left::Chunks(0) => {
                let line = self.line()?;
                let size = usize::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
                if size == 0 {
                    self.line()?;
                    self.left = Left::Bytes(0);
                    return Ok(None);
                }
                self.left = Left::Chunks(size);
                return self.byte();
            }
            Left::Chunks(left) => {
                self.reader.read_exact(&mut one)?;
                if left == 1 {
                    self.line()?;
                }
                self.left = Left::Chunks(left - 1);
                return Ok(Some(one[0]));
            }
        }
        self.reader.read_exact(&mut one)?;
        Ok(Some(one[0]))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(line.trim_end().to_owned())
    }
}
