//! HTTP+SSE of 2024-11-05: one long stream of events down, POSTs up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;
use toolgate_protocol::{Code, Era, ErrorReply, Kind, Message, Method, Version};

use crate::downstream::body::{self, Body};
use crate::downstream::event_stream::{self, ALIVE, KEEP_ALIVE};
use crate::downstream::headers::Headers;
use crate::downstream::respond::{self, Refusal};
use crate::downstream::streamable;
use crate::gateway::Gateway;
use crate::pipeline::{self, Outcome};
use crate::principal::Principal;
use crate::relay::Piece;
use crate::session::{Client, Session};

/// Where the stream is opened.
pub const STREAM: &str = "/mcp/sse";
/// Where messages are posted.
pub const MESSAGES: &str = "/mcp/messages";

/// How many streams may be open.
const MAX_STREAMS: usize = 10_000;
/// How many answers may wait for a slow client; further ones wait where they are made.
const ANSWERS: usize = 64;
/// How many requests of one client may be under way, those included whose answers it does not read.
const UNDERWAY: usize = 256;

/// A client whose stream is open.
#[derive(Debug)]
pub struct Connection {
    pub session: Arc<Session>,
    answers: mpsc::Sender<Bytes>,
    room: Arc<Semaphore>,
    stop: CancellationToken,
}

/// Opens a stream; its first event tells where to post.
pub fn open(gateway: &Arc<Gateway>, principal: &Arc<Principal>) -> Response<Body> {
    let Ok(key) = gateway.seal.random_number() else {
        return respond::words(StatusCode::INTERNAL_SERVER_ERROR, "no random numbers");
    };
    let session = Session::unnamed(key, Version::V2024_11_05, Arc::clone(principal));
    let reading = session.mailbox.read(None);
    let (answers, arriving) = mpsc::channel(ANSWERS);
    let connection = Arc::new(Connection {
        session: Arc::new(session),
        answers,
        room: Arc::new(Semaphore::new(UNDERWAY)),
        stop: gateway.stopping.child_token(),
    });
    let Some(id) = gateway.streams.insert(&connection) else {
        return respond::words(StatusCode::SERVICE_UNAVAILABLE, "too many streams are open");
    };
    let endpoint = event_stream::named("endpoint", &format!("{MESSAGES}?sessionId={id}"));
    let state = Open { connection, arriving, reading, gateway: Arc::clone(gateway), id };
    let events = stream::unfold(state, |mut state| async move {
        let event = tokio::select! {
            () = state.connection.stop.cancelled() => return None,
            Some(message) = state.arriving.recv() => event_stream::event(&message, None),
            next = state.connection.session.mailbox.next(&mut state.reading) => match next {
                Ok((_, message)) => event_stream::event(&message, None),
                Err(_) => return None,
            },
            () = tokio::time::sleep(KEEP_ALIVE) => ALIVE,
        };
        Some((event, state))
    });
    respond::events(futures_util::StreamExt::chain(stream::once(async { endpoint }), events))
}

/// A stream that is open. When it is dropped, everything of the client is freed.
struct Open {
    connection: Arc<Connection>,
    arriving: mpsc::Receiver<Bytes>,
    reading: crate::session::mailbox::Reading,
    gateway: Arc<Gateway>,
    id: String,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.connection.stop.cancel();
        self.connection.session.inflight.cancel_all();
        self.gateway.streams.remove(&self.id);
        self.gateway.isolated.end_session(self.connection.session.key);
    }
}

/// A message of a client whose stream is open.
pub async fn post(
    gateway: &Arc<Gateway>,
    request: &mut Request<Incoming>,
    principal: &Arc<Principal>,
) -> Response<Body> {
    let query = request.uri().query().unwrap_or_default();
    let id = query.split('&').find_map(|pair| pair.strip_prefix("sessionId=")).unwrap_or_default();
    let connection = gateway.streams.find(id).filter(|found| found.session.principal.is_same_as(principal));
    let Some(connection) = connection else {
        let reply =
            ErrorReply::new(Code::InvalidRequest, "there is no such stream; open one with GET /mcp/sse");
        return Refusal::new(StatusCode::NOT_FOUND, reply, Era::Legacy).response();
    };
    let bytes = match body::read(request.body_mut(), gateway.settings.max_body_bytes).await {
        Ok(bytes) => bytes,
        Err(error) => return streamable::unread(&error).response(),
    };
    let message = match Message::parse(bytes) {
        Ok(message) => message,
        Err(error) => return streamable::unreadable(&error).response(),
    };
    let stop = connection.stop.clone();
    let headers = std::mem::take(request.headers_mut());
    if message.kind() != Kind::Request {
        // Replies and cancellations get through always: requests under way may wait for them.
        tokio::select! {
            () = stop.cancelled() => {}
            () = answer(gateway, &connection, message, &headers) => {}
        }
        return respond::words(StatusCode::ACCEPTED, "accepted");
    }
    let Ok(place) = Arc::clone(&connection.room).try_acquire_owned() else {
        let what = format!("{UNDERWAY} requests of this client are under way or unread; read the stream");
        let reply = ErrorReply::new(Code::InvalidRequest, what).with_data(r#"{"retryable":true}"#);
        let refusal = Refusal::new(StatusCode::TOO_MANY_REQUESTS, reply, Era::Legacy);
        return refusal.to(message.id()).response();
    };
    let gateway = Arc::clone(gateway);
    gateway.tracker.clone().spawn(async move {
        tokio::select! {
            () = stop.cancelled() => {}
            () = answer(&gateway, &connection, message, &headers) => {}
        }
        drop(place);
    });
    respond::words(StatusCode::ACCEPTED, "accepted")
}

async fn answer(gateway: &Arc<Gateway>, connection: &Connection, message: Message, headers: &HeaderMap) {
    let session = &connection.session;
    // A client whose stream is closed needs no answer.
    let send = async |bytes| drop(connection.answers.send(bytes).await);
    if message.method() == Some(Method::Initialize) {
        match pipeline::begin_session(gateway, &message, &session.principal).await {
            Ok((begun, answer)) => {
                session.introduce(&begun);
                send(answer).await;
            }
            Err(reply) => send(reply.answer(message.id(), Era::Legacy)).await,
        }
        return;
    }
    match pipeline::handle(
        gateway,
        &Client::Legacy(Arc::clone(session)),
        &message,
        Some(Headers::from(headers)),
    )
    .await
    {
        Outcome::Answer(last) => send(last.bytes).await,
        Outcome::Taken | Outcome::Listening(_) => {}
        Outcome::Passage(mut passage) => loop {
            match passage.next().await {
                Piece::Message(message) => send(message).await,
                Piece::Last(last) => return send(last.bytes).await,
                Piece::Cancelled => return,
            }
        },
    }
}

/// The clients whose streams are open, by the id they post with.
#[derive(Debug, Default)]
pub struct Streams {
    open: Mutex<HashMap<String, Arc<Connection>>>,
}

impl Streams {
    fn insert(&self, connection: &Arc<Connection>) -> Option<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MAX_STREAMS {
            return None;
        }
        let id = format!("{:016x}", connection.session.key);
        open.insert(id.clone(), Arc::clone(connection));
        Some(id)
    }

    fn find(&self, id: &str) -> Option<Arc<Connection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).get(id).cloned()
    }

    fn remove(&self, id: &str) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// The sessions of all clients whose streams are open.
    pub fn sessions(&self) -> Vec<Arc<Session>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.values().map(|connection| Arc::clone(&connection.session)).collect()
    }
}
