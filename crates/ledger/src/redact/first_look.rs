//! A look at a body's keys that lets most bodies pass without reading them to the letter.
//!
//! It knows no grammar: in what is JSON, a string is a key if a colon follows it, and that is all it goes by. Whatever is
//! not plain, such as a key with escapes, is left to the scan.

use super::rules::CompiledRules;

/// As many bytes as are compared at once.
const PIECE: usize = 8;

/// Whether nothing in a body, which is JSON, has to be taken out.
pub(super) fn finds_nothing(json: &[u8], rules: &CompiledRules) -> bool {
    let mut look = Look { json, rules, start: None, has_escapes: false, escaped_until: 0 };
    let (pieces, rest) = json.as_chunks();
    let mut last = [0; PIECE];
    last.iter_mut().zip(rest).for_each(|(last, byte)| *last = *byte);
    let passes = rules.paths.is_empty()
        && pieces.iter().chain([&last]).enumerate().all(|(number, piece)| look.passes(number * PIECE, piece));
    passes && look.start.is_none()
}

struct Look<'a> {
    json: &'a [u8],
    rules: &'a CompiledRules,
    /// Where the current string began, inside of its quotation marks.
    start: Option<usize>,
    has_escapes: bool,
    /// Up to here nothing counts that an escape has made harmless.
    escaped_until: usize,
}

impl Look<'_> {
    /// Whether nothing was found up to the end of a piece that begins at `offset`.
    #[inline]
    fn passes(&mut self, offset: usize, piece: &[u8; PIECE]) -> bool {
        let mut marks = marks_of_quotation_marks_and_backslashes(piece);
        while marks != 0 {
            let at = offset + marks.trailing_zeros() as usize / 8;
            marks &= marks - 1;
            if at >= self.escaped_until && !self.mark(at) {
                return false;
            }
        }
        true
    }

    /// Whether nothing was found up to a quotation mark or backslash.
    #[inline]
    fn mark(&mut self, at: usize) -> bool {
        let is_backslash = self.json.get(at) == Some(&b'\\');
        match self.start {
            Some(_) if is_backslash => {
                self.has_escapes = true;
                self.escaped_until = at + 2;
                true
            }
            Some(start) => {
                self.start = None;
                self.string(start, at)
            }
            None => {
                self.start = Some(at + 1);
                self.has_escapes = false;
                !is_backslash
            }
        }
    }

    /// Whether nothing was found in a whole string.
    #[inline]
    fn string(&self, start: usize, end: usize) -> bool {
        let text = self.json.get(start..end).unwrap_or_default();
        let mut behind = self.json.iter().skip(end + 1).skip_while(|byte| byte.is_ascii_whitespace());
        if behind.next() == Some(&b':') {
            return !self.has_escapes && !self.rules.matches_key(text);
        }
        !(self.has_escapes && matches!(text, [b'{' | b'[', ..]))
    }
}

/// Sets a bit of each such byte. Written so that the compiler makes a few vector instructions of it: no step depends on
/// another.
#[inline]
fn marks_of_quotation_marks_and_backslashes(piece: &[u8; PIECE]) -> u64 {
    u64::from_le_bytes(piece.map(|byte| u8::from((byte == b'"') | (byte == b'\\'))))
}
