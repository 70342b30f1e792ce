//! The HTTP listener: connections, paths, and what concerns all of them.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, HeaderValue, ORIGIN, VARY,
};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use toolgate_protocol::{Code, Era, ErrorReply};

use crate::downstream::body::Body;
use crate::downstream::lanes::Lanes;
use crate::downstream::respond::{self, Refusal};
use crate::downstream::{connection, health, skills, sse, streamable};
use crate::gateway::Gateway;
use crate::principal::Principal;

/// The threads that serve the gateway's clients.
pub fn lanes(gateway: &Arc<Gateway>) -> std::io::Result<Lanes> {
    let gateway = Arc::clone(gateway);
    Lanes::open(move |stream, peer| serve_one(Arc::clone(&gateway), stream, peer))
}

/// Serves clients until the gateway stops, then lets requests under way finish.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener, lanes: Lanes) {
    loop {
        let (stream, peer) = tokio::select! {
            () = gateway.stopping.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, most likely: those who are here come first.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        lanes.take(stream, peer).await;
    }
    drop(listener);
    lanes.close().await;
}

async fn serve_one(gateway: Arc<Gateway>, stream: TcpStream, peer: SocketAddr) {
    let peer = peer.ip();
    let service = {
        // Counted by this connection alone: a count that all threads change would travel between them for each request.
        let gateway = Arc::new(Arc::clone(&gateway));
        service_fn(move |mut request: Request<Incoming>| {
            let gateway = Arc::clone(&gateway);
            // Boxed, because the connection moves the future of each request about before it is polled; and the request
            // is lent to what follows, because each stage would move it once more.
            Box::pin(async move {
                Ok::<_, Infallible>(match answer(&gateway, &mut request, peer).await {
                    Some(response) => response,
                    None => elsewhere(&gateway, request).await,
                })
            })
        })
    };
    if let Err(error) = connection::drive(stream, service, &gateway.stopping).await {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

/// One request; nothing where its path is none of ours.
async fn answer(
    gateway: &Arc<Gateway>,
    request: &mut Request<Incoming>,
    peer: IpAddr,
) -> Option<Response<Body>> {
    if let Err(foreign) = gateway.settings.origins.check(request.headers()) {
        let reply = ErrorReply::new(Code::InvalidRequest, foreign.to_string());
        return Some(Refusal::new(StatusCode::FORBIDDEN, reply, Era::Legacy).response());
    }
    let origin = request.headers().get(ORIGIN).cloned();
    let mut response = route(gateway, request, peer).await?;
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.append(VARY, HeaderValue::from_static("Origin"));
        headers.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "Mcp-Session-Id, WWW-Authenticate, RateLimit, RateLimit-Policy, Retry-After, X-Budget-Limit, \
                 X-Budget-Remaining, X-Budget-Reset",
            ),
        );
    }
    Some(response)
}

async fn route(
    gateway: &Arc<Gateway>,
    request: &mut Request<Incoming>,
    peer: IpAddr,
) -> Option<Response<Body>> {
    let path = request.uri().path();
    Some(match (request.method(), path) {
        (&Method::POST, "/mcp" | "/mcp/") => match caller(gateway, request, peer) {
            Ok(principal) => streamable::post(gateway, request, &principal).await,
            Err(refusal) => refusal.response(),
        },
        (&Method::GET, "/mcp" | "/mcp/") => match caller(gateway, request, peer) {
            Ok(principal) => streamable::get(gateway, request, &principal),
            Err(refusal) => refusal.response(),
        },
        (&Method::DELETE, "/mcp" | "/mcp/") => match caller(gateway, request, peer) {
            Ok(principal) => streamable::delete(gateway, request, &principal),
            Err(refusal) => refusal.response(),
        },
        (&Method::GET, sse::STREAM) => match caller(gateway, request, peer) {
            Ok(principal) => sse::open(gateway, &principal),
            Err(refusal) => refusal.response(),
        },
        (&Method::POST, sse::MESSAGES) => match caller(gateway, request, peer) {
            Ok(principal) => Box::pin(sse::post(gateway, request, &principal)).await,
            Err(refusal) => refusal.response(),
        },
        (&Method::GET, path) if path.starts_with(skills::PREFIX) => match caller(gateway, request, peer) {
            Ok(principal) => Box::pin(skills::get(gateway, request, &principal)).await,
            Err(refusal) => refusal.response(),
        },
        (&Method::GET, "/health") => health::answer(gateway, caller(gateway, request, peer).ok().as_deref()),
        (&Method::OPTIONS, _) => preflight(),
        (_, "/mcp" | "/mcp/") => not_allowed("GET, POST, DELETE, OPTIONS"),
        (_, sse::STREAM | "/health") => not_allowed("GET, OPTIONS"),
        (_, path) if path.starts_with(skills::PREFIX) => not_allowed("GET, OPTIONS"),
        _ => return None,
    })
}

/// A request whose path is none of ours: of an operator, or of somebody who is lost.
async fn elsewhere(gateway: &Gateway, request: Request<Incoming>) -> Response<Body> {
    match gateway.annex.load_full() {
        Some(annex) if annex.serves(request.uri().path()) => annex.answer(request).await,
        _ => respond::words(StatusCode::NOT_FOUND, "not found; MCP is served at /mcp"),
    }
}

fn caller(gateway: &Gateway, request: &Request<Incoming>, peer: IpAddr) -> Result<Arc<Principal>, Refusal> {
    gateway.door.load().authenticate(request.headers(), peer).map_err(|unknown| {
        let reply = ErrorReply::new(Code::InvalidRequest, unknown.why);
        let mut refusal = Refusal::new(StatusCode::UNAUTHORIZED, reply, Era::Legacy);
        refusal.authenticate = Some(Box::new(unknown.challenge));
        refusal
    })
}

/// What a browser asks before it sends a page's request. The origin has been checked already.
fn preflight() -> Response<Body> {
    let mut response = respond::empty(StatusCode::NO_CONTENT);
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE, OPTIONS"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "Content-Type, Accept, Authorization, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, Mcp-Name, \
             Last-Event-ID, X-Api-Key, X-MCP-Client-ID, X-Toolgate-Tools",
        ),
    );
    response
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = respond::words(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
