//! A listener of its own for the interface of operators, away from clients.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::service::service_fn;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use crate::downstream::body::Body;
use crate::downstream::{connection, respond};
use crate::gateway::Gateway;

/// How many connections there may be; further ones wait to be accepted.
const CONNECTIONS: usize = 64;

/// Serves the annex of a gateway, and nothing else, until the gateway stops.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) {
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let connections = TaskTracker::new();
    while let Ok(place) = Arc::clone(&room).acquire_owned().await {
        let stream = tokio::select! {
            () = gateway.stopping.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection of an operator could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        let gateway = Arc::clone(&gateway);
        connections.spawn(async move {
            serve_one(&gateway, stream).await;
            drop(place);
        });
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn serve_one(gateway: &Arc<Gateway>, stream: TcpStream) {
    let service = service_fn(|request| async move { Ok::<_, Infallible>(answer(gateway, request).await) });
    if let Err(error) = connection::drive(stream, service, &gateway.stopping).await {
        tracing::debug!(%error, "a connection of an operator ended early");
    }
}

async fn answer(gateway: &Gateway, request: Request<Incoming>) -> Response<Body> {
    match gateway.annex.load_full() {
        Some(annex) => annex.answer(request).await,
        None => respond::words(StatusCode::NOT_FOUND, "not found"),
    }
}
