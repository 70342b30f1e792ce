//! Clients come in here: over HTTP (both eras, and the HTTP+SSE of 2024-11-05) or over standard input and output.

pub mod admit;
pub mod annex;
pub mod batch;
pub mod body;
mod connection;
pub mod cors;
pub mod door;
pub mod event_stream;
mod express;
mod handed_over;
pub mod headers;
pub mod health;
pub mod http;
pub mod lanes;
pub mod origin;
pub mod respond;
mod secure;
pub mod skills;
pub mod sse;
pub mod stdio;
pub mod streamable;
