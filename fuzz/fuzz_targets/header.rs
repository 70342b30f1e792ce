//! Any text as a header's value, and as a tool's schema with its annotations.
#![no_main]

#[path = "../bodies/header.rs"]
mod header;

libfuzzer_sys::fuzz_target!(|data: &[u8]| header::run(data));
