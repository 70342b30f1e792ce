//! The operations on HTTP: where they are, who may ask, how much may be sent.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::header::{CACHE_CONTROL, HeaderValue, WWW_AUTHENTICATE};
use http::{Request, Response};
use hyper::body::Incoming;
use toolgate_gateway::downstream::body::{self, Body};
use toolgate_gateway::downstream::door::Annex;
use toolgate_gateway::downstream::respond;

use crate::operations::{Answer, Operations};
use crate::problem::{Problem, ProblemKind};
use crate::token::Token;

/// What the path of every operation begins with.
const BASE: &str = "/api/v1";
/// The largest body, in bytes.
const LARGEST_BODY: usize = 64 * 1024;

/// Where the operations are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On a listener of their own, at `/api/v1`.
    OwnListener,
    /// On the listener of clients, below this path.
    Below(String),
}

/// The operations on HTTP.
#[derive(Debug, Clone)]
pub struct Api {
    operations: Operations,
    token: Token,
    place: Place,
}

impl Api {
    /// Serves operations to those who show the token.
    pub fn new(operations: Operations, token: Token, place: Place) -> Api {
        Api { operations, token, place }
    }

    /// What follows the base in a path; nothing where the path is not ours.
    fn target<'a>(&self, path: &'a str) -> Option<&'a str> {
        let path = match &self.place {
            Place::OwnListener => path,
            Place::Below(prefix) => path.strip_prefix(prefix.trim_end_matches('/'))?,
        };
        path.strip_prefix(BASE).filter(|rest| rest.starts_with('/'))
    }

    async fn respond(self, request: Request<Incoming>) -> Result<Answer, Problem> {
        // Who may not ask learns nothing of what there is.
        if !self.token.is_shown_in(request.headers()) {
            return Err(Problem::new(
                ProblemKind::Unauthorized,
                "show the operators' token as 'Authorization: Bearer TOKEN'",
            ));
        }
        let (head, mut incoming) = request.into_parts();
        let path = self.target(head.uri.path()).ok_or_else(|| Problem::not_found("there is nothing here"))?;
        let target = match head.uri.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        let body = body::read(&mut incoming, LARGEST_BODY).await;
        let body = body.map_err(|error| Problem::invalid(error.to_string()))?;
        Ok(self.operations.answer(&head.method, &target, &body).await)
    }
}

impl Annex for Api {
    fn serves(&self, path: &str) -> bool {
        self.place != Place::OwnListener && self.target(path).is_some()
    }

    fn answer(&self, request: Request<Incoming>) -> BoxFuture<'static, Response<Body>> {
        let api = self.clone();
        Box::pin(async move {
            let answer = api.respond(request).await.unwrap_or_else(|problem| Answer::from(&problem));
            let mut response = respond::json(answer.status, Bytes::from(answer.body.to_string()));
            let headers = response.headers_mut();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            if answer.status == http::StatusCode::UNAUTHORIZED {
                headers.insert(
                    WWW_AUTHENTICATE,
                    HeaderValue::from_static("Bearer realm=\"toolgate operators\""),
                );
            }
            response
        })
    }
}
