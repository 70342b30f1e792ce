//! The whole of Toolgate, from outside: clients before it, servers behind it.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod bad_input;
mod bindings;
mod calls;
mod catalogue;
mod cells;
mod doors;
mod governance;
mod handlers;
mod isolation;
mod keyring;
mod ledger;
mod misbehaving;
mod process_trees;
mod questions;
mod reloads;
mod sessions;
mod skills;
mod stdio_front;
mod tasks;
mod thousand_starts;
