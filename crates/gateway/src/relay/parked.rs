//! Calls that wait for a modern client to come back with answers.
//!
//! A legacy server has asked something in the middle of a call. A modern client cannot be asked; its request ends with
//! `input_required`, and the call waits here until the client repeats the request with the answers and with the sealed
//! state that names the call. The state is bound to the client, to the request, and expires.
//!
//! A parked call keeps its place at its server, which works on it still. So its time runs on, and no server has more than
//! half of its places taken by such calls: beyond that, the one that waits for longest is given up.
//!
//! A call that waits for its user's agreement is parked too. It waits as long as its rule says and no longer: then it is
//! refused and gives back what it had taken, and its client is told so if it comes back after all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use toolgate_client::Reply;
use toolgate_protocol::message::Field;
use toolgate_protocol::{Code, ErrorReply, Message, Object, error, text};

use crate::relay::passage::{Inner, Last, Passage, Piece};
use crate::relay::{Asked, failure};
use crate::seal::{Purpose, Seal};
use crate::session::Client;

/// How many calls may wait.
const CAPACITY: usize = 1024;
/// How long a call waits for its client.
const PATIENCE: Duration = Duration::from_secs(600);

/// All calls that wait.
pub struct Parked {
    seal: Arc<Seal>,
    calls: Mutex<HashMap<u64, Waiting>>,
}

impl std::fmt::Debug for Parked {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Parked")
    }
}

struct Waiting {
    inner: Box<Inner>,
    until: Instant,
    since: Instant,
}

/// What the sealed state holds.
#[derive(Serialize, Deserialize)]
struct State {
    call: u64,
    caller: String,
    request: String,
}

impl Parked {
    /// An empty place to wait.
    pub fn new(seal: Arc<Seal>) -> Parked {
        Parked { seal, calls: Mutex::default() }
    }

    /// Lets a call wait and gives the answer that asks its client for input.
    pub(super) fn park(inner: Box<Inner>) -> Piece {
        let traffic = Arc::clone(&inner.way.traffic);
        let era = inner.client.era();
        let id = inner.asked.id.clone();
        match traffic.parked.enter(inner) {
            Ok(result) => Piece::Last(Last::plain(error::result_answer(&id, &result), None)),
            Err(reply) => Piece::Last(Last::error(&reply, Some(&id), era, &[])),
        }
    }

    fn enter(&self, inner: Box<Inner>) -> Result<Vec<u8>, ErrorReply> {
        let sealed = |_| ErrorReply::new(Code::InternalError, "the state of the call could not be sealed");
        let call = self.seal.random_number().map_err(sealed)?;
        let state = State {
            call,
            caller: inner.client.principal().id.to_string(),
            request: fingerprint(&inner.message),
        };
        let state = serde_json::to_vec(&state).map_err(|_| failure::unrepeatable())?;
        let state = self.seal.seal(Purpose::ParkedCall, &state).map_err(sealed)?;
        let result = input_required(&inner, &state);
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        calls.retain(|_, waiting| waiting.until > now);
        let _given_up = make_room(&mut calls, &inner);
        if calls.len() >= CAPACITY {
            return Err(ErrorReply::new(
                Code::ExecutionError,
                "too many calls wait for input of their clients",
            )
            .with_data(r#"{"retryable":true}"#));
        }
        // Those who come too late for an agreement shall hear of it, too.
        let until = inner.decide_by.map_or(now, |decide_by| decide_by.max(now)) + PATIENCE;
        calls.insert(call, Waiting { inner, until, since: now });
        Ok(result)
    }

    /// Goes on with the call that a request's state names; nothing where the state is not ours.
    pub fn resume(
        &self,
        message: &Message,
        client: &Client,
        asked: &Asked,
    ) -> Result<Option<Passage>, ErrorReply> {
        let Some(token) = message.field_text(Field::RequestState) else { return Ok(None) };
        let Some(state) = self.seal.open(Purpose::ParkedCall, &token) else { return Ok(None) };
        let refuse = |what: &str| Err(ErrorReply::new(Code::InvalidParams, what));
        let Ok(state) = serde_json::from_slice::<State>(&state) else { return Ok(None) };
        if state.caller != *client.principal().id || state.request != fingerprint(message) {
            return refuse("'requestState' belongs to another request");
        }
        let waiting = self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&state.call);
        let Some(waiting) = waiting.filter(|waiting| waiting.until > Instant::now()) else {
            return refuse("'requestState' has expired or was used before; repeat the request without it");
        };
        let mut inner = waiting.inner;
        let responses = message.field(Field::InputResponses).unwrap_or(b"{}");
        let Ok(responses) = Object::parse(responses) else {
            return refuse("'inputResponses' must be an object");
        };
        let questions = std::mem::take(&mut inner.unanswered);
        for (key, question) in questions {
            match responses.get(&key) {
                // A server that gave up waiting needs no answer; its call ends by itself.
                Some(response) => {
                    drop(question.answer.send(Reply::Result(Bytes::copy_from_slice(response))));
                }
                None => inner.unanswered.push((key, question)),
            }
        }
        Ok(Some(inner.resume(asked.clone(), client.clone())))
    }

    /// Ends the calls whose clients did not come back, and those that nobody agreed to in time.
    pub fn sweep(&self) {
        let now = Instant::now();
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.retain(|_, waiting| waiting.until > now);
        for waiting in calls.values_mut() {
            waiting.inner.lapse(now);
            waiting.inner.overhear();
        }
    }
}

/// Takes out the call of the same server that waits for longest, where this one would be too many.
fn make_room(calls: &mut HashMap<u64, Waiting>, inner: &Inner) -> Option<Waiting> {
    let server = &inner.way.server;
    let same = calls.iter().filter(|(_, waiting)| waiting.inner.holds_place_at(server));
    let most = (server.max_concurrency() / 2).max(1);
    if !inner.holds_place_at(server) || same.clone().count() < most {
        return None;
    }
    let oldest = same.min_by_key(|(_, waiting)| waiting.since).map(|(call, _)| *call)?;
    tracing::warn!(server = %server.name(), most, "a call that waits for its client is given up: too many do");
    calls.remove(&oldest)
}

fn input_required(inner: &Inner, state: &str) -> Vec<u8> {
    let mut requests = Vec::new();
    for (key, question) in &inner.unanswered {
        if !requests.is_empty() {
            requests.push(b',');
        }
        requests.extend_from_slice(text::quote(key).as_bytes());
        requests.extend_from_slice(
            format!(
                r#":{{"method":"{}","params":{}}}"#,
                question.method.name(),
                String::from_utf8_lossy(&question.params)
            )
            .as_bytes(),
        );
    }
    format!(
        r#"{{"resultType":"input_required","inputRequests":{{{}}},"requestState":{}}}"#,
        String::from_utf8_lossy(&requests),
        text::quote(state)
    )
    .into_bytes()
}

/// What makes a repeated request the same one: its method and what it names.
fn fingerprint(message: &Message) -> String {
    let named = message.field(Field::Name).or(message.field(Field::Uri)).unwrap_or_default();
    format!("{} {}", message.method_name().unwrap_or_default(), String::from_utf8_lossy(named))
}

#[cfg(test)]
mod tests;
