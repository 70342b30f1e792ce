//! A legacy server's questions that wait for a client's answer.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use tokio::sync::{mpsc, oneshot};
use toolgate_protocol::{Code, Era, ErrorReply, error};

use crate::connection::Outbound;
use crate::connection::outlet::Outlet;
use crate::outbox::Reply;

/// How many questions of one server may wait at a time.
const MOST_PARKED: usize = 256;

/// What happens to a question.
enum Slip {
    Parked { id: Bytes, reply: oneshot::Receiver<Reply> },
    Withdrawn { id: Bytes },
}

/// Where questions are put and answers to them are sent.
#[derive(Debug)]
pub(crate) struct Desk {
    slips: mpsc::Sender<Slip>,
    outgoing: Outlet,
}

/// The other side of a [`Desk`]: waits for the answers and sends them.
#[derive(Debug)]
pub(crate) struct Clerk {
    slips: mpsc::Receiver<Slip>,
    outgoing: Outlet,
}

/// A desk whose answers go out through `outgoing`, and the clerk, whose work must be driven.
pub(crate) fn desk(outgoing: Outlet) -> (Desk, Clerk) {
    let (sender, receiver) = mpsc::channel(MOST_PARKED);
    (Desk { slips: sender, outgoing: outgoing.clone() }, Clerk { slips: receiver, outgoing })
}

impl Desk {
    /// Keeps the place of a question; its answer goes into the channel. Nothing where too many wait.
    pub(crate) fn park(&self, id: Bytes) -> Option<oneshot::Sender<Reply>> {
        let (sender, reply) = oneshot::channel();
        self.slips.try_send(Slip::Parked { id, reply }).ok().map(|()| sender)
    }

    /// The server does not want an answer any more.
    pub(crate) fn withdraw(&self, id: Bytes) {
        let _ = self.slips.try_send(Slip::Withdrawn { id });
    }

    /// Answers at once.
    pub(crate) fn answer(&self, id: &[u8], result: &[u8]) {
        self.send(error::result_answer(id, result));
    }

    /// Refuses at once, saying why.
    pub(crate) fn refuse(&self, id: &[u8], code: Code, why: &str) {
        self.send(ErrorReply::new(code, why).answer(Some(id), Era::Legacy));
    }

    fn send(&self, bytes: Bytes) {
        if self.outgoing.try_send(Outbound::unasked(bytes)).is_err() {
            tracing::debug!("an answer to a server's question was dropped: the server reads too slowly");
        }
    }
}

impl Clerk {
    /// Works until the desk is gone.
    pub(crate) async fn serve(mut self) {
        let mut parked = FuturesUnordered::new();
        let mut handles: HashMap<Bytes, AbortHandle> = HashMap::new();
        loop {
            tokio::select! {
                slip = self.slips.recv(), if handles.len() < MOST_PARKED => match slip {
                    Some(Slip::Parked { id, reply }) => {
                        let (handle, registration) = AbortHandle::new_pair();
                        handles.insert(id.clone(), handle);
                        let waiting = async move { (id, reply.await) };
                        parked.push(Abortable::new(waiting, registration));
                    }
                    Some(Slip::Withdrawn { id }) => {
                        if let Some(handle) = handles.remove(&id) {
                            handle.abort();
                        }
                    }
                    None => return,
                },
                Some(answered) = parked.next() => {
                    // A withdrawn question ends as an error here, and nothing is sent.
                    if let Ok((id, reply)) = answered {
                        handles.remove(&id);
                        let outbound = Outbound::unasked(in_full(&id, reply.ok()));
                        if self.outgoing.send(outbound).await.is_err() {
                            return;
                        }
                    }
                }
            }
        }
    }
}

fn in_full(id: &[u8], reply: Option<Reply>) -> Bytes {
    match reply {
        Some(Reply::Result(result)) => error::result_answer(id, &result),
        Some(Reply::Error(cause)) => error::error_answer(id, &cause),
        None => ErrorReply::new(Code::InternalError, "the client left without answering")
            .answer(Some(id), Era::Legacy),
    }
}
