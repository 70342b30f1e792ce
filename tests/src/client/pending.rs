//! A request that is under way.

use serde_json::Value;

use crate::client::Exchange;
use crate::http::{Connection, Head};

/// A request whose answer is awaited. Dropping it breaks the connection off.
#[derive(Debug)]
pub struct Pending {
    connection: Connection,
    head: Option<Head>,
    /// The id of the request.
    pub id: u64,
    over: bool,
}

impl Pending {
    pub(super) fn new(connection: Connection, id: u64) -> Pending {
        Pending { connection, head: None, id, over: false }
    }

    /// The next message that comes for the request, as it was written; nothing after the last one.
    pub fn next_raw(&mut self) -> Option<String> {
        if self.over {
            return None;
        }
        let streams = self.head().is_event_stream();
        if !streams {
            self.over = true;
            let body = self.connection.rest().expect("the answer broke off");
            return Some(String::from_utf8(body).unwrap()).filter(|text| !text.is_empty());
        }
        let event = self.connection.event().expect("the stream broke off");
        self.over = event.is_none();
        event.map(|event| event.data)
    }

    /// Reads up to the answer.
    pub fn finish(mut self) -> Exchange {
        let mut before = Vec::new();
        loop {
            let raw = self.next_raw().unwrap_or_else(|| panic!("no answer; before: {before:?}"));
            let message: Value = serde_json::from_str(&raw).unwrap_or_else(|error| panic!("{error}: {raw}"));
            if message.get("method").is_none() {
                let head = self.head().clone();
                return Exchange { status: head.status, head, before, answer: message, raw };
            }
            before.push(message);
        }
    }

    /// The status of the response.
    pub fn status(&mut self) -> u16 {
        self.head().status
    }

    /// Leaves without waiting.
    pub fn leave(self) {
        self.connection.close();
    }

    /// The head of the response.
    pub fn head(&mut self) -> &Head {
        if self.head.is_none() {
            self.head = Some(self.connection.head().expect("no response"));
        }
        self.head.as_ref().unwrap()
    }
}

/// The messages that come for the request, up to the last one.
impl Iterator for Pending {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        let text = self.next_raw()?;
        Some(serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
    }
}
