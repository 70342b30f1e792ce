//! A connection with one channel each way that all calls share.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::oneshot;
use toolgate_protocol::Message;

use crate::connection::outlet::Outlet;
use crate::connection::stdio::ear::Whereabouts;
use crate::connection::{Ask, Leave, Outbound, WireError};
use crate::hearing::Hearing;
use crate::inflight::Waiting;

/// The sending side of such a connection. Answers come through [`Hearing`].
#[derive(Debug)]
pub(crate) struct Duplex {
    pub(crate) outgoing: Outlet,
    pub(crate) hearing: Arc<Hearing>,
    /// Where answers are read, if that can be chosen.
    pub(crate) whereabouts: Option<Arc<Whereabouts>>,
}

impl Duplex {
    /// Puts a request into the queue and waits for its answer.
    pub(crate) async fn ask(&self, ask: &Ask<'_>) -> Result<Message, WireError> {
        let (answer, waiting) = oneshot::channel();
        let entry = Waiting { key: ask.key, outbox: Arc::clone(ask.outbox), answer: Some(answer) };
        self.hearing.inflight.enter(ask.id, entry)?;
        let mut leave = Leave::new(&self.hearing, &self.outgoing, ask.id);
        let outbound = Outbound { bytes: ask.bytes.clone(), call: Some(ask.id) };
        if self.outgoing.put(outbound).await.is_ok() {
            leave.sent(ask.method);
            if let Some(whereabouts) = &self.whereabouts {
                whereabouts.invite();
            }
            self.outgoing.push_out().await;
        }
        // A queue that nobody reads any more means that the connection ends; why, is told through the same channel.
        let outcome = waiting.await;
        leave.answered();
        outcome.unwrap_or_else(|_| Err(WireError::Broken("the connection ended".to_owned())))
    }

    /// Puts a notification into the queue.
    pub(crate) async fn tell(&self, bytes: Bytes) -> Result<(), WireError> {
        let gone = |_| WireError::Broken("the connection ended".to_owned());
        self.outgoing.send(Outbound::unasked(bytes)).await.map_err(gone)
    }
}
