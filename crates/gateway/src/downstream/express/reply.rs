//! A response as it is written.

use std::cell::Cell;
use std::time::{Duration, SystemTime};

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Response, StatusCode};

use crate::downstream::body::Body;

/// A body up to this length is written together with its head.
pub(super) const SMALL: usize = 16 * 1024;

/// Writes the head of a response. A body without a length comes in chunks.
pub(super) fn write_head(into: &mut Vec<u8>, response: &Response<Body>, is_last: bool) {
    into.extend_from_slice(b"HTTP/1.1 ");
    into.extend_from_slice(response.status().as_str().as_bytes());
    into.push(b' ');
    into.extend_from_slice(response.status().canonical_reason().unwrap_or("Other").as_bytes());
    into.extend_from_slice(b"\r\n");
    write_headers(into, response.headers());
    match response.body() {
        Body::Whole(_) if response.status() == StatusCode::NO_CONTENT => {}
        Body::Whole(bytes) => {
            into.extend_from_slice(b"content-length: ");
            write_number(into, bytes.len());
            into.extend_from_slice(b"\r\n");
        }
        Body::Stream(_) => into.extend_from_slice(b"transfer-encoding: chunked\r\n"),
    }
    if is_last {
        into.extend_from_slice(b"connection: close\r\n");
    }
    into.extend_from_slice(b"date: ");
    into.extend_from_slice(&date());
    into.extend_from_slice(b"\r\n\r\n");
}

/// Writes a piece of a body without a length. A piece without bytes would end it, so there is none.
pub(super) fn write_chunk(into: &mut Vec<u8>, piece: &[u8]) {
    if !piece.is_empty() {
        into.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
        into.extend_from_slice(piece);
        into.extend_from_slice(b"\r\n");
    }
}

/// What ends such a body.
pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

fn write_headers(into: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        debug_assert!(name != CONTENT_LENGTH, "the length is told by the body");
        into.extend_from_slice(name.as_str().as_bytes());
        into.extend_from_slice(b": ");
        into.extend_from_slice(value.as_bytes());
        into.extend_from_slice(b"\r\n");
    }
}

fn write_number(into: &mut Vec<u8>, mut number: usize) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    into.extend_from_slice(&digits[at..]);
}

/// The time as HTTP writes it, made anew once a second on each thread.
fn date() -> [u8; 29] {
    thread_local! {
        static WRITTEN: Cell<(u64, [u8; 29])> = const { Cell::new((0, [0; 29])) };
    }
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (second, written) = WRITTEN.get();
    if second == now {
        return written;
    }
    let text = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(now));
    let mut written = [b' '; 29];
    for (place, byte) in written.iter_mut().zip(text.bytes()) {
        *place = byte;
    }
    WRITTEN.set((now, written));
    written
}
