//! Connections to MCP servers, of any transport and either era, kept alive.
//!
//! A [`Server`] is a handle to one supervised server: it connects, finds out the era, restarts and reconnects, and says
//! in which state it is. [`Server::call`] sends a client's request and gives back the server's answer; what the server
//! says in between (progress, logs, questions) goes into the call's [`Outbox`]. What concerns no call (a changed list,
//! an updated resource, a new state) is told as [`News`].
//!
//! `examples/list_tools.rs` is the whole of it in one page.
//!
//! With the feature `manager`, `Manager` loads a configuration of any known format, keeps all its servers connected and
//! offers their tools in a `ToolRegistry`: all that an agent needs.

mod backoff;
mod board;
pub mod call;
pub mod capacity;
mod child;
mod connection;
pub mod content;
pub mod fetch;
mod handshake;
mod hearing;
mod http;
pub mod in_process;
mod inflight;
mod link;
#[cfg(feature = "manager")]
pub mod manager;
pub mod news;
mod ourselves;
pub mod outbox;
mod questions;
pub mod server;
pub mod spec;
pub mod status;
#[cfg(feature = "manager")]
pub mod tool_registry;
pub mod turn;

pub use backoff::Backoff;
pub use call::{Answer, Call, CallError, Caller};
pub use child::nursery::Nursery;
pub use in_process::InProcess;
#[cfg(feature = "manager")]
pub use manager::{Manager, ManagerSettings};
pub use news::{News, What};
pub use outbox::{Event, Outbox, Question, Reply};
pub use server::Server;
pub use spec::{ServerSpec, Transport};
pub use status::{Greeting, State, Status};
#[cfg(feature = "manager")]
pub use tool_registry::{Definition, ToolError, ToolFigures, ToolRegistry};
