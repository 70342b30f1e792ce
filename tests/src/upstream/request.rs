//! A request as a server reads it.

use std::io::BufRead;

use serde_json::Value;

/// A request with its whole body.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    headers: Vec<(String, String)>,
    pub(super) message: Value,
}

impl Request {
    /// The next request; nothing where the connection was closed or is no HTTP.
    pub(super) fn read(reader: &mut impl BufRead) -> Option<Request> {
        let method = line(reader)?.split(' ').next()?.to_owned();
        let mut headers = Vec::new();
        loop {
            let line = line(reader)?;
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':')?;
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request { method, headers, message: Value::Null };
        let length = request.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        request.message = serde_json::from_slice(&body).unwrap_or_default();
        Some(request)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    (reader.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
}
