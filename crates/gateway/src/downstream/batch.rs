//! Several messages in one array, which the revision of 2025-03-26 has and no later one.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, StatusCode};
use toolgate_protocol::message::split_batch;
use toolgate_protocol::{Code, Era, ErrorReply, Message, Method};

use crate::downstream::admit;
use crate::downstream::body::Body;
use crate::downstream::headers::Headers;
use crate::downstream::respond::{self, Refusal};
use crate::gateway::Gateway;
use crate::pipeline::{self, Outcome};
use crate::principal::Principal;
use crate::relay::Piece;
use crate::session::{Client, Session};

/// How many messages one array may have.
const MAX_MESSAGES: usize = 100;

/// An array that came by `POST /mcp`.
pub async fn post(
    gateway: &Arc<Gateway>,
    bytes: &Bytes,
    headers: Headers<'_>,
    principal: &Arc<Principal>,
) -> Response<Body> {
    let refuse = |what: &str| {
        let reply = ErrorReply::new(Code::InvalidRequest, what);
        Refusal::new(StatusCode::BAD_REQUEST, reply, Era::Legacy).response()
    };
    let session = match admit::session(gateway, headers, principal) {
        Ok(session) => session,
        Err(_) => return refuse("a batch needs a session of revision 2025-03-26"),
    };
    if !session.version().has_batches() {
        return refuse("the negotiated revision has no batches; send one message at a time");
    }
    match answers(gateway, &session, bytes, Some(headers)).await {
        Ok(Some(answers)) => respond::json(StatusCode::OK, answers),
        Ok(None) => respond::empty(StatusCode::ACCEPTED),
        Err(reply) => Refusal::new(StatusCode::BAD_REQUEST, reply, Era::Legacy).response(),
    }
}

/// The answers to an array of messages, as an array; nothing where nothing in it wanted an answer.
pub async fn answers(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    bytes: &Bytes,
    headers: Option<Headers<'_>>,
) -> Result<Option<Bytes>, ErrorReply> {
    let messages = split_batch(bytes, MAX_MESSAGES).map_err(|error| pipeline::unreadable(&error).0)?;
    let answers = messages.into_iter().map(|message| one(gateway, session, message, headers));
    let answers: Vec<Bytes> = futures_util::future::join_all(answers).await.into_iter().flatten().collect();
    if answers.is_empty() {
        return Ok(None);
    }
    let mut array = b"[".to_vec();
    for (at, answer) in answers.iter().enumerate() {
        if at > 0 {
            array.push(b',');
        }
        array.extend_from_slice(answer);
    }
    array.push(b']');
    Ok(Some(Bytes::from(array)))
}

async fn one(
    gateway: &Arc<Gateway>,
    session: &Arc<Session>,
    message: Result<Message, toolgate_protocol::message::Unreadable>,
    headers: Option<Headers<'_>>,
) -> Option<Bytes> {
    let message = match message {
        Ok(message) => message,
        Err(error) => {
            let (reply, id) = pipeline::unreadable(&error);
            return Some(reply.answer(id.as_deref(), Era::Legacy));
        }
    };
    if message.method() == Some(Method::Initialize) {
        let reply = ErrorReply::new(Code::InvalidRequest, "'initialize' must not be part of a batch");
        return Some(reply.answer(message.id(), Era::Legacy));
    }
    match pipeline::handle(gateway, &Client::Legacy(Arc::clone(session)), &message, headers).await {
        Outcome::Answer(last) => Some(last.bytes),
        Outcome::Taken | Outcome::Listening(_) => None,
        Outcome::Passage(mut passage) => loop {
            match passage.next().await {
                // What comes before the answers has no place in an array: it goes the session's own way.
                Piece::Message(message) => session.mailbox.push(message),
                Piece::Last(last) => return Some(last.bytes),
                Piece::Cancelled => return None,
            }
        },
    }
}
