//! Where messages to a server are put, to be written in order.
//!
//! A bounded queue. Mostly a task of the connection empties it; where the server is a child, whoever puts something in
//! also writes it, with a [`Pen`]: waking another thread to do so would cost more than the whole call.

use std::sync::Arc;

use tokio::sync::mpsc;

use crate::connection::stdio::pen::Pen;
use crate::connection::{Outbound, QUEUE};

/// The sending side of a connection, shared by all who have something to say.
#[derive(Clone, Debug)]
pub(crate) struct Outlet {
    queue: mpsc::Sender<Outbound>,
    pen: Option<Arc<Pen>>,
}

/// The message was not taken: too many wait, or the connection has ended.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the message was not taken: too many wait, or the connection has ended")]
pub(crate) struct NotTaken;

impl Outlet {
    /// An outlet whose queue somebody else empties.
    pub(crate) fn new() -> (Outlet, mpsc::Receiver<Outbound>) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        (Outlet { queue, pen: None }, waiting)
    }

    /// The same outlet, where `pen` empties the queue.
    pub(crate) fn with_pen(self, pen: Arc<Pen>) -> Outlet {
        Outlet { pen: Some(pen), ..self }
    }

    /// Puts a message in, waiting for room. It goes out with the next [`Outlet::push_out`].
    pub(crate) async fn put(&self, outbound: Outbound) -> Result<(), NotTaken> {
        self.queue.send(outbound).await.map_err(|_| NotTaken)
    }

    /// Lets what was put in go out, together with what others put in meanwhile.
    pub(crate) async fn push_out(&self) {
        if let Some(pen) = &self.pen {
            pen.write_soon().await;
        }
    }

    /// Puts a message in and lets it go out, if there is room.
    pub(crate) fn try_send(&self, outbound: Outbound) -> Result<(), NotTaken> {
        self.queue.try_send(outbound).map_err(|_| NotTaken)?;
        if let Some(pen) = &self.pen {
            pen.write();
        }
        Ok(())
    }

    /// Puts a message in and lets it go out, waiting for room.
    pub(crate) async fn send(&self, outbound: Outbound) -> Result<(), NotTaken> {
        self.put(outbound).await?;
        self.push_out().await;
        Ok(())
    }
}
