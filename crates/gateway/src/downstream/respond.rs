//! The one place where answers and errors become HTTP responses.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Response, StatusCode};
use toolgate_protocol::{Era, ErrorReply};

use crate::downstream::body::Body;
use crate::relay::Last;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A request that is refused before it reaches its stage: the status and what to say.
#[derive(Debug)]
pub struct Refusal {
    pub status: StatusCode,
    pub reply: ErrorReply,
    pub era: Era,
    /// The id of the request, where it could be read.
    pub id: Option<Bytes>,
    /// How to prove who one is, where that was missing.
    pub authenticate: Option<Box<HeaderValue>>,
}

impl Refusal {
    /// A refusal of a request whose id is not known.
    pub fn new(status: StatusCode, reply: ErrorReply, era: Era) -> Refusal {
        Refusal { status, reply, era, id: None, authenticate: None }
    }

    /// The same for the request with this id.
    pub fn to(mut self, id: Option<&[u8]>) -> Refusal {
        self.id = id.map(Bytes::copy_from_slice);
        self
    }

    /// The response.
    pub fn response(&self) -> Response<Body> {
        let mut response = json(self.status, self.reply.answer(self.id.as_deref(), self.era));
        if let Some(challenge) = &self.authenticate {
            response.headers_mut().insert(http::header::WWW_AUTHENTICATE, HeaderValue::clone(challenge));
        }
        response
    }
}

/// A response with a JSON body.
pub fn json(status: StatusCode, body: Bytes) -> Response<Body> {
    let mut response = Response::new(Body::Whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

/// A response with an answer that is there at once.
pub fn last(last: Last, era: Era) -> Response<Body> {
    let mut response = json(status(era, last.code), last.bytes);
    response.headers_mut().extend(last.headers.into_iter().map(|(name, value)| (Some(name), value)));
    response
}

/// A response that is a stream of events.
pub fn events(stream: impl futures_util::Stream<Item = Bytes> + Send + 'static) -> Response<Body> {
    let mut response = Response::new(Body::Stream(Box::pin(stream)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

/// A response without a body.
pub fn empty(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// A response in plain words, for requests that are not MCP.
pub fn words(status: StatusCode, words: &str) -> Response<Body> {
    let mut response = Response::new(Body::Whole(Bytes::from(format!("{words}\n"))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// The status of an answer. Coded errors travel at 200, because common clients drop the body of a 4xx, except where
/// the modern era asks for another status.
pub fn status(era: Era, code: Option<i32>) -> StatusCode {
    match (era, code) {
        (Era::Modern, Some(-32601)) => StatusCode::NOT_FOUND,
        (Era::Modern, Some(-32022..=-32020)) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
