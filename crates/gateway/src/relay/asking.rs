//! Questions of a legacy server to its client.
//!
//! A server may take a question back, and its call may end while one is open. The client is told so, or it would leave
//! its user with a question that nobody asks any more.

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use toolgate_client::{Question, Reply, Server};
use toolgate_protocol::{Code, Era, ErrorReply, Method};

use crate::relay::notice;
use crate::session::Session;

/// A question on its way: the request to send, and what must be awaited for the server to get the reply.
pub(super) struct Open {
    pub(super) message: Bytes,
    pub(super) id: u64,
    pub(super) reply: BoxFuture<'static, Settled>,
}

/// What became of a question.
pub(super) struct Settled {
    pub(super) id: u64,
    /// Whether the server does not want to know any more.
    pub(super) withdrawn: bool,
}

/// The questions of one call that are open at a legacy client.
#[derive(Default)]
pub(super) struct OpenQuestions {
    ids: Vec<u64>,
    replies: FuturesUnordered<BoxFuture<'static, Settled>>,
}

impl OpenQuestions {
    pub(super) fn push(&mut self, id: u64, reply: BoxFuture<'static, Settled>) {
        self.ids.push(id);
        self.replies.push(reply);
    }

    /// Waits until one is settled; what the client must be told of it, if anything.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        let Some(Settled { id, withdrawn }) = self.replies.next().await else {
            return std::future::pending().await;
        };
        self.ids.retain(|open| *open != id);
        withdrawn.then(|| cancelled(id))
    }

    /// The call is over: what the client must be told of those that are still open.
    pub(super) fn end(&mut self) -> impl Iterator<Item = Bytes> + use<> {
        self.replies.clear();
        std::mem::take(&mut self.ids).into_iter().map(cancelled)
    }
}

fn cancelled(id: u64) -> Bytes {
    let params =
        format!(r#"{{"requestId":{id},"reason":"the server does not wait for the answer any more"}}"#);
    notice::write(Method::Cancelled.name(), Some(params.as_bytes()))
}

/// The capability that a question needs.
pub(super) fn capability(method: Method) -> Option<&'static str> {
    match method {
        Method::CreateMessage => Some("sampling"),
        Method::RootsList => Some("roots"),
        Method::Elicit => Some("elicitation"),
        _ => None,
    }
}

/// Tells the server that its client cannot be asked this.
pub(super) fn refuse(question: Question) {
    let reply = ErrorReply::new(
        Code::MethodNotFound,
        format!("the client does not support '{}'", question.method.name()),
    );
    // A server that no longer waits needs no answer.
    let _ = question.answer.send(Reply::Error(Bytes::from(reply.object(Era::Legacy))));
}

/// Asks a legacy client over its session; nothing where too many questions are open there.
pub(super) fn ask(session: &Session, server: &Server, mut question: Question) -> Option<Open> {
    let mut asked = session.questions.ask(question.method, &question.params, Some(server))?;
    let (message, id) = (asked.message.clone(), asked.id);
    let reply = Box::pin(async move {
        let withdrawn = tokio::select! {
            biased;
            reply = &mut asked.reply => {
                if let Ok(reply) = reply {
                    let _ = question.answer.send(reply);
                }
                false
            }
            () = question.answer.closed() => true,
        };
        Settled { id, withdrawn }
    });
    Some(Open { message, id, reply })
}
