//! The harness of the scenes: the gateway as a process, clients before it and servers behind it.
//!
//! Threads and blocking sockets, nothing asynchronous, and no code of the gateway: what is tested here is what anybody
//! outside sees. Every wait has an end, and what does not come by then fails the test with what was known.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

pub mod client;
pub mod gateway;
pub mod http;
pub mod keyring;
pub mod processes;
pub mod scripted;
pub mod stdio_client;
pub mod upstream;
mod waiting;
pub mod website;

pub use client::{Client, Era, Exchange, Pending};
pub use gateway::{Gateway, Setup, binary};
pub use keyring::Keyring;
pub use stdio_client::StdioClient;
pub use upstream::Upstream;
pub use waiting::{LONG, eventually};
pub use website::Website;
