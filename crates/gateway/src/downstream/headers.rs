//! The headers of a request, whoever has read them.
//!
//! Most requests are read by [`express`](super::express), which notes where each header stands and builds no table; the
//! others by hyper, which does. What is asked of either is the same: the value of a name.

use http::{HeaderMap, HeaderName};

/// The headers of a request.
#[derive(Clone, Copy, Debug)]
pub enum Headers<'a> {
    /// As hyper gives them.
    Table(&'a HeaderMap),
    /// As they stand in the head of a request.
    Lines(&'a Lines<'a>),
}

/// Headers as they stand in the head of a request.
#[derive(Debug)]
pub struct Lines<'a> {
    pub(super) head: &'a [u8],
    pub(super) places: &'a [Line],
}

/// Where one header stands in the head of its request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    pub(super) name: (u16, u16),
    pub(super) value: (u16, u16),
}

impl<'a> Headers<'a> {
    /// The first value of a name.
    pub fn get(self, name: &HeaderName) -> Option<&'a [u8]> {
        match self {
            Headers::Table(table) => table.get(name).map(http::HeaderValue::as_bytes),
            Headers::Lines(lines) => lines.values(name.as_str()).next(),
        }
    }

    /// The first value of a name, where it is plain text.
    pub fn text(self, name: &HeaderName) -> Option<&'a str> {
        self.get(name).and_then(plain)
    }

    /// The first value of a name that is known only now.
    pub fn named(self, name: &str) -> Option<&'a [u8]> {
        match self {
            Headers::Table(table) => table.get(name).map(http::HeaderValue::as_bytes),
            Headers::Lines(lines) => lines.values(name).next(),
        }
    }

    /// All values of a name.
    pub fn all(self, name: &HeaderName) -> Vec<&'a [u8]> {
        match self {
            Headers::Table(table) => table.get_all(name).iter().map(http::HeaderValue::as_bytes).collect(),
            Headers::Lines(lines) => lines.values(name.as_str()).collect(),
        }
    }

    /// Whether there is a header of this name.
    pub fn has(self, name: &HeaderName) -> bool {
        self.get(name).is_some()
    }
}

impl<'a> From<&'a HeaderMap> for Headers<'a> {
    fn from(table: &'a HeaderMap) -> Headers<'a> {
        Headers::Table(table)
    }
}

impl<'a> Lines<'a> {
    fn values(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        let (head, length) = (self.head, name.len());
        let is_it = move |line: &&Line| {
            usize::from(line.name.1) == length && slice(head, line.name).eq_ignore_ascii_case(name.as_bytes())
        };
        self.places.iter().filter(is_it).map(move |line| slice(head, line.value))
    }
}

/// A value as text, where it has only characters that every reader takes for the same.
pub fn plain(value: &[u8]) -> Option<&str> {
    std::str::from_utf8(value).ok().filter(|text| text.is_ascii())
}

fn slice(head: &[u8], (start, length): (u16, u16)) -> &[u8] {
    head.get(usize::from(start)..usize::from(start) + usize::from(length)).unwrap_or_default()
}
