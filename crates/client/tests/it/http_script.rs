//! An HTTP server that follows a script.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, Method, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) json: Value,
}

impl Seen {
    pub(crate) fn rpc(&self) -> &str {
        self.json["method"].as_str().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What is answered.
pub(crate) enum Said {
    Json(u16, Value),
    /// JSON with a session.
    Session(Value, &'static str),
    Text(u16, &'static str),
    /// Pieces of an event stream, then its end.
    Events(Vec<String>),
    /// Pieces as they come; the stream ends with the sender.
    Live(tokio::sync::mpsc::Receiver<String>),
    /// Pieces, and then the stream stays open without a word.
    Open(Vec<String>),
}

/// An event with a message, and an id where one is given.
pub(crate) fn event(id: Option<&str>, message: &Value) -> String {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}data: {message}\n\n")
}

/// The running server.
pub(crate) struct HttpScript {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for HttpScript {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl HttpScript {
    pub(crate) async fn start(script: impl Fn(&Seen) -> Said + Send + Sync + 'static) -> HttpScript {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        HttpScript::serve(listener, script)
    }

    pub(crate) fn serve(
        listener: TcpListener,
        script: impl Fn(&Seen) -> Said + Send + Sync + 'static,
    ) -> HttpScript {
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (script, noted) = (Arc::new(script), Arc::clone(&seen));
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (script, noted) = (Arc::clone(&script), Arc::clone(&noted));
                let service =
                    service_fn(move |request| answer(request, Arc::clone(&script), Arc::clone(&noted)));
                connections.spawn(async move {
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        HttpScript { url, seen, task }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn count(&self, wanted: impl Fn(&Seen) -> bool) -> usize {
        self.seen().iter().filter(|seen| wanted(seen)).count()
    }
}

async fn answer<S: Fn(&Seen) -> Said>(
    request: Request<Incoming>,
    script: Arc<S>,
    noted: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    let (head, body) = request.into_parts();
    let bytes = body.collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let seen = Seen {
        method: head.method,
        path: head.uri.path().to_owned(),
        headers: head.headers,
        json: serde_json::from_slice(&bytes).unwrap_or_default(),
    };
    noted.lock().unwrap().push(seen.clone());
    let builder = Response::builder();
    let json = "application/json";
    Ok(match script(&seen) {
        Said::Json(status, value) => {
            builder.status(status).header("content-type", json).body(full(value.to_string())).unwrap()
        }
        Said::Session(value, session) => builder
            .header("content-type", json)
            .header("mcp-session-id", session)
            .body(full(value.to_string()))
            .unwrap(),
        Said::Text(status, text) => builder.status(status).body(full(text.to_owned())).unwrap(),
        Said::Events(pieces) => events(stream::iter(pieces)),
        Said::Open(pieces) => events(stream::iter(pieces).chain(stream::pending())),
        Said::Live(receiver) => events(stream::unfold(receiver, |mut receiver| async move {
            receiver.recv().await.map(|piece| (piece, receiver))
        })),
    })
}

fn full(text: String) -> BoxBody<Bytes, Infallible> {
    Full::new(Bytes::from(text)).boxed()
}

fn events(
    pieces: impl Stream<Item = String> + Send + Sync + 'static,
) -> Response<BoxBody<Bytes, Infallible>> {
    let frames = pieces.map(|piece| Ok(Frame::data(Bytes::from(piece))));
    Response::builder()
        .header("content-type", "text/event-stream")
        .body(BoxBody::new(StreamBody::new(frames)))
        .unwrap()
}
