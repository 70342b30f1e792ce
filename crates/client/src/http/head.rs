//! The head of an answer, and of a request.

use std::mem::MaybeUninit;

use bytes::{Bytes, BytesMut};
use http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use httparse::{EMPTY_HEADER, Header, ParserConfig, Response, Status};

use crate::http::Request;
use crate::http::body::Body;

/// How long a head may be, and how many headers it may have.
const MOST_BYTES: usize = 64 * 1024;
const MOST_HEADERS: usize = 100;

/// The head of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) status: StatusCode,
    pub(super) body: Body,
    /// Whether the connection can be used again after the body.
    pub(super) stays: bool,
    is_event_stream: bool,
    raw: Bytes,
}

/// Why what came is no head.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadHead {
    #[error("the head of the answer is not HTTP: {0}")]
    NotHttp(#[from] httparse::Error),
    #[error("the head of the answer is longer than {MOST_BYTES} bytes")]
    TooLong,
    #[error("the answer has no status that is known")]
    Status,
    #[error("the 'Content-Length' of the answer is no number, or there are two")]
    Length,
}

impl Head {
    /// Takes a head out of the buffer, once it is there whole. Interim answers are skipped.
    pub(super) fn take(buffer: &mut BytesMut) -> Result<Option<Head>, BadHead> {
        loop {
            let Some((length, mut head)) = Head::parse(buffer)? else {
                return if buffer.len() > MOST_BYTES { Err(BadHead::TooLong) } else { Ok(None) };
            };
            head.raw = buffer.split_to(length).freeze();
            if !head.status.is_informational() {
                return Ok(Some(head));
            }
        }
    }

    /// The first header of this name.
    pub(crate) fn header(&self, name: &HeaderName) -> Option<HeaderValue> {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut response = Response::new(&mut headers);
        response.parse(&self.raw).ok()?;
        let found = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name.as_str()))?;
        HeaderValue::from_bytes(found.value).ok()
    }

    /// Whether the body is a stream of events.
    pub(crate) fn is_event_stream(&self) -> bool {
        self.is_event_stream
    }

    fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, BadHead> {
        let mut headers = [const { MaybeUninit::<Header<'_>>::uninit() }; MOST_HEADERS];
        let mut response = Response::new(&mut []);
        let parser = ParserConfig::default();
        let Status::Complete(length) =
            parser.parse_response_with_uninit_headers(&mut response, bytes, &mut headers)?
        else {
            return Ok(None);
        };
        let status = response.code.and_then(|code| StatusCode::from_u16(code).ok()).ok_or(BadHead::Status)?;
        let mut framing = Framing { stays: response.version == Some(1), ..Framing::default() };
        for header in response.headers.iter() {
            framing.note(header)?;
        }
        let body = framing.body(status);
        let stays = framing.stays && !matches!(body, Body::UntilClose);
        let is_event_stream = framing.is_event_stream;
        Ok(Some((length, Head { status, body, stays, is_event_stream, raw: Bytes::new() })))
    }
}

/// What the headers say of the body.
#[derive(Default)]
struct Framing {
    length: Option<u64>,
    is_coded: bool,
    is_chunked: bool,
    is_event_stream: bool,
    stays: bool,
}

impl Framing {
    fn note(&mut self, header: &Header<'_>) -> Result<(), BadHead> {
        // The length of a name tells most of them apart.
        match header.name.len() {
            10 if header.name.eq_ignore_ascii_case("connection") => {
                self.stays &= !header.value.to_ascii_lowercase().windows(5).any(|word| word == b"close");
            }
            12 if header.name.eq_ignore_ascii_case("content-type") => {
                let kind = b"text/event-stream";
                self.is_event_stream =
                    header.value.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind));
            }
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                let length = std::str::from_utf8(header.value).ok().filter(|text| !text.starts_with('+'));
                let length = length.and_then(|text| text.parse().ok()).ok_or(BadHead::Length)?;
                if self.length.replace(length).is_some_and(|before| before != length) {
                    return Err(BadHead::Length);
                }
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                self.is_coded = true;
                self.is_chunked = header.value.to_ascii_lowercase().ends_with(b"chunked");
            }
            _ => {}
        }
        Ok(())
    }

    fn body(&mut self, status: StatusCode) -> Body {
        if status.is_informational() || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
            return Body::Done;
        }
        if self.is_coded {
            // Both at once is how requests are smuggled: such a connection is not used again.
            self.stays &= self.length.is_none();
            return if self.is_chunked { Body::chunked() } else { Body::UntilClose };
        }
        match self.length {
            Some(0) => Body::Done,
            Some(length) => Body::Length(length),
            None => Body::UntilClose,
        }
    }
}

/// Writes the head of a request.
pub(super) fn write(into: &mut Vec<u8>, target: &Uri, request: &Request<'_>) {
    into.extend_from_slice(request.method.as_str().as_bytes());
    into.push(b' ');
    into.extend_from_slice(target.path_and_query().map_or("/", |target| target.as_str()).as_bytes());
    into.extend_from_slice(b" HTTP/1.1\r\n");
    let further = request.further.iter().map(|(name, value)| (name, value));
    for (name, value) in request.headers.iter().chain(further) {
        into.extend_from_slice(name.as_str().as_bytes());
        into.extend_from_slice(b": ");
        into.extend_from_slice(value.as_bytes());
        into.extend_from_slice(b"\r\n");
    }
    if !request.body.is_empty() || request.method == Method::POST {
        into.extend_from_slice(b"content-length: ");
        into.extend_from_slice(request.body.len().to_string().as_bytes());
        into.extend_from_slice(b"\r\n");
    }
    into.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::*;

    fn head(text: &str) -> Result<Option<Head>, BadHead> {
        Head::take(&mut BytesMut::from(text))
    }

    #[test]
    fn the_headers_tell_how_the_body_ends() {
        let check = |headers: &str, body: &str, stays: bool| {
            let text = format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
            let head = head(&text).unwrap().unwrap();
            assert_eq!(format!("{:?}", head.body), body, "{headers}");
            assert_eq!(head.stays, stays, "{headers}");
        };
        check("Content-Length: 5\r\n", "Length(5)", true);
        check("content-length: 0\r\n", "Done", true);
        check("Content-Length: 5\r\nContent-Length: 5\r\n", "Length(5)", true);
        check("Content-Length: 5\r\nConnection: Close\r\n", "Length(5)", false);
        check("Content-Length: 5\r\nConnection: keep-alive\r\n", "Length(5)", true);
        check("Transfer-Encoding: chunked\r\n", "Chunked(Size)", true);
        check("Transfer-Encoding: gzip, Chunked\r\n", "Chunked(Size)", true);
        check("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Chunked(Size)", false);
        check("Transfer-Encoding: gzip\r\n", "UntilClose", false);
        check("", "UntilClose", false);
    }

    #[test]
    fn a_head_that_cannot_be_trusted_is_refused() {
        for text in [
            "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            "HTTP/1.1 999999 OK\r\n\r\n",
            "NOT HTTP\r\n\r\n",
        ] {
            assert!(head(text).is_err(), "{text}");
        }
        assert!(head(&format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(MOST_BYTES))).is_err());
        assert!(head("HTTP/1.1 200 OK\r\nContent-Le").unwrap().is_none());
    }

    #[test]
    fn interim_answers_are_skipped_and_headers_found() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\nMcp-Session-Id: abc\r\n\
                    Content-Type: Text/Event-Stream; charset=utf-8\r\n\r\nrest";
        let mut buffer = BytesMut::from(text);
        let head = Head::take(&mut buffer).unwrap().unwrap();
        assert_eq!(head.status, StatusCode::NO_CONTENT);
        assert!(matches!(head.body, Body::Done) && head.is_event_stream());
        assert_eq!(head.header(&HeaderName::from_static("mcp-session-id")).unwrap(), "abc");
        assert_eq!(&buffer[..], b"rest");
    }

    #[test]
    fn a_request_has_its_headers_and_length() {
        let mut headers = HeaderMap::new();
        headers.insert("host", HeaderValue::from_static("h:1"));
        let further = [(HeaderName::from_static("mcp-name"), HeaderValue::from_static("add"))];
        let mut bytes = Vec::new();
        let request =
            Request { method: Method::POST, headers: &headers, further: &further, body: b"twelve bytes" };
        write(&mut bytes, &Uri::from_static("/mcp?a=b"), &request);
        let expected = "POST /mcp?a=b HTTP/1.1\r\nhost: h:1\r\nmcp-name: add\r\ncontent-length: 12\r\n\r\n";
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    }
}
