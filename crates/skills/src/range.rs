//! Parts of a file.

use std::ops::Range;

/// Which bytes of a file are wanted, as HTTP says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ByteRange {
    /// From this byte to the last one wanted, which is included, or to the end.
    From(u64, Option<u64>),
    /// The last so many.
    Last(u64),
}

/// The part of a file that was asked for does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file has {length} bytes; the range begins after its end")]
pub struct Unsatisfiable {
    /// How long the file is.
    pub length: usize,
}

impl ByteRange {
    /// Reads the value of a `Range` header. Nothing for several ranges, other units and nonsense: HTTP says to send the
    /// whole then.
    pub fn parse_header(value: &str) -> Option<ByteRange> {
        let (first, last) = value.trim().strip_prefix("bytes=")?.split_once('-')?;
        let number = |text: &str| {
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
        };
        match (first.trim(), last.trim()) {
            ("", last) => number(last).map(ByteRange::Last),
            (first, "") => Some(ByteRange::From(number(first)?, None)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(ByteRange::From(first, Some(last)))
            }
        }
    }

    /// Which bytes that is in a file of this length.
    pub fn within(self, length: usize) -> Result<Range<usize>, Unsatisfiable> {
        let place = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let range = match self {
            ByteRange::From(first, last) => {
                let end = last.map_or(length, |last| place(last).saturating_add(1));
                place(first)..end.min(length)
            }
            ByteRange::Last(count) => length.saturating_sub(place(count))..length,
        };
        if range.start < range.end { Ok(range) } else { Err(Unsatisfiable { length }) }
    }

    /// Which bytes that is in a text, moved to where characters begin, so that the part is text too. Ranges that follow
    /// each other give parts that follow each other; a range inside of one character gives that character.
    pub fn within_text(self, text: &str) -> Result<Range<usize>, Unsatisfiable> {
        let range = self.within(text.len())?;
        let start = text.floor_char_boundary(range.start);
        let end = text.floor_char_boundary(range.end);
        if start < end { Ok(start..end) } else { Ok(start..text.ceil_char_boundary(range.end)) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn headers_are_read_as_http_says() {
        let check = |value: &str, expected: Option<ByteRange>| {
            assert_eq!(ByteRange::parse_header(value), expected, "{value}");
        };
        check("bytes=0-4", Some(ByteRange::From(0, Some(4))));
        check("bytes=5-", Some(ByteRange::From(5, None)));
        check("bytes=-3", Some(ByteRange::Last(3)));
        check("bytes=4-0", None);
        check("bytes=0-1,3-4", None);
        check("lines=0-4", None);
        check("bytes=+1-4", None);
        check("bytes=-", None);
    }

    #[test]
    fn a_range_stays_within_the_file() {
        let check = |range: ByteRange, length: usize, expected: Option<Range<usize>>| {
            assert_eq!(range.within(length).ok(), expected, "{range:?} of {length}");
        };
        check(ByteRange::From(0, Some(4)), 10, Some(0..5));
        check(ByteRange::From(8, Some(u64::MAX)), 10, Some(8..10));
        check(ByteRange::From(10, None), 10, None);
        check(ByteRange::Last(4), 10, Some(6..10));
        check(ByteRange::Last(40), 10, Some(0..10));
        check(ByteRange::Last(0), 10, None);
        check(ByteRange::From(0, None), 0, None);
    }

    proptest! {
        #[test]
        fn ranges_that_follow_each_other_give_the_whole_text(text in "\\PC{1,60}", step in 4u64..9) {
            let mut whole = String::new();
            let mut at = 0;
            while let Ok(range) = ByteRange::From(at, Some(at + step - 1)).within_text(&text) {
                whole.push_str(&text[range.clone()]);
                at = range.end as u64;
            }
            prop_assert_eq!(whole, text);
        }
    }
}
