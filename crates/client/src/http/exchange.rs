//! One connection, read and written by whoever uses it, and the answer that comes over it.
//!
//! HTTP/1.1 by hand, on top of the parser that hyper uses: a call writes its request in one piece and reads its answer
//! into the buffer it is passed on from. Hyper's client would hand both over between three futures, which cost a third
//! of all the time that a call spends in Toolgate.

use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::runtime::{Handle, Id};

use crate::http::HttpError;
use crate::http::body::Body;
use crate::http::head::Head;
use crate::http::pool::Pool;
use crate::http::tls::Stream;

/// Room that is made for what comes, and how little of it is left before more is made.
const ROOM: usize = 16 * 1024;
const LITTLE_ROOM: usize = 1024;

/// A body up to this length is copied behind its head, so that one write sends both.
const SMALL_BODY: usize = 16 * 1024;

/// How much room for requests a connection keeps while it is idle.
const KEPT_ROOM: usize = 2 * SMALL_BODY;

/// One connection to a server.
pub(super) struct Exchange {
    /// The runtime that hears what comes over it.
    home: Id,
    stream: Stream,
    /// What has been read and not been taken.
    buffer: BytesMut,
    /// The request being written.
    request: Vec<u8>,
    /// What is left of the last answer: only if it ends by itself is the connection usable again.
    body: Body,
    /// Whether it can be used for another request after this one.
    stays: bool,
}

/// Why a request has no answer.
pub(super) enum Unanswered {
    /// Not a byte was written: it may be sent on another connection.
    NotSent(String),
    Broken(String),
}

impl Exchange {
    /// A connection over a fresh stream.
    pub(super) fn begin(stream: Stream) -> Box<Exchange> {
        let home = Handle::current().id();
        let (buffer, request) = (BytesMut::new(), Vec::new());
        Box::new(Exchange { home, stream, buffer, request, body: Body::Done, stays: true })
    }

    /// The runtime it belongs to.
    pub(super) fn home(&self) -> Id {
        self.home
    }

    /// Sends a request, whose head `write` writes, and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>),
        body: &[u8],
    ) -> Result<Head, Unanswered> {
        self.request.clear();
        write(&mut self.request);
        let apart = if body.len() <= SMALL_BODY {
            self.request.extend_from_slice(body);
            &[]
        } else {
            body
        };
        let mut written = 0;
        for (place, part) in [&*self.request, apart].into_iter().enumerate() {
            match write_all(&mut self.stream, part, &mut self.buffer, &mut written).await {
                Ok(true) => {}
                // It answers before it has heard all, so it will not hear the rest.
                Ok(false) => {
                    self.stays = false;
                    break;
                }
                Err(error) if place == 0 && written == 0 => {
                    return Err(Unanswered::NotSent(error.to_string()));
                }
                Err(error) => return Err(broke(&error)),
            }
        }
        self.stream.flush().await.map_err(|error| broke(&error))?;
        if self.request.capacity() > KEPT_ROOM {
            self.request = Vec::new();
        }
        self.head().await
    }

    /// Whether it is still open and free. One look at the socket, no waiting.
    pub(super) async fn is_usable(&mut self) -> bool {
        poll_fn(|context| Poll::Ready(self.look(context))).await
    }

    async fn head(&mut self) -> Result<Head, Unanswered> {
        loop {
            // Most answers have not come when they are first asked for.
            let taken = if self.buffer.is_empty() { Ok(None) } else { Head::take(&mut self.buffer) };
            match taken {
                Ok(Some(mut head)) => {
                    self.body = std::mem::replace(&mut head.body, Body::Done);
                    self.stays &= head.stays;
                    return Ok(head);
                }
                Ok(None) => {}
                Err(error) => return Err(Unanswered::Broken(error.to_string())),
            }
            match self.read().await {
                Ok(0) => {
                    return Err(Unanswered::Broken("the connection was closed before the answer".to_owned()));
                }
                Ok(_) => {}
                Err(error) => return Err(broke(&error)),
            }
        }
    }

    /// The next piece of the body; nothing at its end.
    async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        let broken = |what: String| HttpError::Broken(what);
        loop {
            let piece = self.body.take(&mut self.buffer).map_err(|error| broken(error.to_string()))?;
            if piece.is_some() || self.body.is_done() {
                return Ok(piece);
            }
            match self.read().await {
                Ok(0) if self.body.may_end_here() => return Ok(None),
                Ok(0) => return Err(broken("the connection was closed within the answer".to_owned())),
                Ok(_) => {}
                Err(error) => return Err(broken(format!("the connection broke: {error}"))),
            }
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        if self.buffer.capacity() - self.buffer.len() < LITTLE_ROOM {
            let announced = usize::try_from(self.body.announced()).unwrap_or(usize::MAX);
            self.buffer.reserve(announced.clamp(ROOM, 64 * ROOM));
        }
        self.stream.read_buf(&mut self.buffer).await
    }

    fn look(&mut self, context: &mut Context<'_>) -> bool {
        loop {
            while let Ok(Some(_unread)) = self.body.take(&mut self.buffer) {}
            let is_done = self.body.is_done();
            if is_done && !self.buffer.is_empty() {
                return false;
            }
            let read = pin!(self.read()).poll(context);
            match read {
                // Nothing to read and nothing to wait for: just what an idle connection looks like.
                Poll::Pending => return is_done,
                Poll::Ready(Ok(1..)) if !is_done => {}
                Poll::Ready(_) => return false,
            }
        }
    }
}

/// An answer whose head has come. Dropping it closes the connection, which a modern server takes as cancellation.
pub(crate) struct Reply<'pool> {
    pool: &'pool Pool,
    exchange: Box<Exchange>,
    pub(crate) head: Head,
}

impl<'pool> Reply<'pool> {
    pub(super) fn new(pool: &'pool Pool, exchange: Box<Exchange>, head: Head) -> Reply<'pool> {
        Reply { pool, exchange, head }
    }

    /// The next piece of the body; nothing at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        self.exchange.chunk().await
    }

    /// The whole body, at most `limit` bytes. The connection is free again afterwards.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Bytes, HttpError> {
        if self.exchange.body.announced() > limit as u64 {
            return Err(HttpError::TooLong(limit));
        }
        let first = self.chunk().await?.unwrap_or_default();
        if first.len() > limit {
            return Err(HttpError::TooLong(limit));
        }
        if self.exchange.body.is_done() {
            self.give_back();
            return Ok(first);
        }
        let mut all = BytesMut::with_capacity(first.len() + self.exchange.body.announced() as usize);
        all.extend_from_slice(&first);
        while let Some(chunk) = self.chunk().await? {
            if all.len() + chunk.len() > limit {
                return Err(HttpError::TooLong(limit));
            }
            all.extend_from_slice(&chunk);
        }
        self.give_back();
        Ok(all.freeze())
    }

    /// At most `limit` bytes of the body as text, for an error message.
    pub(crate) async fn excerpt(mut self, limit: usize) -> String {
        let mut text = Vec::new();
        while text.len() < limit {
            match self.chunk().await {
                Ok(Some(chunk)) => text.extend_from_slice(&chunk),
                _ => break,
            }
        }
        text.truncate(limit);
        String::from_utf8_lossy(&text).trim().to_owned()
    }

    /// Puts the connection back, to be used again if the body ends without more being said.
    pub(crate) fn give_back(self) {
        if self.exchange.stays {
            self.pool.put(self.exchange);
        }
    }
}

/// Writes all of it, unless an answer comes while it waits to write: then it says no.
async fn write_all(
    stream: &mut Stream,
    bytes: &[u8],
    answer: &mut BytesMut,
    written: &mut usize,
) -> io::Result<bool> {
    let mut rest = bytes;
    poll_fn(|context| {
        while !rest.is_empty() {
            match Pin::new(&mut *stream).poll_write(context, rest) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(length)) => {
                    *written += length;
                    rest = rest.get(length..).unwrap_or_default();
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return answers(stream, answer, context),
            }
        }
        Poll::Ready(Ok(true))
    })
    .await
}

fn answers(stream: &mut Stream, answer: &mut BytesMut, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
    let mut space = [0; LITTLE_ROOM];
    let mut space = ReadBuf::new(&mut space);
    match Pin::new(stream).poll_read(context, &mut space) {
        Poll::Pending => Poll::Pending,
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        Poll::Ready(Ok(())) => {
            answer.extend_from_slice(space.filled());
            Poll::Ready(Ok(false))
        }
    }
}

fn broke(error: &io::Error) -> Unanswered {
    Unanswered::Broken(format!("the connection broke: {error}"))
}
