//! Messages as server-sent events.

use std::time::Duration;

use bytes::Bytes;
use toolgate_protocol::text;

/// How often a stream without news says that it is alive, so that nothing in between closes it.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// A comment that clients ignore.
pub const ALIVE: Bytes = Bytes::from_static(b": alive\n\n");

/// A message as an event, with a number to resume from where there is one.
pub fn event(message: &[u8], number: Option<u64>) -> Bytes {
    let mut out = Vec::with_capacity(message.len() + 48);
    if let Some(number) = number {
        out.extend_from_slice(format!("id: {number}\n").as_bytes());
    }
    out.extend_from_slice(b"event: message\ndata: ");
    text::push_on_one_line(&mut out, message);
    out.extend_from_slice(b"\n\n");
    Bytes::from(out)
}

/// An event with a name of its own.
pub fn named(name: &str, data: &str) -> Bytes {
    Bytes::from(format!("event: {name}\ndata: {data}\n\n"))
}
