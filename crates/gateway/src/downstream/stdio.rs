//! One client on standard input and output, in either era, a message a line.
//!
//! Reading never waits for a request: what is read next may be the reply, the cancellation or the end that it waits for.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use toolgate_client::turn::let_others_go_first;
use toolgate_protocol::message::{MetaField, Unreadable};
use toolgate_protocol::{Code, Era, ErrorReply, Kind, Message, Method, Version, text};

use crate::downstream::connection::LOOK;
use crate::downstream::{admit, batch};
use crate::gateway::Gateway;
use crate::pipeline::{self, Outcome};
use crate::principal::Principal;
use crate::relay::Piece;
use crate::session::inflight::Inflight;
use crate::session::{Client, Session};

/// How many requests and batches may be under way; further ones are refused.
const UNDERWAY: usize = 1024;
/// How many messages may wait to be written.
const OUT: usize = 256;
/// How long requests under way may take to finish after the client has closed its side. The servers need the rest of the
/// five seconds that a client waits for us.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long the last answers may take to be written.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// The one client.
struct Conversation {
    gateway: Arc<Gateway>,
    principal: Arc<Principal>,
    /// The legacy client; before `initialize` it has said nothing of itself.
    session: Arc<Session>,
    /// Requests of a modern client, so that it can cancel them.
    modern: Inflight,
    out: mpsc::Sender<Bytes>,
}

/// Serves the client until it closes its side or the gateway stops; finishes what is under way first. Gives the moment
/// at which it was over, from which the client counts.
pub async fn serve(
    gateway: Arc<Gateway>,
    input: impl AsyncBufRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    principal: Arc<Principal>,
) -> Instant {
    let key = gateway.seal.random_number().unwrap_or_default();
    let session = Arc::new(Session::unnamed(key, Version::NEWEST_LEGACY, Arc::clone(&principal)));
    gateway.stdio.store(Some(Arc::clone(&session)));
    let (out, outgoing) = mpsc::channel(OUT);
    let writer = tokio::spawn(write(outgoing, Arc::clone(&session), output));
    let _clock = AbortOnDropHandle::new(tokio::spawn(keep_a_clock()));
    let conversation =
        Arc::new(Conversation { gateway, principal, session, modern: Inflight::default(), out });
    let requests = TaskTracker::new();
    read(&conversation, &requests, input).await;
    let ended = Instant::now();
    requests.close();
    if tokio::time::timeout(PATIENCE, requests.wait()).await.is_err() {
        tracing::warn!("requests were still under way when the client had left; they are given up");
        conversation.session.inflight.cancel_all();
        conversation.modern.cancel_all();
    }
    conversation.gateway.stdio.store(None);
    drop(conversation);
    // The writer ends when nobody can send to it any more; a request that was given up may still hold it for a moment.
    let _ = tokio::time::timeout(LAST_WORDS, writer).await;
    ended
}

/// Keeps a clock that is nearer than those of the calls, as connections over HTTP have one: to set one that is nearer than all
/// others is a system call, and where calls come and go together, each of theirs would be that.
async fn keep_a_clock() {
    let mut look = tokio::time::interval(LOOK);
    loop {
        look.tick().await;
    }
}

async fn read(
    conversation: &Arc<Conversation>,
    requests: &TaskTracker,
    mut input: impl AsyncBufRead + Unpin,
) {
    let mut stopping = std::pin::pin!(conversation.gateway.stopping.cancelled());
    loop {
        let line = tokio::select! {
            () = &mut stopping => return,
            line = read_line(&mut input, conversation.gateway.settings.max_body_bytes) => line,
        };
        match line {
            Ok(Line::Text(line)) => {
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                tokio::select! {
                    biased;
                    () = take(conversation, requests, Bytes::from(line)) => {}
                    // Whoever does not read what it is told does not keep the gateway.
                    () = &mut stopping => return,
                }
            }
            Ok(Line::TooLong(limit)) => {
                let what = format!("a line is longer than {limit} bytes");
                let reply = ErrorReply::new(Code::InvalidRequest, what);
                conversation.send(reply.answer(None, Era::Legacy)).await;
            }
            Ok(Line::End) => return,
            Err(error) => {
                tracing::warn!(%error, "standard input could not be read");
                return;
            }
        }
    }
}

/// Handles a message: notifications and answers in order, requests side by side.
async fn take(conversation: &Arc<Conversation>, requests: &TaskTracker, line: Bytes) {
    let message = match Message::parse(line.clone()) {
        Ok(message) => message,
        Err(Unreadable::Batch) if conversation.session.version().has_batches() => {
            if requests.len() >= UNDERWAY {
                return conversation.refuse_one_more(None).await;
            }
            let conversation = Arc::clone(conversation);
            requests.spawn(async move { conversation.answer_batch(&line).await });
            return;
        }
        Err(error) => {
            let (reply, id) = pipeline::unreadable(&error);
            return conversation.send(reply.answer(id.as_deref(), Era::Legacy)).await;
        }
    };
    if message.kind() != Kind::Request {
        return conversation.heard(message).await;
    }
    if requests.len() >= UNDERWAY {
        return conversation.refuse_one_more(message.id()).await;
    }
    let conversation = Arc::clone(conversation);
    // Boxed, because what is spawned is moved about more than once, and this is large.
    requests.spawn(Box::pin(async move { conversation.answer(message).await }));
}

impl Conversation {
    async fn send(&self, message: Bytes) {
        // The client has closed its side: there is nobody to tell.
        let _ = self.out.send(message).await;
    }

    /// Says that nothing more is taken while so much is under way.
    async fn refuse_one_more(&self, id: Option<&[u8]>) {
        let what = format!("{UNDERWAY} requests are under way already; wait for some to end");
        let reply = ErrorReply::new(Code::InvalidRequest, what).with_data(r#"{"retryable":true}"#);
        self.send(reply.answer(id, Era::Legacy)).await;
    }

    async fn heard(&self, message: Message) {
        if message.method() == Some(Method::Cancelled)
            && let Some(id) = message.field(toolgate_protocol::message::Field::RequestId)
        {
            self.modern.cancel(id);
        }
        let client = Client::Legacy(Arc::clone(&self.session));
        pipeline::handle(&self.gateway, &client, &message, None).await;
    }

    async fn answer_batch(&self, line: &Bytes) {
        match batch::answers(&self.gateway, &self.session, line, None).await {
            Ok(Some(answers)) => self.send(answers).await,
            Ok(None) => {}
            Err(reply) => self.send(reply.answer(None, Era::Legacy)).await,
        }
    }

    async fn answer(&self, message: Message) {
        let modern =
            message.meta(MetaField::ProtocolVersion).is_some() || message.method() == Some(Method::Discover);
        if modern {
            return self.answer_modern(message).await;
        }
        if message.method() == Some(Method::Initialize) {
            let answer = match pipeline::begin_session(&self.gateway, &message, &self.principal).await {
                Ok((begun, answer)) => {
                    self.session.introduce(&begun);
                    answer
                }
                Err(reply) => reply.answer(message.id(), Era::Legacy),
            };
            return self.send(answer).await;
        }
        self.pump(&Client::Legacy(Arc::clone(&self.session)), message).await;
    }

    async fn answer_modern(&self, message: Message) {
        let client = match admit::admit_modern(&message, &self.principal) {
            Ok(client) => client,
            Err(refusal) => return self.send(refusal.reply.answer(message.id(), Era::Modern)).await,
        };
        let id = message.id().map(Bytes::copy_from_slice).unwrap_or_default();
        let underway = match self.modern.begin(id) {
            Ok(underway) => underway,
            Err(refused) => {
                let reply = ErrorReply::new(Code::InvalidRequest, refused.to_string());
                return self.send(reply.answer(message.id(), Era::Modern)).await;
            }
        };
        tokio::select! {
            () = underway.cancelled() => {}
            () = self.pump(&client, message) => {}
        }
    }

    async fn pump(&self, client: &Client, message: Message) {
        match pipeline::handle(&self.gateway, client, &message, None).await {
            Outcome::Answer(last) => self.send(last.bytes).await,
            Outcome::Taken => {}
            Outcome::Listening(listener) => {
                let mut reading = listener.mailbox.read(None);
                loop {
                    tokio::select! {
                        () = self.gateway.stopping.cancelled() => return self.send(listener.ended()).await,
                        next = listener.mailbox.next(&mut reading) => match next {
                            Ok((_, message)) => self.send(message).await,
                            Err(_) => return,
                        },
                    }
                }
            }
            Outcome::Passage(mut passage) => loop {
                match passage.next().await {
                    Piece::Message(message) => self.send(message).await,
                    Piece::Last(last) => return self.send(last.bytes).await,
                    Piece::Cancelled => return,
                }
            },
        }
    }
}

/// Writes messages, a line each, and what the session hears outside of its requests.
async fn write(
    mut outgoing: mpsc::Receiver<Bytes>,
    session: Arc<Session>,
    mut output: impl AsyncWrite + Unpin,
) {
    let mut reading = session.mailbox.read(None);
    let mut lines = Vec::new();
    loop {
        let message = tokio::select! {
            biased;
            message = outgoing.recv() => match message {
                Some(message) => message,
                None => return,
            },
            Ok((_, message)) = session.mailbox.next(&mut reading) => message,
        };
        lines.clear();
        push_line(&mut lines, &message);
        // What others are about to say goes out with it.
        let_others_go_first().await;
        while let Ok(message) = outgoing.try_recv() {
            push_line(&mut lines, &message);
        }
        if output.write_all(&lines).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

fn push_line(lines: &mut Vec<u8>, message: &[u8]) {
    text::push_on_one_line(lines, message);
    lines.push(b'\n');
}

enum Line {
    Text(Vec<u8>),
    TooLong(usize),
    End,
}

/// The next line without its end; one that is too long is read to its end and thrown away.
async fn read_line(input: &mut (impl AsyncBufRead + Unpin), limit: usize) -> std::io::Result<Line> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let available = input.fill_buf().await?;
        if available.is_empty() {
            return Ok(if line.is_empty() { Line::End } else { Line::Text(line) });
        }
        let (text, ended) = match memchr::memchr(b'\n', available) {
            Some(end) => (&available[..end], true),
            None => (available, false),
        };
        if line.len() + text.len() > limit {
            too_long = true;
            line = Vec::new();
        }
        if !too_long {
            line.extend_from_slice(text);
        }
        let taken = text.len() + usize::from(ended);
        input.consume(taken);
        if ended {
            return Ok(if too_long { Line::TooLong(limit) } else { Line::Text(line) });
        }
    }
}
