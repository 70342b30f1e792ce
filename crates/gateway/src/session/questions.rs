//! Questions that a legacy client has been asked and has not answered yet.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::oneshot;
use toolgate_client::{Reply, Server};
use toolgate_protocol::{Kind, Message, Method, Object, Span, Splice};

/// How many questions may be open at one client.
const CAPACITY: usize = 64;

type Open = Arc<Mutex<HashMap<u64, Waiting>>>;

/// Who waits for the answer to a question.
#[derive(Debug)]
struct Waiting {
    reply: oneshot::Sender<Reply>,
    /// The server, and the token under which it wants to hear of progress, where it does.
    progress: Option<(Server, Bytes)>,
}

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
    /// What it is called at the client.
    pub id: u64,
    open: Open,
}

impl Questions {
    /// Writes a question down; nothing where too many are open. Two servers may use the same token for progress, so the
    /// client gets one of ours, and what it says under it goes to `server`.
    pub fn ask(&self, method: Method, params: &[u8], server: Option<&Server>) -> Option<Asked> {
        let (sender, reply) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (params, progress) = match server.zip(with_token(params, id)) {
            Some((server, (token, params))) => (Bytes::from(params), Some((server.clone(), token))),
            None => (Bytes::copy_from_slice(params), None),
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= CAPACITY {
            return None;
        }
        open.insert(id, Waiting { reply: sender, progress });
        drop(open);
        let message = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{}","params":{}}}"#,
            method.name(),
            String::from_utf8_lossy(&params)
        );
        Some(Asked { message: Bytes::from(message), reply, id, open: Arc::clone(&self.open) })
    }

    /// The client answers. False where no such question is open.
    pub fn answer(&self, message: &Message) -> bool {
        let id = message.id().and_then(|id| std::str::from_utf8(id).ok()).and_then(|id| id.parse().ok());
        let Some(id) = id else { return false };
        let waiting = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove::<u64>(&id);
        let Some(waiting) = waiting else { return false };
        let body = message.body_bytes().unwrap_or_else(|| Bytes::from_static(b"{}"));
        let reply = if message.kind() == Kind::Result { Reply::Result(body) } else { Reply::Error(body) };
        waiting.reply.send(reply).is_ok()
    }

    /// The client tells how far it is with a question: the server that asked, and the same under that server's token.
    pub fn progress(&self, params: &[u8]) -> Option<(Server, Bytes)> {
        let object = Object::parse(params).ok()?;
        let place = object.place("progressToken")?;
        let id: u64 = std::str::from_utf8(place.of(params)).ok()?.parse().ok()?;
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (server, token) = open.get(&id)?.progress.clone()?;
        drop(open);
        let mut splice = Splice::new(params, token.len());
        splice.replace(place, &token);
        Some((server, Bytes::from(splice.finish())))
    }
}

/// The token for progress in a question's `params`, and the params with `id` in its place.
fn with_token(params: &[u8], id: u64) -> Option<(Bytes, Vec<u8>)> {
    let meta = Object::parse(params).ok()?.place("_meta")?;
    let token = Object::parse(meta.of(params)).ok()?.place("progressToken")?;
    let place = Span::new(meta.start() + token.start(), meta.start() + token.end());
    let mut splice = Splice::new(params, 20);
    splice.replace(place, id.to_string().as_bytes());
    Some((Bytes::copy_from_slice(place.of(params)), splice.finish()))
}

impl Drop for Asked {
    fn drop(&mut self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
    }
}
