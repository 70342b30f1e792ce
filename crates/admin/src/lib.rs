//! The operators' interface: what was called, what is left, why something is refused, and who waits for a decision.
//!
//! [`Operations`] answers questions whatever they came over; [`Api`] is their face on HTTP, with a token of its own that
//! has nothing to do with the credentials of callers. What may be asked and what is answered are the types in
//! [`questions`] and [`answers`], from which [`openapi::document`] is made, so that the description cannot differ from
//! what is served.

pub mod answers;
mod api;
mod approvals;
mod ledger;
pub mod openapi;
mod operations;
mod problem;
pub mod questions;
mod rules;
mod token;

#[cfg(test)]
mod tests;

pub use api::{Api, Place};
pub use ledger::{page, record, statistics};
pub use operations::{Answer, Operations};
pub use problem::{Problem, ProblemKind};
pub use token::Token;
