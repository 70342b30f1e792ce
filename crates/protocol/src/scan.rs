//! The one pass over JSON text: checks the grammar, finds where values end, builds nothing.
//!
//! The grammar is RFC 8259 to the letter, since what is accepted here is passed on to readers that may be strict. One
//! thing is left to them: an escape for half a surrogate pair (`"\ud800"`) is grammar, though no text has it.

mod plain;

pub(crate) use plain::length_of_plain_text;
use plain::length_within_a_word;

use crate::span::Span;

/// How deep objects and arrays may nest. Deeper text is refused, so that no reader behind us can be made to recurse.
pub const MAX_DEPTH: u32 = 128;

/// Why text is not the JSON it should be, and at which byte. Small, because every step of the scanner returns it or
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} at byte {}", .0.what, .0.at)]
pub struct Malformed(Box<Fault>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    what: String,
    at: usize,
}

impl Malformed {
    #[cold]
    pub(crate) fn new(what: impl Into<String>, at: usize) -> Malformed {
        Malformed(Box::new(Fault { what: what.into(), at }))
    }

    /// The byte at which it is wrong, counted from 0.
    pub fn at(&self) -> usize {
        self.0.at
    }
}

/// What kind of value begins with a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Object,
    Array,
    String,
    Number,
    Boolean,
    Null,
}

impl Shape {
    /// The shape of a value, told by its first byte.
    pub fn of(value: &[u8]) -> Option<Shape> {
        match value.first()? {
            b'{' => Some(Shape::Object),
            b'[' => Some(Shape::Array),
            b'"' => Some(Shape::String),
            b'-' | b'0'..=b'9' => Some(Shape::Number),
            b't' | b'f' => Some(Shape::Boolean),
            b'n' => Some(Shape::Null),
            _ => None,
        }
    }
}

/// A place in JSON text that moves over whole values. The text must be UTF-8; see [`Scanner::new`].
#[derive(Debug)]
pub struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Scanner<'a> {
    /// Begins at the first byte. Refuses what is not UTF-8, so that nothing behind needs to check it again.
    pub fn new(bytes: &'a [u8]) -> Result<Scanner<'a>, Malformed> {
        // Most text is plain, which is told in a fraction of the time.
        if !bytes.is_ascii()
            && let Err(error) = std::str::from_utf8(bytes)
        {
            return Err(Malformed::new("invalid UTF-8", error.valid_up_to()));
        }
        Ok(Scanner { bytes, at: 0, depth: 0 })
    }

    /// Where the scanner stands.
    pub fn place(&self) -> usize {
        self.at
    }

    /// The next byte that is no white space, without moving over it.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.bytes.get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    /// Moves over one whole value and tells where it stands.
    pub fn value(&mut self) -> Result<Span, Malformed> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'{') => self.members(|scanner, _, _| scanner.value().map(drop))?,
            Some(b'[') => self.elements(|scanner| scanner.value().map(drop))?,
            Some(b'"') => self.string()?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.word(b"true")?,
            Some(b'f') => self.word(b"false")?,
            Some(b'n') => self.word(b"null")?,
            Some(_) => return Err(self.wrong("expected a value")),
            None => return Err(self.wrong("unexpected end of the text, expected a value")),
        }
        Ok(Span::new(start, self.at))
    }

    /// Moves over an object; `member` gets the place of each key (without quotation marks), whether the key has
    /// escapes, and must move over the value.
    pub fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, Span, bool) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.open(b'{', "expected an object")?;
        if self.peek() == Some(b'}') {
            return self.close();
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected a member name in quotation marks"));
            }
            let start = self.at + 1;
            let escaped = self.string_has_escapes()?;
            let key = Span::new(start, self.at - 1);
            if self.peek() != Some(b':') {
                return Err(self.wrong("expected ':' after a member name"));
            }
            self.at += 1;
            member(self, key, escaped)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => return self.close(),
                _ => return Err(self.wrong("expected ',' or '}' in an object")),
            }
        }
    }

    /// Moves over an array; `element` must move over one value.
    pub fn elements(
        &mut self,
        mut element: impl FnMut(&mut Self) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        self.open(b'[', "expected an array")?;
        if self.peek() == Some(b']') {
            return self.close();
        }
        loop {
            element(self)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => return self.close(),
                _ => return Err(self.wrong("expected ',' or ']' in an array")),
            }
        }
    }

    /// Only white space may follow.
    pub fn end(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.wrong("unexpected text after the value")),
        }
    }

    fn open(&mut self, bracket: u8, otherwise: &str) -> Result<(), Malformed> {
        if self.peek() != Some(bracket) {
            return Err(self.wrong(otherwise));
        }
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(&format!("nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) -> Result<(), Malformed> {
        self.depth -= 1;
        self.at += 1;
        Ok(())
    }

    fn word(&mut self, word: &[u8]) -> Result<(), Malformed> {
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(word)) {
            return Err(self.wrong("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn string(&mut self) -> Result<(), Malformed> {
        self.string_has_escapes().map(drop)
    }

    #[inline]
    fn string_has_escapes(&mut self) -> Result<bool, Malformed> {
        let inside = self.bytes.get(self.at + 1..).unwrap_or_default();
        // Most strings are names that end within a word.
        match length_within_a_word(inside) {
            Some(length) if inside.get(length) == Some(&b'"') => {
                self.at += length + 2;
                Ok(false)
            }
            _ => self.longer_string_has_escapes(),
        }
    }

    #[inline(never)]
    fn longer_string_has_escapes(&mut self) -> Result<bool, Malformed> {
        self.at += 1;
        self.at += length_of_plain_text(self.bytes.get(self.at..).unwrap_or_default());
        if self.bytes.get(self.at) == Some(&b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.escapes().map(|()| true)
    }

    /// The rest of a string, from the first character that is not plain.
    #[inline(never)]
    fn escapes(&mut self) -> Result<(), Malformed> {
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.wrong("control character in a string")),
                None => return Err(self.wrong("unexpected end of the text in a string")),
            }
            self.at += length_of_plain_text(self.bytes.get(self.at..).unwrap_or_default());
        }
    }

    fn escape(&mut self) -> Result<(), Malformed> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 2,
            Some(b'u') => {
                let digits = self.bytes.get(self.at + 2..self.at + 6).unwrap_or_default();
                if digits.len() != 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(self.wrong("expected four hexadecimal digits after \\u"));
                }
                self.at += 6;
            }
            _ => return Err(self.wrong("unknown escape in a string")),
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Malformed> {
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.bytes.get(self.at) {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.wrong("expected a digit")),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(())
    }

    fn some_digits(&mut self) -> Result<(), Malformed> {
        let before = self.at;
        self.digits();
        if self.at == before { Err(self.wrong("expected a digit")) } else { Ok(()) }
    }

    fn digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    #[cold]
    fn wrong(&self, what: &str) -> Malformed {
        Malformed::new(what, self.at)
    }
}

#[cfg(test)]
mod tests;
