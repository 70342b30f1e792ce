//! Questions that a legacy client has been asked and has not answered yet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;
use toolgate_client::Reply;
use toolgate_protocol::{Kind, Message, Method};

/// How many questions may be open at one client.
const CAPACITY: usize = 64;

type Open = Arc<Mutex<HashMap<u64, oneshot::Sender<Reply>>>>;

/// The table of one client. Our ids are whole numbers of our own making, so an answer cannot be for another client.
#[derive(Debug, Default)]
pub struct Questions {
    open: Open,
    next: AtomicU64,
}

/// A question that has been written down and can be sent. It leaves the table when this is dropped.
#[derive(Debug)]
pub struct Asked {
    /// The request to send to the client.
    pub message: Bytes,
    /// What the client will say.
    pub reply: oneshot::Receiver<Reply>,
    id: u64,
    open: Open,
}

impl Questions {
    /// Writes a question down; nothing where too many are open.
    pub fn ask(&self, method: Method, params: &[u8]) -> Option<Asked> {
        let (sender, reply) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= CAPACITY {
            return None;
        }
        open.insert(id, sender);
        drop(open);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{}}}"#,
            method.name(),
            String::from_utf8_lossy(params)
        );
        Some(Asked { message: Bytes::from(message), reply, id, open: Arc::clone(&self.open) })
    }

    /// The client answers. False where no such question is open.
    pub fn answer(&self, message: &Message) -> bool {
        let id = message.id().and_then(|id| std::str::from_utf8(id).ok()).and_then(|id| id.parse().ok());
        let Some(id) = id else { return false };
        let sender = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove::<u64>(&id);
        let Some(sender) = sender else { return false };
        let body = message.body_bytes().unwrap_or_else(|| Bytes::from_static(b"{}"));
        let reply = if message.kind() == Kind::Result { Reply::Result(body) } else { Reply::Error(body) };
        sender.send(reply).is_ok()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
