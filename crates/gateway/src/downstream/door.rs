//! Who knocks: the operator's way to tell callers apart, and what else is served on our port.

use std::net::IpAddr;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;

use crate::downstream::body::Body;
use crate::downstream::headers::Headers;
use crate::principal::Principal;

/// Tells callers apart by what they bring.
pub trait Authenticate: Send + Sync + std::fmt::Debug {
    /// The caller, or what it must bring.
    fn authenticate(&self, headers: Headers<'_>, peer: IpAddr) -> Result<Arc<Principal>, Unknown>;

    /// The groups that a caller is known to be in before it comes, for operators who ask about it. May wait for the disk.
    fn groups_of(&self, _caller: &str) -> Vec<String> {
        Vec::new()
    }
}

/// A caller that brings nothing, or something wrong.
#[derive(Clone, Debug)]
pub struct Unknown {
    /// What is wrong, without what was brought.
    pub why: String,
    /// The challenge of `WWW-Authenticate`.
    pub challenge: HeaderValue,
}

/// Everybody is let in and known by the address it comes from.
#[derive(Debug, Default)]
pub struct ByAddress {
    loopback: std::sync::OnceLock<Arc<Principal>>,
}

impl Authenticate for ByAddress {
    fn authenticate(&self, _headers: Headers<'_>, peer: IpAddr) -> Result<Arc<Principal>, Unknown> {
        if peer.is_loopback() {
            let name = || Arc::new(Principal::named("127.0.0.1"));
            return Ok(Arc::clone(self.loopback.get_or_init(name)));
        }
        Ok(Arc::new(Principal::named(&peer.to_string())))
    }
}

/// Something else that is served on the same port: the interface of operators.
pub trait Annex: Send + Sync + std::fmt::Debug {
    /// Whether a path belongs to it.
    fn serves(&self, path: &str) -> bool;
    /// Answers a request for one of its paths.
    fn answer(&self, request: Request<Incoming>) -> BoxFuture<'static, Response<Body>>;
}
