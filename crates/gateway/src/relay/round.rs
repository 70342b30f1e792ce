//! A modern server wants input and its client is a legacy one: ask over the session, then repeat the request.

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use toolgate_client::Reply;
use toolgate_protocol::capability::Has;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, ErrorReply, Message, Method, Object, Splice, text};

use crate::relay::{asking, failure};
use crate::session::Session;

/// The client's answers, ready to go with the repeated request.
#[derive(Debug)]
pub struct Round {
    /// The JSON object of `inputResponses`.
    responses: Vec<u8>,
    /// The JSON string of `requestState`, as the server gave it.
    state: Option<Bytes>,
}

/// Why the client cannot be asked, or said no.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("the server asked for input in a form that cannot be read: {0}")]
    Unreadable(String),
    #[error("the server needs the client capability '{0}'")]
    Lacking(&'static str),
    #[error("too many questions are open at this client")]
    TooMany,
    #[error("the client answered the question '{key}' with an error: {error}")]
    ClientError { key: String, error: String },
    #[error("the client left the question '{0}' unanswered")]
    Unanswered(String),
}

impl Refused {
    /// The error that ends the request.
    pub fn reply(&self) -> ErrorReply {
        match self {
            Refused::Lacking(capability) => failure::lacking(capability),
            _ => ErrorReply::new(Code::ExecutionError, self.to_string()),
        }
    }
}

/// What to send to the client, and what gives its answers.
pub type Begun = (Vec<Bytes>, BoxFuture<'static, Result<Round, Refused>>);

/// Puts the questions of an `input_required` result to a legacy client.
pub fn begin(session: &Session, message: &Message) -> Result<Begun, Refused> {
    let state = message.field_bytes(Field::RequestState);
    let Some(requests) = message.field(Field::InputRequests) else {
        let round = Round { responses: b"{}".to_vec(), state };
        return Ok((Vec::new(), async { Ok(round) }.boxed()));
    };
    let requests = Object::parse(requests).map_err(|error| Refused::Unreadable(error.to_string()))?;
    let caller = session.caller();
    let mut messages = Vec::new();
    let mut replies = Vec::new();
    for (key, request) in requests.members() {
        let request = Object::parse(request).map_err(|error| Refused::Unreadable(error.to_string()))?;
        let method = Method::named(&request.text("method").unwrap_or_default());
        if !method.is_question() {
            return Err(Refused::Unreadable(format!("'{key}' is no question to a client")));
        }
        let params = request.get("params").unwrap_or(b"{}");
        if !Has::of(&caller.envelope.capabilities).answer_to(method, Some(params)) {
            return Err(Refused::Lacking(asking::capability(method).unwrap_or_default()));
        }
        let asked = session.questions.ask(method, params, None).ok_or(Refused::TooMany)?;
        messages.push(asked.message.clone());
        let key = key.into_owned();
        replies.push(async move {
            let mut asked = asked;
            let reply = (&mut asked.reply).await;
            (key, method, reply.ok())
        });
    }
    let round = async move {
        let mut responses = b"{".to_vec();
        for (key, method, reply) in join_all(replies).await {
            let response = response(&key, method, reply)?;
            if responses.len() > 1 {
                responses.push(b',');
            }
            responses.extend_from_slice(text::quote(&key).as_bytes());
            responses.push(b':');
            responses.extend_from_slice(&response);
        }
        responses.push(b'}');
        Ok(Round { responses, state })
    };
    Ok((messages, round.boxed()))
}

fn response(key: &str, method: Method, reply: Option<Reply>) -> Result<Bytes, Refused> {
    match (reply, method) {
        (Some(Reply::Result(result)), _) => Ok(result),
        // A person who cannot be asked has cancelled; the server knows what to do then.
        (Some(Reply::Error(_)), Method::Elicit) => Ok(Bytes::from_static(br#"{"action":"cancel"}"#)),
        (Some(Reply::Error(error)), _) => Err(Refused::ClientError {
            key: key.to_owned(),
            error: String::from_utf8_lossy(&error).into_owned(),
        }),
        (None, _) => Err(Refused::Unanswered(key.to_owned())),
    }
}

impl Round {
    /// The request once more, with the answers. They go to the end of `params`, so places before stay right.
    pub fn repeated(&self, request: &Message) -> Option<Message> {
        let params = request.body_place()?;
        // A second round replaces what the first one put in.
        let kept = without_round(request)?;
        let request = kept.as_ref().unwrap_or(request);
        let params = request.body_place().unwrap_or(params);
        let empty = params.inside().of(request.bytes()).iter().all(u8::is_ascii_whitespace);
        let mut members = if empty { Vec::new() } else { b",".to_vec() };
        members.extend_from_slice(br#""inputResponses":"#);
        members.extend_from_slice(&self.responses);
        if let Some(state) = &self.state {
            members.extend_from_slice(br#","requestState":"#);
            members.extend_from_slice(state);
        }
        let mut splice = Splice::new(request.bytes(), members.len());
        splice.insert(params.end() - 1, &members);
        Message::parse(Bytes::from(splice.finish())).ok()
    }
}

/// The request without the answers of an earlier round; `Some(None)` where it has none.
fn without_round(request: &Message) -> Option<Option<Message>> {
    if request.place(Field::InputResponses).is_none() && request.place(Field::RequestState).is_none() {
        return Some(None);
    }
    let params = request.body_place()?;
    let bytes = params.of(request.bytes());
    let object = Object::parse(bytes).ok()?;
    let mut splice = Splice::new(bytes, 0);
    for member in object.places() {
        if matches!(member.key.of(bytes), b"inputResponses" | b"requestState") {
            splice.remove_member(member.whole);
        }
    }
    let mut whole = Splice::new(request.bytes(), 0);
    whole.replace(params, &splice.finish());
    Message::parse(Bytes::from(whole.finish())).ok().map(Some)
}
