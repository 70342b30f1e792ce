//! Streamable HTTP, `/mcp`: one message a POST, in both eras; the stream and the end of a legacy session.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use http::{Request, Response, StatusCode};
use hyper::body::Incoming;
use toolgate_protocol::message::Unreadable;
use toolgate_protocol::{Code, Era, ErrorReply, Message, header};

use crate::downstream::admit::{self, Admitted};
use crate::downstream::batch;
use crate::downstream::body::{self, Body, BodyError};
use crate::downstream::event_stream::{self, ALIVE, KEEP_ALIVE};
use crate::downstream::headers::Headers;
use crate::downstream::respond::{self, Refusal};
use crate::gateway::Gateway;
use crate::listen::Listener;
use crate::pipeline::{self, Outcome};
use crate::principal::Principal;
use crate::relay::{Passage, Piece};
use crate::session::{Client, Session};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// A message of a client.
pub async fn post(
    gateway: &Arc<Gateway>,
    request: &mut Request<Incoming>,
    principal: &Arc<Principal>,
) -> Response<Body> {
    if let Err(refusal) = check_media(request.headers().into()) {
        return refusal.response();
    }
    let bytes = match body::read(request.body_mut(), gateway.settings.max_body_bytes).await {
        Ok(bytes) => bytes,
        Err(error) => return unread(&error).response(),
    };
    take(gateway, request.headers().into(), bytes, principal).await
}

/// A message of a client, whose body has been read.
pub async fn post_whole(
    gateway: &Arc<Gateway>,
    headers: Headers<'_>,
    body: Bytes,
    principal: &Arc<Principal>,
) -> Response<Body> {
    match check_media(headers) {
        Ok(()) => take(gateway, headers, body, principal).await,
        Err(refusal) => refusal.response(),
    }
}

async fn take(
    gateway: &Arc<Gateway>,
    headers: Headers<'_>,
    bytes: Bytes,
    principal: &Arc<Principal>,
) -> Response<Body> {
    let message = match Message::parse(bytes.clone()) {
        Ok(message) => message,
        Err(Unreadable::Batch) => return batch::post(gateway, &bytes, headers, principal).await,
        Err(error) => return unreadable(&error).response(),
    };
    match admit::admit(gateway, &message, headers, principal) {
        Ok(Admitted::Beginner) => begin(gateway, &message, principal).await,
        Ok(Admitted::Client(client)) => {
            if let Err(refusal) = pipeline::check_parameters(gateway, &client, &message, headers) {
                return refusal.response();
            }
            respond_to(gateway, &client, &message, headers).await
        }
        Err(refusal) => refusal.response(),
    }
}

/// The stream of a legacy session.
pub fn get(
    gateway: &Arc<Gateway>,
    request: &Request<Incoming>,
    principal: &Arc<Principal>,
) -> Response<Body> {
    if !request.headers().contains_key(header::SESSION_ID) {
        let mut response = respond::words(StatusCode::METHOD_NOT_ALLOWED, "a stream needs a session");
        response.headers_mut().insert(http::header::ALLOW, HeaderValue::from_static("POST"));
        return response;
    }
    if !accepts(request.headers().into(), &[EVENTS]) {
        return respond::words(StatusCode::NOT_ACCEPTABLE, "'Accept' must have text/event-stream");
    }
    match admit::session(gateway, request.headers().into(), principal) {
        Ok(session) => {
            let last = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
            session_stream(gateway, session, last.and_then(|number| number.parse().ok()))
        }
        Err(refusal) => refusal.response(),
    }
}

/// The end of a legacy session.
pub fn delete(gateway: &Gateway, request: &Request<Incoming>, principal: &Arc<Principal>) -> Response<Body> {
    match admit::session(gateway, request.headers().into(), principal) {
        Ok(_) => {
            let id = request.headers().get(header::SESSION_ID).and_then(|value| value.to_str().ok());
            gateway.end_session(id.unwrap_or_default());
            respond::empty(StatusCode::NO_CONTENT)
        }
        Err(refusal) => refusal.response(),
    }
}

async fn begin(gateway: &Arc<Gateway>, message: &Message, principal: &Arc<Principal>) -> Response<Body> {
    let begun = pipeline::begin_session(gateway, message, principal).await;
    match begun {
        Ok((session, answer)) => match gateway.enter_session(&session) {
            Ok(id) => {
                let mut response = respond::json(StatusCode::OK, answer);
                if let Ok(id) = HeaderValue::from_str(&id) {
                    response.headers_mut().insert(HeaderName::from_static(header::SESSION_ID), id);
                }
                response
            }
            Err(_) => {
                let reply = ErrorReply::new(Code::InternalError, "the session could not be sealed");
                Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, reply, Era::Legacy)
                    .to(message.id())
                    .response()
            }
        },
        Err(reply) => respond::json(StatusCode::OK, reply.answer(message.id(), Era::Legacy)),
    }
}

async fn respond_to(
    gateway: &Arc<Gateway>,
    client: &Client,
    message: &Message,
    headers: Headers<'_>,
) -> Response<Body> {
    let era = client.era();
    match pipeline::handle(gateway, client, message, Some(headers)).await {
        Outcome::Answer(last) => respond::last(last, era),
        Outcome::Taken => respond::empty(StatusCode::ACCEPTED),
        Outcome::Listening(listener) => listener_stream(gateway, listener),
        Outcome::Passage(mut passage) => match passage.next().await {
            Piece::Last(last) => respond::last(last, era),
            Piece::Message(first) => passage_stream(first, passage),
            // There is nothing to say to a client that cancelled; a stream without events says just that.
            Piece::Cancelled => respond::events(stream::empty()),
        },
    }
}

/// The rest of a passage whose first piece was not its last. Dropping the stream drops the passage.
fn passage_stream(first: Bytes, passage: Passage) -> Response<Body> {
    let first = event_stream::event(&first, None);
    let rest = stream::unfold(Some(passage), |passage| async move {
        let mut passage = passage?;
        let piece = tokio::select! {
            piece = passage.next() => piece,
            () = tokio::time::sleep(KEEP_ALIVE) => return Some((ALIVE, Some(passage))),
        };
        match piece {
            Piece::Message(message) => Some((event_stream::event(&message, None), Some(passage))),
            Piece::Last(last) => Some((event_stream::event(&last.bytes, None), None)),
            Piece::Cancelled => None,
        }
    });
    respond::events(futures_util::StreamExt::chain(stream::once(async { first }), rest))
}

/// What a legacy session hears outside of its requests.
fn session_stream(gateway: &Arc<Gateway>, session: Arc<Session>, after: Option<u64>) -> Response<Body> {
    let reading = session.mailbox.read(after);
    let stopping = gateway.stopping.clone();
    let events = stream::unfold((session, reading), move |(session, mut reading)| {
        let stopping = stopping.clone();
        async move {
            let event = tokio::select! {
                () = stopping.cancelled() => return None,
                next = session.mailbox.next(&mut reading) => match next {
                    Ok((number, message)) => event_stream::event(&message, Some(number)),
                    // A newer stream of the same session has taken over.
                    Err(_) => return None,
                },
                () = tokio::time::sleep(KEEP_ALIVE) => ALIVE,
            };
            Some((event, (session, reading)))
        }
    });
    // The first bytes go out at once, so that the client knows that the stream is open.
    respond::events(futures_util::StreamExt::chain(stream::once(async { ALIVE }), events))
}

fn listener_stream(gateway: &Arc<Gateway>, listener: Arc<Listener>) -> Response<Body> {
    let reading = listener.mailbox.read(None);
    let stopping = gateway.stopping.clone();
    let events = stream::unfold(Some((listener, reading)), move |state| {
        let stopping = stopping.clone();
        async move {
            let (listener, mut reading) = state?;
            let event = tokio::select! {
                biased;
                next = listener.mailbox.next(&mut reading) => match next {
                    Ok((_, message)) => event_stream::event(&message, None),
                    Err(_) => return None,
                },
                () = stopping.cancelled() => return Some((event_stream::event(&listener.ended(), None), None)),
                () = tokio::time::sleep(KEEP_ALIVE) => ALIVE,
            };
            Some((event, Some((listener, reading))))
        }
    });
    respond::events(events)
}

fn check_media(headers: Headers<'_>) -> Result<(), Refusal> {
    let refuse = |status, what: &str| {
        Err(Refusal::new(status, ErrorReply::new(Code::InvalidRequest, what), Era::Legacy))
    };
    if let Some(media) = headers.get(&CONTENT_TYPE)
        && !media.get(..JSON.len()).is_some_and(|start| start.eq_ignore_ascii_case(JSON.as_bytes()))
    {
        return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "'Content-Type' must be application/json");
    }
    if !accepts(headers, &[JSON, EVENTS]) {
        return refuse(
            StatusCode::NOT_ACCEPTABLE,
            "'Accept' must have application/json and text/event-stream",
        );
    }
    Ok(())
}

/// Whether a client takes one of these kinds of answers.
fn accepts(headers: Headers<'_>, kinds: &[&str]) -> bool {
    let Some(accept) = headers.text(&ACCEPT) else { return true };
    let is_family = |one: &str, kind: &str| {
        one.strip_suffix('*').is_some_and(|family| family.ends_with('/') && kind.starts_with(family))
    };
    accept.split(',').map(|one| one.split(';').next().unwrap_or_default().trim()).any(|one| {
        one == "*/*" || kinds.iter().any(|kind| one.eq_ignore_ascii_case(kind) || is_family(one, kind))
    })
}

/// A body that did not arrive, as a client is told.
pub fn unread(error: &BodyError) -> Refusal {
    let status = match error {
        BodyError::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        BodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
        BodyError::BrokeOff(_) => StatusCode::BAD_REQUEST,
    };
    Refusal::new(status, ErrorReply::new(Code::InvalidRequest, error.to_string()), Era::Legacy)
}

/// A body that is no message, as a client is told.
pub fn unreadable(error: &Unreadable) -> Refusal {
    let (reply, id) = pipeline::unreadable(error);
    Refusal::new(StatusCode::BAD_REQUEST, reply, Era::Legacy).to(id.as_deref())
}
