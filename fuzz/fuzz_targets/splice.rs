//! Any object with members taken out and put in: still an object, with the other members as they were.
#![no_main]

#[path = "../bodies/splice.rs"]
mod splice;

libfuzzer_sys::fuzz_target!(|data: &[u8]| splice::run(data));
