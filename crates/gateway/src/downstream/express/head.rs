//! The head of a request, read as far as is needed to tell whether it is a usual one.

use bytes::{Bytes, BytesMut};
use httparse::{EMPTY_HEADER, Status};

use crate::downstream::headers::{Line, Lines};

/// How many headers a usual request has at most.
const MOST_HEADERS: usize = 32;
/// How long a usual head, and a usual body, is at most.
const MOST_HEAD: usize = 16 * 1024;
pub(super) const MOST_BODY: usize = 64 * 1024;

/// What stands at the beginning of what a client has sent.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "made once for a request and taken apart at once")]
pub(super) enum Found {
    /// Nothing yet that could be judged.
    Part,
    /// The head of a usual request.
    Usual(Head),
    /// Something that hyper shall look at: another request, or none.
    Unusual,
}

/// Where the parts of a usual request stand.
#[derive(Debug)]
pub(super) struct Head {
    length: usize,
    body: usize,
    count: usize,
    lines: [Line; MOST_HEADERS],
}

/// A usual request: `POST /mcp` with all that belongs to it.
#[derive(Debug)]
pub(super) struct Usual {
    bytes: Bytes,
    head: Head,
    pub(super) body: Bytes,
}

impl Found {
    /// Looks at what has come so far.
    pub(super) fn at_the_start_of(bytes: &[u8], most_body: usize) -> Found {
        let mut headers = [EMPTY_HEADER; MOST_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        match request.parse(bytes) {
            Ok(Status::Complete(length)) if length <= MOST_HEAD => {
                Head::of(&request, bytes, length, most_body).map_or(Found::Unusual, Found::Usual)
            }
            Ok(Status::Partial) if bytes.len() < MOST_HEAD => Found::Part,
            _ => Found::Unusual,
        }
    }
}

impl Head {
    /// The head, if all of it is as usual. Whatever says more of the body than its length, or wants more of the
    /// connection than an answer, is not; nor is the request of a page, whose answer needs headers of its own.
    fn of(
        request: &httparse::Request<'_, '_>,
        bytes: &[u8],
        length: usize,
        most_body: usize,
    ) -> Option<Head> {
        let is_ours = matches!(request.path, Some("/mcp" | "/mcp/")) && request.method == Some("POST");
        if !is_ours || request.version != Some(1) {
            return None;
        }
        let mut body = None;
        let mut lines = [Line::default(); MOST_HEADERS];
        for (line, header) in lines.iter_mut().zip(request.headers.iter()) {
            // The length of a name tells most of them apart.
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            match header.name.len() {
                14 if is("content-length") && body.is_none() => body = Some(decimal(header.value)?),
                10 if is("connection") && header.value.eq_ignore_ascii_case(b"keep-alive") => {}
                14 if is("content-length") => return None,
                10 if is("connection") => return None,
                6 if is("origin") || is("expect") => return None,
                7 if is("upgrade") || is("trailer") => return None,
                17 if is("transfer-encoding") => return None,
                _ => {}
            }
            *line = Line { name: place(bytes, header.name.as_bytes())?, value: place(bytes, header.value)? };
        }
        let body = body.filter(|length| *length <= most_body.min(MOST_BODY))?;
        Some(Head { length, body, count: request.headers.len(), lines })
    }

    /// How long the whole request is.
    pub(super) fn whole(&self) -> usize {
        self.length + self.body
    }

    /// Takes the request out of the buffer in which all of it is.
    pub(super) fn take(self, buffer: &mut BytesMut) -> Usual {
        let bytes = buffer.split_to(self.length).freeze();
        let body = buffer.split_to(self.body).freeze();
        Usual { bytes, head: self, body }
    }
}

impl Usual {
    /// Its headers, as they stand in its head.
    pub(super) fn lines(&self) -> Lines<'_> {
        Lines { head: &self.bytes, places: self.head.lines.get(..self.head.count).unwrap_or_default() }
    }
}

/// A number that is only digits, and few of them.
fn decimal(digits: &[u8]) -> Option<usize> {
    let is_number = (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

/// Where a part of the bytes stands in them.
fn place(bytes: &[u8], part: &[u8]) -> Option<(u16, u16)> {
    let start = (part.as_ptr() as usize).checked_sub(bytes.as_ptr() as usize)?;
    Some((u16::try_from(start).ok()?, u16::try_from(part.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use http::HeaderName;
    use http::header::{CONTENT_TYPE, HOST};
    use proptest::prelude::*;

    use super::*;
    use crate::downstream::headers::Headers;

    const PLAIN: &str = "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n";

    fn found(text: &str) -> Found {
        Found::at_the_start_of(text.as_bytes(), MOST_BODY)
    }

    #[test]
    fn a_usual_request_is_taken_out_whole() {
        let text = "POST /mcp HTTP/1.1\r\nHost: h:1\r\ncontent-type:application/json \r\nX-A: 1\r\nx-a: 2\r\n\
                    Content-Length: 2\r\nConnection: Keep-Alive\r\n\r\n{}POST /mcp";
        let mut buffer = BytesMut::from(text);
        let Found::Usual(head) = found(text) else { panic!("it is usual") };
        assert_eq!(head.whole(), text.len() - "POST /mcp".len());
        let usual = head.take(&mut buffer);
        assert_eq!(&usual.body[..], b"{}");
        assert_eq!(&buffer[..], b"POST /mcp");
        let lines = usual.lines();
        let headers = Headers::Lines(&lines);
        assert_eq!(headers.text(&HOST), Some("h:1"));
        assert_eq!(headers.text(&CONTENT_TYPE), Some("application/json"));
        assert_eq!(headers.all(&HeaderName::from_static("x-a")), [b"1", b"2"]);
        assert_eq!(headers.named("X-A"), Some(&b"1"[..]));
        assert_eq!(headers.get(&HeaderName::from_static("x-b")), None);
    }

    #[test]
    fn whatever_is_out_of_the_ordinary_is_left_to_others() {
        for line in [
            "Transfer-Encoding: chunked",
            "Content-Length: 2",
            "Connection: close",
            "Connection: keep-alive, upgrade",
            "Expect: 100-continue",
            "Upgrade: websocket",
            "Trailer: x",
            "Origin: http://localhost",
            " folded: 1",
            "no colon",
            "bad name: 1",
        ] {
            let text = format!("{PLAIN}{line}\r\n\r\n{{}}");
            assert!(matches!(found(&text), Found::Unusual), "{line}");
        }
        for length in ["+2", "2 2", "-2", "0x2", "", "9999999999", "65537", "2,2"] {
            let text = format!("POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: {length}\r\n\r\n{{}}");
            assert!(matches!(found(&text), Found::Unusual), "{length}");
        }
        for line in [
            "GET /mcp HTTP/1.1",
            "POST /mcp?a HTTP/1.1",
            "POST /mcp HTTP/1.0",
            "POST / HTTP/1.1",
            "POST http://h/mcp HTTP/1.1",
        ] {
            let text = format!("{line}\r\nHost: h\r\nContent-Length: 2\r\n\r\n{{}}");
            assert!(matches!(found(&text), Found::Unusual), "{line}");
        }
        let without_length = "POST /mcp HTTP/1.1\r\nHost: h\r\n\r\n";
        assert!(matches!(found(without_length), Found::Unusual));
        let too_many = format!("{PLAIN}{}\r\n", "a: b\r\n".repeat(MOST_HEADERS));
        assert!(matches!(found(&too_many), Found::Unusual));
        let too_long = format!("{PLAIN}a: {}", "b".repeat(MOST_HEAD));
        assert!(matches!(found(&too_long), Found::Unusual));
        assert!(matches!(Found::at_the_start_of(format!("{PLAIN}\r\n{{}}").as_bytes(), 1), Found::Unusual));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// However it arrives: a part of a usual request is never taken for anything else, nor anything behind it.
        #[test]
        fn every_part_of_a_usual_request_is_a_part(cut in 0usize..200, more in any::<Vec<u8>>()) {
            let mut bytes = format!("{PLAIN}\r\n{{}}").into_bytes();
            let head = bytes.len() - 2;
            bytes.extend_from_slice(&more);
            let cut = cut.min(bytes.len());
            match Found::at_the_start_of(&bytes[..cut], MOST_BODY) {
                Found::Part => prop_assert!(cut < head),
                Found::Usual(found) => {
                    prop_assert!(cut >= head);
                    prop_assert_eq!(found.whole(), head + 2);
                }
                Found::Unusual => prop_assert!(false, "{}", cut),
            }
        }

        #[test]
        fn no_bytes_are_too_odd(bytes in any::<Vec<u8>>()) {
            let _ = Found::at_the_start_of(&bytes, MOST_BODY);
        }
    }
}
