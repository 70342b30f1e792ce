//! How a request ends: its price is settled, it is on record, and its client gets the last piece.

use toolgate_client::call::Answer;
use toolgate_governance::{Refusal, Remaining};
use toolgate_ledger::Status;
use toolgate_protocol::message::Field;
use toolgate_protocol::{ErrorReply, Kind, Message, era};

use super::{Inner, Last, Piece};
use crate::enforce::closing::{Closing, Ended};
use crate::enforce::quota_headers::quota_headers;
use crate::enforce::refuse;
use crate::greeting::IDENTITY;
use crate::relay::output;

impl Inner {
    /// Ends the request with what the server said.
    pub(super) fn finished(&mut self, answer: &Answer, status: Status) {
        let message = &answer.message;
        let code = error_code(message);
        let ended = Ended { status, error_code: code, body: message.body() };
        let remaining = match self.closing.as_mut().map(|closing| closing.begin_to_close(ended)) {
            None => Vec::new(),
            Some(Ok(remaining)) => remaining,
            Some(Err(unrecorded)) => {
                return self.last_error(&refuse::withheld(unrecorded), &[]);
            }
        };
        let era = self.client.era();
        let (id, method) = (&self.asked.id, self.asked.method);
        let bytes = era::answer::write(message, id, method, answer.era, era, IDENTITY);
        let bytes = output::with_quotas(bytes, &remaining);
        let headers = if remaining.is_empty() { Vec::new() } else { quota_headers(&remaining) };
        self.end_with(Last { bytes, code, headers });
    }

    /// The last piece, after what the client must be told of questions that nobody asks any more.
    fn end_with(&mut self, last: Last) {
        if let Some(open) = &mut self.open {
            self.ready.extend(open.end().map(Piece::Message));
        }
        self.ready.push_back(Piece::Last(last));
    }

    /// Returns when the call is on record, as it must be before its answer leaves. Dropping the future loses nothing.
    pub(super) async fn on_record(&mut self) {
        let Some(closing) = &mut self.closing else { return };
        if let Err(unrecorded) = closing.on_record().await {
            self.ready.clear();
            self.last_error(&refuse::withheld(unrecorded), &[]);
        }
    }

    pub(super) fn denied(&mut self, refusal: &Refusal) {
        let (reply, remaining) = self.close_denied(refusal);
        self.last_error(&reply, &remaining);
    }

    /// Ends the request with an error of ours.
    pub(super) fn failed(&mut self, reply: &ErrorReply, status: Status) {
        match self.close_failed(reply, status) {
            Ok(remaining) => self.last_error(reply, &remaining),
            Err(unrecorded) => self.last_error(&unrecorded, &[]),
        }
    }

    /// Closes a request that somebody refused; what its client is told.
    pub(super) fn close_denied(&mut self, refusal: &Refusal) -> (ErrorReply, Vec<Remaining>) {
        let remaining = self.closing.as_ref().map(Closing::remaining_now).unwrap_or_default();
        let reply = refuse::refused(refusal);
        match self.close_failed(&reply, Status::Denied) {
            Ok(_) => (reply, remaining),
            Err(unrecorded) => (unrecorded, Vec::new()),
        }
    }

    /// Closes a request that failed; what is left of quotas, or what is told of one that could not be recorded.
    pub(super) fn close_failed(
        &mut self,
        reply: &ErrorReply,
        status: Status,
    ) -> Result<Vec<Remaining>, ErrorReply> {
        let era = self.client.era();
        let body = reply.object(era);
        let ended = Ended { status, error_code: Some(reply.code.number(era)), body: Some(body.as_bytes()) };
        let closed = self.closing.as_mut().map_or(Ok(Vec::new()), |closing| closing.close(ended));
        closed.map_err(refuse::withheld)
    }

    pub(super) fn last_error(&mut self, reply: &ErrorReply, remaining: &[Remaining]) {
        self.end_with(Last::error(reply, Some(&self.asked.id), self.client.era(), remaining));
    }
}

/// The code of an answer that is an error.
pub(super) fn error_code(message: &Message) -> Option<i32> {
    if message.kind() != Kind::Error {
        return None;
    }
    std::str::from_utf8(message.field(Field::Code)?).ok()?.parse().ok()
}
