//! MCP on the wire, without decoding it.
//!
//! A gateway that decodes messages into typed models loses what the models do not know. So a message here is its bytes
//! plus the places of the few parts that decisions are made on: one pass over the bytes checks the grammar and notes
//! those places ([`Message`]), what must change is spliced in ([`Splice`]), and everything else leaves as it came.
//!
//! The crate is pure: no IO, no clock, no runtime. Only [`era`] and what is below it knows that the protocol has two
//! eras: *legacy* (an `initialize` handshake, sessions) and *modern* (2026-07-28: stateless, `_meta` in every request).

pub mod capability;
pub mod era;
pub mod error;
#[cfg(test)]
mod generated;
pub mod header;
pub mod message;
pub mod method;
pub mod object;
pub mod scan;
pub mod short_call;
pub mod span;
pub mod splice;
pub mod text;
pub mod version;

pub use era::Era;
pub use error::{Code, ErrorReply};
pub use message::{Kind, Message};
pub use method::Method;
pub use object::Object;
pub use scan::Malformed;
pub use span::Span;
pub use splice::Splice;
pub use version::Version;
