//! A JSON object looked into, member by member, without decoding it.

use std::borrow::Cow;

use crate::scan::{Malformed, Scanner};
use crate::span::Span;
use crate::text;

/// The members of one object: where each key and value stands in `bytes`.
#[derive(Debug)]
pub struct Object<'a> {
    bytes: &'a [u8],
    members: Vec<Member>,
}

/// One member of an [`Object`].
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// The key with its quotation marks begins here; the value ends at the end. Cutting it out removes the member.
    pub whole: Span,
    /// The key without quotation marks.
    pub key: Span,
    /// The value.
    pub value: Span,
}

impl<'a> Object<'a> {
    /// Looks into an object.
    pub fn parse(bytes: &'a [u8]) -> Result<Object<'a>, Malformed> {
        let mut scanner = Scanner::new(bytes)?;
        let mut members = Vec::new();
        scanner.members(|scanner, key, _| {
            let value = scanner.value()?;
            members.push(Member { whole: Span::new(key.start() - 1, value.end()), key, value });
            Ok(())
        })?;
        scanner.end()?;
        Ok(Object { bytes, members })
    }

    /// The value of a member, or nothing. The last one counts where a key is written twice, as most readers have it.
    pub fn get(&self, key: &str) -> Option<&'a [u8]> {
        self.place(key).map(|place| place.of(self.bytes))
    }

    /// Where the value of a member stands.
    pub fn place(&self, key: &str) -> Option<Span> {
        self.member(key).map(|member| member.value)
    }

    /// A member by its key.
    pub fn member(&self, key: &str) -> Option<Member> {
        self.members.iter().rev().find(|member| self.key(member) == key).copied()
    }

    /// The text of a member that is a string.
    pub fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        self.get(key).and_then(text::string)
    }

    /// All members in the order in which they stand: key and value.
    pub fn members(&self) -> impl Iterator<Item = (Cow<'a, str>, &'a [u8])> + '_ {
        self.members.iter().map(|member| (self.key(member), member.value.of(self.bytes)))
    }

    /// The place of each member whose key is one of `keys`, in the order in which they stand.
    pub fn places_of<'k>(&'k self, keys: &'k [&str]) -> impl Iterator<Item = Member> + 'k {
        self.members.iter().filter(|member| keys.contains(&&*self.key(member))).copied()
    }

    /// The places of all members.
    pub fn places(&self) -> &[Member] {
        &self.members
    }

    /// A key written twice, which readers understand differently.
    pub fn repeated_key(&self) -> Option<Cow<'a, str>> {
        let mut seen = std::collections::HashSet::new();
        self.members.iter().map(|member| self.key(member)).find(|key| !seen.insert(key.clone()))
    }

    fn key(&self, member: &Member) -> Cow<'a, str> {
        let raw = member.key.of(self.bytes);
        text::unescape(raw).unwrap_or_else(|| String::from_utf8_lossy(raw))
    }
}

/// The value of one member of an object, for a look that is worth no list of all members.
pub fn value_of<'a>(object: &'a [u8], key: &str) -> Option<&'a [u8]> {
    let mut found = None;
    let mut scanner = Scanner::new(object).ok()?;
    let looked = scanner.members(|scanner, place, _| {
        let value = scanner.value()?;
        if text::unescape(place.of(object)).is_some_and(|name| name == key) {
            found = Some(value.of(object));
        }
        Ok(())
    });
    looked.ok().and(found)
}

/// Whether all members of an object fit: each is shown as it stands, the key without its quotation marks. What is no
/// object does not.
pub fn all_members(object: &[u8], mut fits: impl FnMut(&[u8], &[u8]) -> bool) -> bool {
    let mut all = true;
    let Ok(mut scanner) = Scanner::new(object) else { return false };
    let looked = scanner.members(|scanner, key, _| {
        let value = scanner.value()?;
        all = all && fits(key.of(object), value.of(object));
        Ok(())
    });
    looked.is_ok() && all
}

/// The elements of a JSON array, each as it stands.
pub fn elements(bytes: &[u8]) -> Result<Vec<&[u8]>, Malformed> {
    let mut scanner = Scanner::new(bytes)?;
    let mut elements = Vec::new();
    scanner.elements(|scanner| {
        elements.push(scanner.value()?.of(bytes));
        Ok(())
    })?;
    scanner.end()?;
    Ok(elements)
}

#[cfg(test)]
mod tests;
