//! Bytes cut into lines, however they come.

use bytes::{Bytes, BytesMut};

/// How much of a line that is too long is looked at to find out which call it answers.
const LOOKED_AT: usize = 512;

/// How much room there is at least for the next read.
const ROOM: usize = 8 * 1024;

/// A whole line, or what is known of one that was too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Whole(Bytes),
    TooLong { answers: Option<u64> },
}

/// What has been read and is not a whole line yet.
#[derive(Debug)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// The bytes before this have no line end in them.
    searched: usize,
    limit: usize,
    /// The call that the over-long line now being skipped answers.
    skipping: Option<Option<u64>>,
}

impl Lines {
    /// Lines of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Lines {
        Lines { buffer: BytesMut::with_capacity(ROOM), searched: 0, limit, skipping: None }
    }

    /// Where the next bytes go.
    pub(crate) fn room(&mut self) -> &mut BytesMut {
        // Doubling keeps long lines from being copied again and again.
        if self.buffer.capacity() - self.buffer.len() < ROOM / 2 {
            self.buffer.reserve(self.buffer.len().max(ROOM));
        }
        &mut self.buffer
    }

    /// The next line that is complete.
    pub(crate) fn next(&mut self) -> Option<Line> {
        loop {
            let unsearched = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(at) = memchr::memchr(b'\n', unsearched) else {
                self.searched = self.buffer.len();
                self.begin_to_skip();
                return None;
            };
            let line = self.buffer.split_to(self.searched + at + 1);
            self.searched = 0;
            if let Some(answers) = self.skipping.take() {
                return Some(Line::TooLong { answers: answers.or_else(|| id_at_end(&line)) });
            }
            let line = line.freeze();
            let text = line.trim_ascii();
            if text.len() > self.limit {
                return Some(Line::TooLong { answers: id_at_beginning(text).or_else(|| id_at_end(text)) });
            }
            if !text.is_empty() {
                return Some(Line::Whole(line.slice_ref(text)));
            }
        }
    }

    /// A line that has grown too long is thrown away as it comes; only its end is kept, which may tell its id.
    fn begin_to_skip(&mut self) {
        if self.skipping.is_none() && self.buffer.len() > self.limit.saturating_add(2) {
            self.skipping = Some(id_at_beginning(&self.buffer));
        }
        if self.skipping.is_some() && self.buffer.len() > LOOKED_AT {
            let _ = self.buffer.split_to(self.buffer.len() - LOOKED_AT);
            self.searched = self.buffer.len();
        }
    }
}

/// The id in `{"jsonrpc":"2.0","id":5,"result":…`: before the result begins.
pub(crate) fn id_at_beginning(line: &[u8]) -> Option<u64> {
    let beginning = line.get(..line.len().min(LOOKED_AT)).unwrap_or_default();
    let end = ["\"result\"", "\"error\"", "\"params\""]
        .iter()
        .filter_map(|key| memchr::memmem::find(beginning, key.as_bytes()))
        .min()
        .unwrap_or(beginning.len());
    number_after_id(beginning.get(..end)?, memchr::memmem::find)
}

/// The id in `…},"id":5}`: after the result.
pub(crate) fn id_at_end(line: &[u8]) -> Option<u64> {
    let end = line.get(line.len().saturating_sub(64)..).unwrap_or_default();
    let closed = memchr::memrchr(b'}', end.trim_ascii_end().strip_suffix(b"}")?)?;
    number_after_id(end.get(closed..)?, memchr::memmem::rfind)
}

fn number_after_id(text: &[u8], find: fn(&[u8], &[u8]) -> Option<usize>) -> Option<u64> {
    let after = text.get(find(text, b"\"id\"")? + 4..)?.trim_ascii_start();
    let value = after.strip_prefix(b":")?.trim_ascii_start();
    let digits = value.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(value.get(..digits)?).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &[u8], pieces: &[usize], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(limit);
        let mut found = Vec::new();
        let mut rest = text;
        let mut sizes = pieces.iter().cycle();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((*sizes.next().unwrap()).clamp(1, rest.len()));
            lines.room().extend_from_slice(piece);
            while let Some(line) = lines.next() {
                found.push(line);
            }
            rest = after;
        }
        found
    }

    fn whole(text: &'static str) -> Line {
        Line::Whole(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn lines_are_found_and_long_ones_skipped() {
        let check = |text: &str, expected: &[Line]| {
            for pieces in [1, 3, 100_000] {
                assert_eq!(read(text.as_bytes(), &[pieces], 600), expected, "{pieces} at a time");
            }
        };
        check("{}\n{\"a\":1}\r\n", &[whole("{}"), whole("{\"a\":1}")]);
        check("\n \n{}\nrest", &[whole("{}")]);
        let long = "x".repeat(5000);
        let after = whole("{}");
        check(
            &format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{{\"a\":\"{long}\"}}}}\n{{}}\n"),
            &[Line::TooLong { answers: Some(7) }, after.clone()],
        );
        check(
            &format!("{{\"result\":{{\"id\":3,\"a\":\"{long}\"}},\"id\": 8}}\n{{}}\n"),
            &[Line::TooLong { answers: Some(8) }, after.clone()],
        );
        check(
            &format!("{{\"params\":{{\"id\":3,\"a\":\"{long}\"}}}}\n{{}}\n"),
            &[Line::TooLong { answers: None }, after],
        );
    }

    #[test]
    fn a_line_without_end_takes_no_more_than_its_bound() {
        let mut lines = Lines::new(10_000);
        for _ in 0..1000 {
            lines.room().extend_from_slice(&[b'x'; 4096]);
            assert_eq!(lines.next(), None);
        }
        assert!(lines.buffer.capacity() < 100_000, "{}", lines.buffer.capacity());
    }

    proptest! {
        #[test]
        fn how_lines_are_cut_does_not_matter(
            text in "([a-z]{0,9}(\n|\r\n)){0,12}",
            pieces in proptest::collection::vec(1usize..7, 1..8),
        ) {
            prop_assert_eq!(read(text.as_bytes(), &pieces, 600), read(text.as_bytes(), &[usize::MAX], 600));
        }
    }
}
