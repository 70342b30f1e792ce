//! Servers.
/// A server.
#[derive(Debug)]
pub struct Upstream;
