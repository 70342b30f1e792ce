//! The third layer: what a request asks to leave out. It can only take away, so it needs no permission.
//!
//! Lists come with each request and are held against every tool, so names are looked up and wild patterns are few.

use std::collections::HashSet;

use thiserror::Error;

use crate::pattern::{Pattern, PatternError};
use crate::subject::{Kind, Subject};

/// The most names and patterns a request may carry.
const MAX_PATTERNS: usize = 1024;
/// The most of them that may have wild characters.
const MAX_WILD: usize = 64;

/// Lists that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NarrowingError {
    /// Too many patterns.
    #[error("the request narrows its view with {0} patterns, at most {MAX_PATTERNS} are accepted")]
    TooMany(usize),
    /// Too many patterns that must be tried one by one.
    #[error(
        "the request narrows its view with {0} patterns that have `*` or `?`, at most {MAX_WILD} are accepted"
    )]
    TooManyWild(usize),
    /// A pattern that cannot be read. The request fails, because going on without it would show more than was asked for.
    #[error("the request narrows its view with a pattern that cannot be read: {0}")]
    Pattern(#[from] PatternError),
}

/// What a request wants to see of what it may see.
#[derive(Clone, Debug, Default)]
pub struct Narrowing {
    servers: Option<Wishes>,
    allowed_tools: Option<Wishes>,
    denied_tools: Wishes,
    /// Another wish of the same request, which must leave the thing as well.
    further: Option<Box<Narrowing>>,
}

/// Names, and patterns with wild characters.
#[derive(Clone, Debug, Default)]
struct Wishes {
    names: HashSet<Box<str>>,
    wild: Vec<Pattern>,
}

impl Narrowing {
    /// Reads the lists of a request. `None` means no wish; an empty list of servers or allowed tools leaves nothing.
    pub fn new(
        servers: Option<&[String]>,
        allowed_tools: Option<&[String]>,
        denied_tools: &[String],
    ) -> Result<Narrowing, NarrowingError> {
        let lists = [servers.unwrap_or_default(), allowed_tools.unwrap_or_default(), denied_tools];
        let count = lists.iter().map(|list| list.len()).sum();
        if count > MAX_PATTERNS {
            return Err(NarrowingError::TooMany(count));
        }
        let narrowing = Narrowing {
            servers: servers.map(Wishes::parse).transpose()?,
            allowed_tools: allowed_tools.map(Wishes::parse).transpose()?,
            denied_tools: Wishes::parse(denied_tools)?,
            further: None,
        };
        let stated =
            [narrowing.servers.as_ref(), narrowing.allowed_tools.as_ref(), Some(&narrowing.denied_tools)];
        let wild = stated.into_iter().flatten().map(|wishes| wishes.wild.len()).sum();
        if wild > MAX_WILD {
            return Err(NarrowingError::TooManyWild(wild));
        }
        Ok(narrowing)
    }

    /// What both leave.
    #[must_use]
    pub fn and(self, other: Narrowing) -> Narrowing {
        Narrowing { further: Some(Box::new(other)), ..self }
    }

    /// Whether the thing is left. Tools are known to requests by their exposed name, but the server's own name fits as well.
    pub fn leaves(&self, subject: &Subject<'_>) -> bool {
        let fits = |wishes: &Wishes| wishes.fit(subject.exposed) || wishes.fit(subject.name);
        let server_is_left = self.servers.as_ref().is_none_or(|servers| servers.fit(subject.server));
        let tool_is_left = || self.allowed_tools.as_ref().is_none_or(fits) && !fits(&self.denied_tools);
        server_is_left
            && (subject.kind != Kind::Tool || tool_is_left())
            && self.further.as_ref().is_none_or(|further| further.leaves(subject))
    }
}

impl Wishes {
    fn parse(texts: &[String]) -> Result<Wishes, PatternError> {
        let mut wishes = Wishes::default();
        for text in texts {
            match Pattern::parse(text)? {
                Pattern::Literal(name) => drop(wishes.names.insert(name)),
                wild @ (Pattern::Any | Pattern::Glob(_)) => wishes.wild.push(wild),
            }
        }
        Ok(wishes)
    }

    fn fit(&self, name: &str) -> bool {
        self.names.contains(name) || self.wild.iter().any(|pattern| pattern.fits(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn requests_take_away_and_never_add() {
        let read = Subject::tool("files", "read").exposed_as("files__read");
        for (servers, allowed, denied, expected) in [
            (None, None, &[][..], true),
            (Some(&["files"][..]), None, &[], true),
            (Some(&["web"][..]), None, &[], false),
            (Some(&[][..]), None, &[], false),
            (None, Some(&["files__*"][..]), &[], true),
            (None, Some(&["read"][..]), &[], true),
            (None, Some(&[][..]), &[], false),
            (None, Some(&["*"][..]), &["files__read"], false),
            (None, None, &["write"], true),
        ] {
            let (servers, allowed) = (servers.map(strings), allowed.map(strings));
            let narrowing = Narrowing::new(servers.as_deref(), allowed.as_deref(), &strings(denied)).unwrap();
            assert_eq!(narrowing.leaves(&read), expected, "{servers:?} {allowed:?} {denied:?}");
        }
    }

    #[test]
    fn lists_that_cannot_be_read_are_refused() {
        let endless = vec!["x".to_owned(); 1025];
        assert_eq!(Narrowing::new(None, None, &endless).unwrap_err(), NarrowingError::TooMany(1025));
        assert!(Narrowing::new(None, Some(&[String::new()]), &[]).is_err());
        let wild = vec!["x*".to_owned(); 65];
        assert_eq!(Narrowing::new(None, Some(&wild), &[]).unwrap_err(), NarrowingError::TooManyWild(65));
    }

    #[test]
    fn two_wishes_leave_what_both_leave() {
        let narrowing = |allowed: &str| Narrowing::new(None, Some(&[allowed.to_owned()]), &[]).unwrap();
        let both = narrowing("files__*").and(narrowing("*read"));
        for (name, expected) in [("files__read", true), ("files__write", false), ("web__read", false)] {
            assert_eq!(both.leaves(&Subject::tool("files", "it").exposed_as(name)), expected, "{name}");
        }
    }
}
