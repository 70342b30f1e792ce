//! `result://{id}?offset=…&length=…`: which result, and which part of it.

use super::SCHEME;

/// How much is read where nothing is said.
const USUAL_LENGTH: u64 = 64 << 10;
/// How much is read at a time.
const MAX_LENGTH: u64 = 1 << 20;
/// Every character fits, so that reading always goes on.
const MIN_LENGTH: u64 = 4;

/// An address taken apart. Whether there is such a result is another question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// Which result.
    pub id: &'a str,
    query: &'a str,
}

/// A part of a result, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Where it begins.
    pub offset: u64,
    /// How long it may be.
    pub length: u64,
}

/// A part that there cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    #[error("'{0}' is not understood; ask for a part with ?offset=…&length=…, in bytes")]
    Unreadable(String),
    #[error("the result has {size} bytes, so no part of it begins at {offset}")]
    Beyond { offset: u64, size: u64 },
}

impl<'a> Address<'a> {
    /// Nothing where it is no address of a result.
    pub fn of(uri: &'a str) -> Option<Address<'a>> {
        let rest = uri.strip_prefix(SCHEME)?;
        let (id, query) = rest.split_once('?').unwrap_or((rest, ""));
        Some(Address { id, query })
    }

    /// The part that is asked for, of a result of this size.
    pub fn range(&self, size: u64) -> Result<Range, RangeError> {
        let mut range = Range { offset: 0, length: USUAL_LENGTH };
        for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
            let unreadable = || RangeError::Unreadable(pair.to_owned());
            let (name, number) = pair.split_once('=').ok_or_else(unreadable)?;
            let number = number.parse().map_err(|_| unreadable())?;
            match name {
                "offset" => range.offset = number,
                "length" => range.length = number.clamp(MIN_LENGTH, MAX_LENGTH),
                _ => return Err(unreadable()),
            }
        }
        if range.offset > size {
            return Err(RangeError::Beyond { offset: range.offset, size });
        }
        Ok(range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_a_result_and_a_part() {
        let check = |uri: &str, expected: Result<(u64, u64), RangeError>| {
            let address = Address::of(uri).unwrap();
            assert_eq!(address.id, "a", "{uri}");
            assert_eq!(address.range(1000).map(|range| (range.offset, range.length)), expected, "{uri}");
        };
        let unreadable = |pair: &str| Err(RangeError::Unreadable(pair.to_owned()));
        check("result://a", Ok((0, USUAL_LENGTH)));
        check("result://a?offset=7", Ok((7, USUAL_LENGTH)));
        check("result://a?length=9&offset=1000", Ok((1000, 9)));
        check("result://a?length=0", Ok((0, MIN_LENGTH)));
        check("result://a?length=99999999999", Ok((0, MAX_LENGTH)));
        check("result://a?offset=1001", Err(RangeError::Beyond { offset: 1001, size: 1000 }));
        check("result://a?offset=-1", unreadable("offset=-1"));
        check("result://a?lines=3", unreadable("lines=3"));
        check("result://a?offset", unreadable("offset"));
        assert_eq!(Address::of("file:///a"), None);
    }
}
