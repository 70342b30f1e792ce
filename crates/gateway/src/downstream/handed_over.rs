//! A connection of which something has been read already.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A connection whose next reader gets what was read before, then the rest.
#[derive(Debug)]
pub(super) struct HandedOver<S> {
    before: Bytes,
    stream: S,
}

impl<S> HandedOver<S> {
    /// The connection `stream`, of which `before` has been read.
    pub(super) fn new(before: Bytes, stream: S) -> HandedOver<S> {
        HandedOver { before, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for HandedOver<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.before.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        let length = self.before.len().min(into.remaining());
        into.put_slice(&self.before[..length]);
        self.before.advance(length);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for HandedOver<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    #[tokio::test]
    async fn what_was_read_comes_before_the_rest() {
        let mut line = HandedOver::new(Bytes::from_static(b"read be"), &b"fore"[..]);
        let mut little = [0; 4];
        line.read_exact(&mut little).await.unwrap();
        let mut rest = String::new();
        line.read_to_string(&mut rest).await.unwrap();
        assert_eq!((&little, rest.as_str()), (b"read", " before"));
    }
}
