//! Questions of a legacy server to its client.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use toolgate_client::{Question, Reply};
use toolgate_protocol::{Code, Era, ErrorReply, Method};

use crate::session::Session;

/// A question on its way: the request to send, and what must be awaited for the server to get the reply.
pub(super) struct Open {
    pub(super) message: Bytes,
    pub(super) reply: BoxFuture<'static, ()>,
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
pub(super) fn ask(session: &Session, question: Question) -> Option<Open> {
    let asked = session.questions.ask(question.method, &question.params)?;
    let message = asked.message.clone();
    let reply = Box::pin(async move {
        let mut asked = asked;
        if let Ok(reply) = (&mut asked.reply).await {
            let _ = question.answer.send(reply);
        }
    });
    Some(Open { message, reply })
}
