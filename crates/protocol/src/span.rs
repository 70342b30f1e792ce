//! A place in a message.

/// Where a part of a message stands: a range of bytes. Messages are bounded far below 4 GiB, so two `u32` do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The range from `start` up to, not including, `end`. Places beyond 4 GiB are clamped: no message is that long.
    pub fn new(start: usize, end: usize) -> Span {
        let clamp = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
        Span { start: clamp(start), end: clamp(end).max(clamp(start)) }
    }

    /// The first byte.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The byte behind the last one.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// How many bytes it covers.
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Whether it covers nothing.
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// The bytes at this place; nothing where the place lies outside of `bytes`.
    pub fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start()..self.end()).unwrap_or_default()
    }

    /// The inside of a string or object: without its first and last byte.
    pub fn inside(self) -> Span {
        if self.len() < 2 { self } else { Span { start: self.start + 1, end: self.end - 1 } }
    }

    /// The same place seen from bytes that begin at `origin`.
    pub fn within(self, origin: Span) -> Span {
        Span { start: self.start.saturating_sub(origin.start), end: self.end.saturating_sub(origin.start) }
    }

    /// The place in the whole of a place within a part that begins at `origin`.
    pub fn shifted(self, origin: usize) -> Span {
        Span::new(self.start() + origin, self.end() + origin)
    }
}
