//! Changing a message without decoding it.

use crate::span::Span;

/// A list of changes to bytes, made in one copy at the end. Changes are given in the order of their places.
#[derive(Debug)]
pub struct Splice<'a> {
    bytes: &'a [u8],
    out: Vec<u8>,
    copied: usize,
}

impl<'a> Splice<'a> {
    /// Begins a change of `bytes`; `extra` is how many bytes it may grow, to allocate once.
    pub fn new(bytes: &'a [u8], extra: usize) -> Splice<'a> {
        Splice { bytes, out: Vec::with_capacity(bytes.len() + extra), copied: 0 }
    }

    /// Puts `new` where `place` was. A place before an earlier change, or outside of the bytes, is left alone: changes
    /// come in order.
    pub fn replace(&mut self, place: Span, new: &[u8]) -> &mut Self {
        if self.can_change(place) {
            self.out.extend_from_slice(Span::new(self.copied, place.start()).of(self.bytes));
            self.out.extend_from_slice(new);
            self.copied = place.end();
        }
        self
    }

    /// Puts `new` before the byte at `place`.
    pub fn insert(&mut self, place: usize, new: &[u8]) -> &mut Self {
        self.replace(Span::new(place, place), new)
    }

    /// Puts members (`"key":value,"key":value`, no outer comma) first into the object at `object`.
    pub fn insert_members(&mut self, object: Span, members: &[u8]) -> &mut Self {
        let inside = object.inside();
        let empty = inside.of(self.bytes).iter().all(u8::is_ascii_whitespace);
        if self.can_change(inside) {
            self.insert(inside.start(), members);
            self.out.extend_from_slice(if empty { b"" } else { b"," });
        }
        self
    }

    /// Cuts out the member at `member` (key to value) of an object, with the comma that belongs to it.
    pub fn remove_member(&mut self, member: Span) -> &mut Self {
        if !self.can_change(member) {
            return self;
        }
        let rest = self.bytes.get(member.end()..).unwrap_or_default();
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        if rest.get(blank) == Some(&b',') {
            return self.replace(Span::new(member.start(), member.end() + blank + 1), b"");
        }
        // It was the last one: the comma before it goes instead, whether it has been copied already or not.
        self.out.extend_from_slice(Span::new(self.copied, member.start()).of(self.bytes));
        self.copied = member.end();
        while self.out.last().is_some_and(u8::is_ascii_whitespace) {
            self.out.pop();
        }
        if self.out.last() == Some(&b',') {
            self.out.pop();
        }
        self
    }

    /// The changed bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.extend_from_slice(self.bytes.get(self.copied..).unwrap_or_default());
        self.out
    }

    fn can_change(&self, place: Span) -> bool {
        place.start() >= self.copied && place.end() <= self.bytes.len()
    }
}

#[cfg(test)]
mod tests;
