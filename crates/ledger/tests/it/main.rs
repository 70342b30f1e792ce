//! The ledger as a whole, with real files and real deaths.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod crash;
mod export;
mod full_disk;
mod index;
mod modes;
mod retention;
mod scene;
