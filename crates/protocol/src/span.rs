//! A place in a message.

use std::num::NonZero;

/// Where a part of a message stands: a range of bytes. Messages are bounded far below 4 GiB, so two `u32` do, and the
/// place that no range ends at lets an optional one do with no more.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Span {
    start: u32,
    /// One more than the end, which is never zero.
    after_end: NonZero<u32>,
}

impl std::fmt::Debug for Span {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}..{}", self.start(), self.end())
    }
}

impl Span {
    /// The range from `start` up to, not including, `end`. Places beyond 4 GiB are clamped: no message is that long.
    #[inline]
    pub fn new(start: usize, end: usize) -> Span {
        let clamp = |place: usize| u32::try_from(place).unwrap_or(u32::MAX).min(u32::MAX - 1);
        let start = clamp(start);
        Span { start, after_end: NonZero::<u32>::MIN.saturating_add(clamp(end).max(start)) }
    }

    /// The first byte.
    #[inline]
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The byte behind the last one.
    #[inline]
    pub fn end(self) -> usize {
        self.after_end.get() as usize - 1
    }

    /// How many bytes it covers.
    #[inline]
    pub fn len(self) -> usize {
        self.end() - self.start()
    }

    /// Whether it covers nothing.
    pub fn is_empty(self) -> bool {
        self.start() == self.end()
    }

    /// The bytes at this place; nothing where the place lies outside of `bytes`.
    #[inline]
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start()..self.end()).unwrap_or_default()
    }

    /// The inside of a string or object: without its first and last byte.
    #[inline]
    pub fn inside(self) -> Span {
        if self.len() < 2 { self } else { Span::new(self.start() + 1, self.end() - 1) }
    }

    /// The same place seen from bytes that begin at `origin`.
    pub fn within(self, origin: Span) -> Span {
        let origin = origin.start();
        Span::new(self.start().saturating_sub(origin), self.end().saturating_sub(origin))
    }

    /// The place in the whole of a place within a part that begins at `origin`.
    pub fn shifted(self, origin: usize) -> Span {
        Span::new(self.start() + origin, self.end() + origin)
    }
}
