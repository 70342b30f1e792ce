//! The record of every call, kept so that nothing acknowledged is lost and nothing changed goes unseen.
//!
//! A call is encoded ([`record`]), cleaned of secrets ([`redact`]) and appended to a hash-chained [`journal`]
//! before its answer leaves. Behind the journal a thread of its own fills an SQLite index ([`store`]); the hot path
//! never waits for SQL. [`Ledger`] ties them together; the rest reads: [`replay`], [`export`], [`journal::verify`].
//!
//! The difficulty is the edge between "written" and "said to be written": a killed process, a torn write and a full
//! disk must each leave a journal in which every acknowledged record stands exactly once.

pub mod calendar;
pub mod checksum;
pub mod export;
pub mod journal;
pub mod ledger;
mod private;
pub mod record;
pub mod redact;
pub mod replay;
pub mod retention;
pub mod store;

pub use calendar::{Calendar, CivilDay};
pub use journal::health::Health;
pub use journal::writer::{AppendError, Durability, Queued, Receipt};
pub use ledger::{Ledger, OpenError, Settings};
pub use record::{Body, BodyRef, Digest, Era, Kind, Record, RecordRef, Status};
pub use redact::{RedactionRules, Redactor};
