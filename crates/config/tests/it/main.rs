//! Configuration as people meet it: files in, a configuration or good advice out.

#![expect(clippy::unwrap_used, reason = "a test that cannot set its scene has to fail")]

mod broken;
mod changes;
mod discovery;
mod documents;
mod edits;
mod formats;
mod handlers;
mod imports;
mod origins;
mod references;
mod round_trip;
mod scene;
mod seeds;
mod units;
mod used;
