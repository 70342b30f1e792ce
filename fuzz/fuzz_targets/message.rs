//! Any bytes as a message: read or refused, and what is read stays a message in every cell, under the id it should have.
#![no_main]

#[path = "../bodies/message.rs"]
mod message;

libfuzzer_sys::fuzz_target!(|data: &[u8]| message::run(data));
