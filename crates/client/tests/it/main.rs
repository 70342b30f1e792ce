//! Connections against servers that do what servers do: answer, ask, misbehave, die.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod eras;
mod health;
mod http_script;
mod in_process;
mod over_http;
mod over_sse;
mod over_stdio;
mod pools;
mod process_tree;
mod rig;
mod subscriptions;
mod supervision;
