//! The way of one request to its server and of everything that comes back.
//!
//! The difficulty is the four cells. A question of a legacy server is a request on the client's stream if the client is
//! legacy, and ends the request with `input_required` if it is modern: the call is then *parked* until the client comes
//! back. A modern server's `input_required` passes to a modern client as it is; for a legacy one we ask over its
//! session and repeat the request with the answers.

pub mod asking;
pub mod failure;
pub mod notice;
pub mod output;
pub mod overlong;
pub mod parked;
pub mod passage;
pub mod round;
pub mod tasks;

pub use parked::Parked;
pub use passage::{Last, Passage, Piece};
pub use tasks::Tasks;

use bytes::Bytes;
use toolgate_client::capacity::Capacity;
use toolgate_protocol::{Message, Method};

/// What all requests under way have in common. One handle to all of it: each would be counted for each call, by all
/// threads at one place.
#[derive(Debug)]
pub struct Traffic {
    pub capacity: Capacity,
    pub parked: Parked,
    pub tasks: Tasks,
}

/// What of a client's request is needed to answer it.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The id as the client wrote it.
    pub id: Bytes,
    pub method: Method,
    /// The token under which the client wants to hear of progress, as it wrote it.
    pub token: Option<Bytes>,
    /// The log level that a modern client wants for this request.
    pub log_level: Option<String>,
}

impl Asked {
    /// The same, read from the request.
    pub fn of(message: &Message) -> Option<Asked> {
        use toolgate_protocol::message::MetaField;
        let place = message.id_place()?;
        let token = message.meta_place(MetaField::ProgressToken);
        Some(Asked {
            id: message.bytes().slice(place.start()..place.end()),
            method: message.method()?,
            token: token.map(|place| message.bytes().slice(place.start()..place.end())),
            log_level: message.meta_text(MetaField::LogLevel).map(std::borrow::Cow::into_owned),
        })
    }
}
