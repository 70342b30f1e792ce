//! A server.
fn main() {}
