//! What is sent to a client over HTTP, and what is read from it.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::Stream;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::downstream::connection::CoarseSleep;

/// How long a client may take to send its whole request.
const PATIENCE: Duration = Duration::from_secs(30);

/// The body of a response: all of it, or piece by piece.
pub enum Body {
    Whole(Bytes),
    Stream(Pin<Box<dyn Stream<Item = Bytes> + Send>>),
}

impl std::fmt::Debug for Body {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Body::Whole(bytes) => write!(formatter, "Whole({} bytes)", bytes.len()),
            Body::Stream(_) => formatter.write_str("Stream"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Body::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Body::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Body::Stream(stream) => {
                stream.as_mut().poll_next(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Body::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Body::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Body::Stream(_) => SizeHint::default(),
        }
    }
}

/// Why a request's body could not be read.
#[derive(Debug, thiserror::Error)]
pub enum BodyError {
    #[error("the body is larger than {0} bytes")]
    TooLarge(usize),
    #[error("the body did not arrive within {} s", PATIENCE.as_secs())]
    TooSlow,
    #[error("the body broke off: {0}")]
    BrokeOff(#[from] hyper::Error),
}

/// Reads a whole body of at most `limit` bytes. What arrives in one piece is not copied.
pub async fn read(body: &mut Incoming, limit: usize) -> Result<Bytes, BodyError> {
    tokio::select! {
        biased;
        read = read_all(body, limit) => read,
        () = CoarseSleep::new(PATIENCE) => Err(BodyError::TooSlow),
    }
}

async fn read_all(body: &mut Incoming, limit: usize) -> Result<Bytes, BodyError> {
    let announced = http_body::Body::size_hint(body).lower();
    let mut too_large = announced > limit as u64;
    let mut first: Option<Bytes> = None;
    let mut all = BytesMut::new();
    // A refused body is still read to its end, up to a bound: a client that is cut off while it sends may never see
    // why. What is read is thrown away.
    let mut thrown = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        if too_large || first.as_ref().map_or(all.len(), Bytes::len) + data.len() > limit {
            too_large = true;
            first = None;
            all = BytesMut::new();
            thrown += data.len();
            if thrown > 4 * limit.max(64 * 1024 * 1024) {
                break;
            }
            continue;
        }
        match first.take() {
            None if all.is_empty() => first = Some(data),
            Some(before) => {
                let room =
                    usize::try_from(announced).unwrap_or(limit).min(limit).max(before.len() + data.len());
                all.reserve(room);
                all.extend_from_slice(&before);
                all.extend_from_slice(&data);
            }
            None => all.extend_from_slice(&data),
        }
    }
    if too_large {
        return Err(BodyError::TooLarge(limit));
    }
    Ok(first.unwrap_or_else(|| all.freeze()))
}
