//! The record of every call, kept so that nothing acknowledged is lost and nothing changed goes unseen.

pub mod calendar;
pub mod checksum;
pub mod journal;
pub mod record;
pub mod redact;
