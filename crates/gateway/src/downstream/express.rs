//! The usual request, read and answered by hand: `POST /mcp` of a client that is no page, with its length told and its
//! body short. Nearly all requests of nearly all clients are such.
//!
//! Hyper is ready for all that HTTP allows, and that readiness costs a quarter of our own time on a call: a table of
//! headers, a channel for the body, a second look at everything when the body has come. Here a request is taken only if
//! it is plainly usual (`head.rs` says what that is). At the first one that is not, the connection goes over to hyper
//! with what was read of it, and stays there; so what is hard about HTTP is judged by the well-tried server alone.

mod head;
mod reply;

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{FutureExt, Stream, StreamExt};
use http::Response;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};
use tokio_util::sync::{CancellationToken, WaitForCancellationFuture};

use crate::downstream::body::Body;
use crate::downstream::connection::{HEAD_PATIENCE, LOOK};
use crate::downstream::express::head::{Found, Head, Usual};
use crate::downstream::handed_over::HandedOver;
use crate::downstream::headers::Headers;
use crate::downstream::http::admit;
use crate::downstream::streamable;
use crate::gateway::Gateway;

/// Room that is made for what comes, and how little of it is left before more is made.
const ROOM: usize = 8 * 1024;
const LITTLE_ROOM: usize = 1024;
/// How much of the next requests is read while one is being answered.
const MOST_AHEAD: usize = 64 * 1024;
/// For how many looks a request may be incomplete before hyper, which has clocks for that, takes over.
const DAWDLING: u32 = 2;
/// For how many looks a connection may be idle.
const IDLE: u32 = (HEAD_PATIENCE.as_secs() / LOOK.as_secs()) as u32;

/// Serves the usual requests of a connection. What comes back is the connection for hyper to go on with, unless it ended.
pub(super) async fn serve<S>(gateway: &Arc<Gateway>, stream: S, peer: IpAddr) -> Option<HandedOver<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut line = Line { stream, buffer: BytesMut::new(), out: Vec::new() };
    let mut clocks = Clocks::new(&gateway.stopping);
    loop {
        match line.next(&mut clocks, gateway.settings.max_body_bytes).await {
            Next::Request(usual) => {
                // Boxed, because it is large and most connections are idle most of the time.
                let response = line.while_there(Box::pin(answer(gateway, &usual, peer))).await?;
                let is_last = gateway.stopping.is_cancelled();
                line.say(response, is_last).await.ok()?;
                if is_last {
                    break;
                }
            }
            Next::Unusual => return Some(HandedOver::new(line.buffer.freeze(), line.stream)),
            Next::Nothing => break,
        }
    }
    // Whether the client hears that there will be no more makes no difference to us.
    let _ = line.stream.shutdown().await;
    None
}

async fn answer(gateway: &Arc<Gateway>, usual: &Usual, peer: IpAddr) -> Response<Body> {
    let lines = usual.lines();
    let headers = Headers::Lines(&lines);
    match admit(gateway, headers, peer) {
        Ok(principal) => streamable::post_whole(gateway, headers, usual.body.clone(), &principal).await,
        Err(refusal) => refusal.response(),
    }
}

/// A connection, with what was read and not yet taken, and room for what is written.
struct Line<S> {
    stream: S,
    buffer: BytesMut,
    out: Vec<u8>,
}

/// What a connection has next.
#[expect(clippy::large_enum_variant, reason = "made once for a request and taken apart at once")]
enum Next {
    Request(Usual),
    /// Something for hyper.
    Unusual,
    /// It has ended, or has been idle too long, or the gateway stops.
    Nothing,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Line<S> {
    async fn next(&mut self, clocks: &mut Clocks<'_>, most_body: usize) -> Next {
        let mut head: Option<Head> = None;
        let mut quiet = 0;
        loop {
            if head.is_none() && !self.buffer.is_empty() {
                match Found::at_the_start_of(&self.buffer, most_body) {
                    Found::Part => {}
                    Found::Usual(found) => head = Some(found),
                    Found::Unusual => return Next::Unusual,
                }
            }
            if let Some(whole) = head.take_if(|head| head.whole() <= self.buffer.len()) {
                return Next::Request(whole.take(&mut self.buffer));
            }
            let missing = head.as_ref().map_or(0, |head| head.whole() - self.buffer.len());
            let heard = poll_fn(|context| match self.poll_read(context, missing) {
                Poll::Ready(read) => Poll::Ready(Heard::Read(read)),
                Poll::Pending => clocks.poll(context),
            });
            match heard.await {
                Heard::Read(Ok(0) | Err(_)) => return Next::Nothing,
                Heard::Read(Ok(_)) => quiet = 0,
                // What has begun to come is answered first.
                Heard::Stop if self.buffer.is_empty() => return Next::Nothing,
                Heard::Stop => return Next::Unusual,
                Heard::Look => quiet += 1,
            }
            match self.buffer.is_empty() {
                true if quiet > IDLE => return Next::Nothing,
                false if quiet > DAWDLING => return Next::Unusual,
                _ => {}
            }
        }
    }

    /// The outcome of a future, unless the client leaves before.
    async fn while_there<F: Future + Unpin>(&mut self, mut future: F) -> Option<F::Output> {
        poll_fn(|context| match future.poll_unpin(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => self.poll_left(context).map(|()| None),
        })
        .await
    }

    /// Ready when the client has left. What it says meanwhile is kept.
    fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<()> {
        while self.buffer.len() < MOST_AHEAD {
            match self.poll_read(context, 0) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(()),
                Poll::Ready(Ok(_)) => {}
            }
        }
        Poll::Pending
    }

    fn poll_read(&mut self, context: &mut Context<'_>, missing: usize) -> Poll<io::Result<usize>> {
        if self.buffer.capacity() - self.buffer.len() < missing.max(LITTLE_ROOM) {
            self.buffer.reserve(missing.max(ROOM));
        }
        pin!(self.stream.read_buf(&mut self.buffer)).poll(context)
    }

    async fn say(&mut self, response: Response<Body>, is_last: bool) -> io::Result<()> {
        self.out.clear();
        reply::write_head(&mut self.out, &response, is_last);
        match response.into_body() {
            Body::Whole(bytes) if bytes.len() <= reply::SMALL => {
                self.out.extend_from_slice(&bytes);
                self.stream.write_all(&self.out).await?;
            }
            Body::Whole(bytes) => {
                // It may be long, and need not be copied to be written together.
                let head = Bytes::from(std::mem::take(&mut self.out));
                self.stream.write_all_buf(&mut head.chain(bytes)).await?;
            }
            Body::Stream(pieces) => self.say_pieces(pieces).await?,
        }
        self.stream.flush().await
    }

    async fn say_pieces(&mut self, mut pieces: Pin<Box<dyn Stream<Item = Bytes> + Send>>) -> io::Result<()> {
        loop {
            // With what is there already, so that a flood is not written drop by drop.
            while self.out.len() < reply::SMALL
                && let Some(piece) = pieces.next().now_or_never()
            {
                match piece {
                    Some(piece) => reply::write_chunk(&mut self.out, &piece),
                    None => {
                        self.out.extend_from_slice(reply::LAST_CHUNK);
                        return self.stream.write_all(&self.out).await;
                    }
                }
            }
            self.stream.write_all(&self.out).await?;
            self.stream.flush().await?;
            self.out.clear();
            let piece = self.while_there(pieces.next()).await.ok_or(io::ErrorKind::ConnectionReset)?;
            match piece {
                Some(piece) => reply::write_chunk(&mut self.out, &piece),
                None => return self.stream.write_all(reply::LAST_CHUNK).await,
            }
        }
    }
}

/// What may happen while a request is waited for.
enum Heard {
    Read(io::Result<usize>),
    Stop,
    /// Time to look at how long nothing has come.
    Look,
}

/// What ends the patience with a client.
struct Clocks<'a> {
    stopping: Pin<Box<WaitForCancellationFuture<'a>>>,
    look: Interval,
}

impl<'a> Clocks<'a> {
    fn new(stopping: &'a CancellationToken) -> Clocks<'a> {
        let mut look = interval_at(Instant::now() + LOOK, LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Clocks { stopping: Box::pin(stopping.cancelled()), look }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Heard> {
        if self.stopping.as_mut().poll(context).is_ready() {
            return Poll::Ready(Heard::Stop);
        }
        self.look.poll_tick(context).map(|_| Heard::Look)
    }
}
