//! What is left of an answer's body, and how it is taken out of what has been read.

use bytes::{Buf, Bytes, BytesMut};
use httparse::Status;

/// How long the line of a chunk's size, or all trailers, may be.
const MOST_BETWEEN: usize = 8 * 1024;

/// The part of a body that has not been taken yet.
#[derive(Debug)]
pub(super) enum Body {
    Done,
    /// This many bytes.
    Length(u64),
    Chunked(Chunked),
    /// All that comes.
    UntilClose,
}

/// Where in the chunks the next byte is.
#[derive(Debug)]
pub(super) enum Chunked {
    Size,
    Data(u64),
    /// The line's end after a chunk's data.
    AfterData,
    Trailers,
}

/// The body breaks the rules of its form.
#[derive(Debug, thiserror::Error)]
#[error("the body of the answer is not chunked as it says")]
pub(super) struct Malformed;

impl Body {
    /// A body in chunks.
    pub(super) fn chunked() -> Body {
        Body::Chunked(Chunked::Size)
    }

    /// Whether all of it has been taken.
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Body::Done)
    }

    /// How many bytes are still to come, as far as that is known.
    pub(super) fn announced(&self) -> u64 {
        match self {
            Body::Length(length) => *length,
            _ => 0,
        }
    }

    /// The next piece that is there; nothing if more must be read first, or if it is done.
    pub(super) fn take(&mut self, buffer: &mut BytesMut) -> Result<Option<Bytes>, Malformed> {
        loop {
            match self {
                Body::Done => return Ok(None),
                Body::UntilClose if buffer.is_empty() => return Ok(None),
                Body::UntilClose => return Ok(Some(buffer.split().freeze())),
                Body::Length(left) => {
                    let piece = piece(buffer, left);
                    if *left == 0 {
                        *self = Body::Done;
                    }
                    return Ok(piece);
                }
                Body::Chunked(Chunked::Data(left)) => {
                    let piece = piece(buffer, left);
                    if *left == 0 {
                        *self = Body::Chunked(Chunked::AfterData);
                    }
                    return Ok(piece);
                }
                Body::Chunked(between) => match between.step(buffer)? {
                    Some(next) => *self = next,
                    None if buffer.len() > MOST_BETWEEN => return Err(Malformed),
                    None => return Ok(None),
                },
            }
        }
    }

    /// The connection was closed. Whether the body may end like that.
    pub(super) fn may_end_here(&mut self) -> bool {
        if matches!(self, Body::UntilClose) {
            *self = Body::Done;
        }
        self.is_done()
    }
}

impl Chunked {
    /// What follows what stands between two chunks; nothing if it is not there whole.
    fn step(&self, buffer: &mut BytesMut) -> Result<Option<Body>, Malformed> {
        match self {
            Chunked::Size => match httparse::parse_chunk_size(buffer) {
                Ok(Status::Complete((length, size))) => {
                    buffer.advance(length);
                    let next = if size == 0 { Chunked::Trailers } else { Chunked::Data(size) };
                    Ok(Some(Body::Chunked(next)))
                }
                Ok(Status::Partial) => Ok(None),
                Err(_) => Err(Malformed),
            },
            Chunked::AfterData if buffer.len() < 2 => Ok(None),
            Chunked::AfterData if buffer.starts_with(b"\r\n") => {
                buffer.advance(2);
                Ok(Some(Body::chunked()))
            }
            Chunked::AfterData => Err(Malformed),
            Chunked::Trailers => {
                let Some(end) = memchr::memchr(b'\n', buffer) else { return Ok(None) };
                let is_last = matches!(buffer.get(..=end), Some(b"\r\n" | b"\n"));
                buffer.advance(end + 1);
                Ok(Some(if is_last { Body::Done } else { Body::Chunked(Chunked::Trailers) }))
            }
            Chunked::Data(_) => Err(Malformed),
        }
    }
}

/// As much as is there and belongs to it.
fn piece(buffer: &mut BytesMut, left: &mut u64) -> Option<Bytes> {
    let length = usize::try_from(*left).unwrap_or(usize::MAX).min(buffer.len());
    if length == 0 {
        return None;
    }
    *left -= length as u64;
    Some(buffer.split_to(length).freeze())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Feeds the pieces one after the other and gathers what comes out.
    fn gather<'a>(
        mut body: Body,
        pieces: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<(Vec<u8>, bool), Malformed> {
        let (mut buffer, mut all) = (BytesMut::new(), Vec::new());
        for piece in pieces {
            buffer.extend_from_slice(piece);
            while let Some(data) = body.take(&mut buffer)? {
                all.extend_from_slice(&data);
            }
        }
        Ok((all, body.is_done()))
    }

    proptest! {
        #[test]
        fn chunks_give_the_same_however_they_are_cut(
            chunks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..40), 0..8),
            cut in 1_usize..20,
        ) {
            let mut wire = Vec::new();
            for chunk in &chunks {
                wire.extend_from_slice(format!("{:x};extension=1\r\n", chunk.len()).as_bytes());
                wire.extend_from_slice(chunk);
                wire.extend_from_slice(b"\r\n");
            }
            wire.extend_from_slice(b"0\r\nTrailer: x\r\n\r\n");
            let (all, done) = gather(Body::chunked(), wire.chunks(cut)).unwrap();
            prop_assert_eq!(all, chunks.concat());
            prop_assert!(done);
        }

        #[test]
        fn no_bytes_make_it_panic(wire in proptest::collection::vec(any::<u8>(), 0..200), cut in 1_usize..20) {
            let _ = gather(Body::chunked(), wire.chunks(cut));
        }
    }

    #[test]
    fn a_body_ends_where_it_says() {
        assert_eq!(gather(Body::Length(3), [&b"ab"[..], b"cd"]).unwrap(), (b"abc".to_vec(), true));
        assert_eq!(gather(Body::Length(5), [&b"abc"[..]]).unwrap(), (b"abc".to_vec(), false));
        assert!(gather(Body::chunked(), [&b"3\r\nabcX"[..], b"Y"]).is_err());
        assert!(gather(Body::chunked(), [&b"zz\r\n"[..]]).is_err());
        assert!(gather(Body::chunked(), [&b"0\r\n"[..], &[b'x'; MOST_BETWEEN + 1]]).is_err());
        assert!(Body::UntilClose.may_end_here() && Body::Done.may_end_here());
        assert!(!Body::Length(1).may_end_here() && !Body::chunked().may_end_here());
    }
}
