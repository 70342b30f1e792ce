//! The HTTP listener: connections, paths, and what concerns all of them.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, HeaderValue, ORIGIN};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use toolgate_protocol::{Code, Era, ErrorReply};

use crate::downstream::body::Body;
use crate::downstream::handed_over::HandedOver;
use crate::downstream::headers::Headers;
use crate::downstream::lanes::Lanes;
use crate::downstream::respond::{self, Refusal};
use crate::downstream::{connection, express, health, secure, skills, sse, streamable};
use crate::gateway::Gateway;
use crate::principal::Principal;

/// The threads that serve the gateway's clients, over HTTPS where there is something to shake hands with.
pub fn lanes(gateway: &Arc<Gateway>, tls: Option<TlsAcceptor>) -> std::io::Result<Lanes> {
    let gateway = Arc::clone(gateway);
    Lanes::open(move |stream, peer| serve_one(Arc::clone(&gateway), stream, tls.clone(), peer))
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

async fn serve_one(gateway: Arc<Gateway>, stream: TcpStream, tls: Option<TlsAcceptor>, peer: SocketAddr) {
    let peer = peer.ip();
    // Answers are written whole; waiting to fill a packet would only delay them.
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = tls else { return serve_stream(gateway, stream, peer).await };
    match secure::shake_hands(&acceptor, stream).await {
        // Boxed, because connections without it should not need the room for it.
        Ok(stream) => Box::pin(serve_stream(gateway, stream, peer)).await,
        Err(error) => tracing::debug!(%error, %peer, "a client could not shake hands"),
    }
}

async fn serve_stream<S>(gateway: Arc<Gateway>, stream: S, peer: IpAddr)
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
    if let Some(line) = express::serve(&gateway, stream, peer).await {
        // Boxed, because a connection that stays with the express should not need the room for it.
        Box::pin(serve_by_hyper(gateway, line, peer)).await;
    }
}

async fn serve_by_hyper<S>(gateway: Arc<Gateway>, line: HandedOver<S>, peer: IpAddr)
where
    S: AsyncRead + AsyncWrite + Send + Unpin,
{
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
    if let Err(error) = connection::drive(line, service, &gateway.stopping).await {
        tracing::debug!(%error, %peer, "a connection ended early");
    }
}

/// One request; nothing where its path is none of ours.
async fn answer(
    gateway: &Arc<Gateway>,
    request: &mut Request<Incoming>,
    peer: IpAddr,
) -> Option<Response<Body>> {
    if let Err(refusal) = check_origin(gateway, request.headers().into()) {
        return Some(refusal.response());
    }
    let origin = request.headers().get(ORIGIN).cloned();
    let mut response = route(gateway, request, peer).await?;
    if let (Some(origin), Some(cors)) = (origin, &gateway.settings.cors) {
        cors.let_read(response.headers_mut(), origin);
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
        (&Method::OPTIONS, _) => match &gateway.settings.cors {
            Some(cors) => cors.preflight(),
            None => respond::empty(StatusCode::NO_CONTENT),
        },
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

/// Who sent a request, if it may be here at all.
pub(super) fn admit(
    gateway: &Gateway,
    headers: Headers<'_>,
    peer: IpAddr,
) -> Result<Arc<Principal>, Refusal> {
    check_origin(gateway, headers)?;
    authenticate(gateway, headers, peer)
}

fn check_origin(gateway: &Gateway, headers: Headers<'_>) -> Result<(), Refusal> {
    gateway.settings.origins.check(headers).map_err(|foreign| {
        tracing::info!(why = %foreign, "a request was not let in");
        let reply = ErrorReply::new(Code::InvalidRequest, foreign.to_string());
        Refusal::new(StatusCode::FORBIDDEN, reply, Era::Legacy)
    })
}

fn caller(gateway: &Gateway, request: &Request<Incoming>, peer: IpAddr) -> Result<Arc<Principal>, Refusal> {
    authenticate(gateway, request.headers().into(), peer)
}

fn authenticate(gateway: &Gateway, headers: Headers<'_>, peer: IpAddr) -> Result<Arc<Principal>, Refusal> {
    gateway.door.load().authenticate(headers, peer).map_err(|unknown| {
        tracing::info!(%peer, why = %unknown.why, "a caller was not let in");
        let reply = ErrorReply::new(Code::InvalidRequest, unknown.why);
        let mut refusal = Refusal::new(StatusCode::UNAUTHORIZED, reply, Era::Legacy);
        refusal.authenticate = Some(Box::new(unknown.challenge));
        refusal
    })
}

fn not_allowed(allowed: &'static str) -> Response<Body> {
    let mut response = respond::words(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
