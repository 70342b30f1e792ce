//! One connection, driven by whoever uses it, and the answer that comes over it.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1::{Connection, SendRequest, handshake};
use hyper_util::rt::TokioIo;

use crate::http::HttpError;
use crate::http::pool::Pool;
use crate::http::tls::Stream;

type Driver = Connection<TokioIo<Stream>, Full<Bytes>>;

/// One connection to a server.
pub(super) struct Exchange {
    sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes. Gone once the connection has ended.
    driver: Option<Driver>,
    /// The end of an answer that nobody needed to read: only if it ends now is the connection usable again.
    leftover: Option<Incoming>,
}

/// Why a request has no answer.
pub(super) enum Unanswered {
    /// The connection was closed before a byte was written: the request, to be sent on another one.
    NotSent(Box<Request<Full<Bytes>>>),
    Broken(String),
}

impl Exchange {
    /// A connection over a fresh stream.
    pub(super) async fn begin(stream: Stream) -> Result<Box<Exchange>, String> {
        let (sender, driver) = handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
        Ok(Box::new(Exchange { sender, driver: Some(driver), leftover: None }))
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        let mut answer = pin!(self.sender.try_send_request(request));
        let driver = &mut self.driver;
        poll_fn(|context| {
            drive(driver, context);
            answer.as_mut().poll(context)
        })
        .await
        .map_err(|mut error| match error.take_message() {
            Some(request) => Unanswered::NotSent(Box::new(request)),
            None => Unanswered::Broken(in_words(error.error())),
        })
    }

    /// Whether it is still open and free. One look at the socket, no waiting.
    pub(super) async fn is_usable(&mut self) -> bool {
        poll_fn(|context| Poll::Ready(self.look(context))).await
    }

    fn look(&mut self, context: &mut Context<'_>) -> bool {
        if let Some(body) = &mut self.leftover {
            match poll_chunk(&mut self.driver, body, context) {
                Poll::Ready(None) => self.leftover = None,
                _ => return false,
            }
        }
        drive(&mut self.driver, context);
        self.driver.is_some() && matches!(self.sender.poll_ready(context), Poll::Ready(Ok(())))
    }
}

/// An answer whose head has come. Dropping it closes the connection, which a modern server takes as cancellation.
pub(crate) struct Reply<'pool> {
    pool: &'pool Pool,
    exchange: Box<Exchange>,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
}

impl<'pool> Reply<'pool> {
    pub(super) fn new(
        pool: &'pool Pool,
        exchange: Box<Exchange>,
        response: Response<Incoming>,
    ) -> Reply<'pool> {
        let (head, body) = response.into_parts();
        Reply { pool, exchange, status: head.status, headers: head.headers, body }
    }

    /// The next piece of the body; nothing at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        let Reply { exchange, body, .. } = self;
        match poll_fn(|context| poll_chunk(&mut exchange.driver, body, context)).await {
            None => Ok(None),
            Some(Ok(bytes)) => Ok(Some(bytes)),
            Some(Err(error)) => Err(HttpError::Broken(in_words(&error))),
        }
    }

    /// The whole body, at most `limit` bytes. The connection is free again afterwards.
    pub(crate) async fn whole(mut self, limit: usize) -> Result<Bytes, HttpError> {
        if self.body.size_hint().lower() > limit as u64 {
            return Err(HttpError::TooLong(limit));
        }
        let first = self.chunk().await?.unwrap_or_default();
        if first.len() > limit {
            return Err(HttpError::TooLong(limit));
        }
        if self.body.is_end_stream() {
            self.give_back();
            return Ok(first);
        }
        let mut all = BytesMut::from(first.as_ref());
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
        let Reply { pool, mut exchange, body, .. } = self;
        exchange.leftover = if body.is_end_stream() { None } else { Some(body) };
        pool.put(exchange);
    }

    /// Whether the body is a stream of events.
    pub(crate) fn is_event_stream(&self) -> bool {
        self.headers
            .get(http::header::CONTENT_TYPE)
            .is_some_and(|value| value.as_bytes().to_ascii_lowercase().starts_with(b"text/event-stream"))
    }
}

/// The body is asked first, so that the driver knows that more is wanted; what the driver then reads is taken at once.
fn poll_chunk(
    driver: &mut Option<Driver>,
    body: &mut Incoming,
    context: &mut Context<'_>,
) -> Poll<Option<Result<Bytes, hyper::Error>>> {
    let mut driven = false;
    loop {
        match Pin::new(&mut *body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) => return Poll::Ready(Some(Ok(data))),
                Err(_trailers) => {}
            },
            Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(error))),
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Pending if driven => return Poll::Pending,
            Poll::Pending => {
                drive(driver, context);
                driven = true;
            }
        }
    }
}

/// Lets the connection read and write. One that has ended is dropped, which tells those who wait on it.
fn drive(driver: &mut Option<Driver>, context: &mut Context<'_>) {
    if let Some(running) = driver
        && running.poll_unpin(context).is_ready()
    {
        *driver = None;
    }
}

/// What went wrong, with its cause: hyper's own words hide it.
fn in_words(error: &hyper::Error) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
