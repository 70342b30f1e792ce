//! What pages in browsers are told: which of them may read our answers, and what they may send.
//!
//! Whether a page may call us at all is decided before, by [`Origins`](super::origin::Origins).

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderValue, InvalidHeaderValue, VARY,
};
use http::{HeaderMap, Response, StatusCode};

use crate::downstream::body::Body;
use crate::downstream::respond;

/// Headers of requests that clients of MCP, and readers of skills, need.
const NEEDED: &str = "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, \
                      Mcp-Name, Last-Event-ID, X-Api-Key, X-MCP-Client-ID, X-Toolgate-Tools, If-None-Match, Range";
/// Headers of answers that they want to read.
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, X-Budget-Limit, \
                       X-Budget-Remaining, X-Budget-Reset, ETag, Content-Range";

/// What pages are told.
#[derive(Clone, Debug)]
pub struct Cors {
    methods: HeaderValue,
    headers: HeaderValue,
    max_age: HeaderValue,
}

impl Cors {
    /// Pages may use these methods, send these headers besides those of MCP, and remember that for so long.
    pub fn new(
        methods: &[String],
        headers: &[String],
        max_age: Duration,
    ) -> Result<Cors, InvalidHeaderValue> {
        let is_needed = |name: &&String| NEEDED.split(", ").any(|needed| needed.eq_ignore_ascii_case(name));
        let further = headers.iter().filter(|name| !is_needed(name)).map(String::as_str);
        let headers = [NEEDED].into_iter().chain(further).collect::<Vec<_>>().join(", ");
        Ok(Cors {
            methods: HeaderValue::from_str(&methods.join(", "))?,
            headers: HeaderValue::from_str(&headers)?,
            max_age: HeaderValue::from(max_age.as_secs()),
        })
    }

    /// Tells the page of this origin that it may read the answer.
    pub(super) fn let_read(&self, headers: &mut HeaderMap, origin: HeaderValue) {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(VARY, HeaderValue::from_static("Origin"));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(EXPOSED));
    }

    /// What a browser asks before it sends a page's request.
    pub(super) fn preflight(&self) -> Response<Body> {
        let mut response = respond::empty(StatusCode::NO_CONTENT);
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, self.methods.clone());
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, self.headers.clone());
        headers.insert(ACCESS_CONTROL_MAX_AGE, self.max_age.clone());
        response
    }
}

impl Default for Cors {
    fn default() -> Cors {
        Cors {
            methods: HeaderValue::from_static("GET, POST, DELETE, OPTIONS"),
            headers: HeaderValue::from_static(NEEDED),
            max_age: HeaderValue::from_static("3600"),
        }
    }
}
