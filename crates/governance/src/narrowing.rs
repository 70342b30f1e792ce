//! The third layer: what a request asks to leave out. It can only take away, so it needs no permission.

use thiserror::Error;

use crate::pattern::{PatternError, PatternSet};
use crate::subject::{Kind, Subject};

/// The most patterns a request may carry.
const MAX_PATTERNS: usize = 1024;

/// Lists that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum NarrowingError {
    /// Too many patterns.
    #[error("the request narrows its view with {0} patterns, at most {MAX_PATTERNS} are accepted")]
    TooMany(usize),
    /// A pattern that cannot be read. The request fails, because going on without it would show more than was asked for.
    #[error("the request narrows its view with a pattern that cannot be read: {0}")]
    Pattern(#[from] PatternError),
}

/// What a request wants to see of what it may see.
#[derive(Clone, Debug, Default)]
pub struct Narrowing {
    servers: Option<PatternSet>,
    allowed_tools: Option<PatternSet>,
    denied_tools: PatternSet,
}

impl Narrowing {
    /// Reads the lists of a request. `None` means no wish; an empty list of servers or allowed tools leaves nothing.
    pub fn new(
        servers: Option<&[String]>,
        allowed_tools: Option<&[String]>,
        denied_tools: &[String],
    ) -> Result<Narrowing, NarrowingError> {
        let count = servers.map_or(0, <[_]>::len) + allowed_tools.map_or(0, <[_]>::len) + denied_tools.len();
        if count > MAX_PATTERNS {
            return Err(NarrowingError::TooMany(count));
        }
        Ok(Narrowing {
            servers: servers.map(PatternSet::parse).transpose()?,
            allowed_tools: allowed_tools.map(PatternSet::parse).transpose()?,
            denied_tools: PatternSet::parse(denied_tools)?,
        })
    }

    /// Whether the thing is left. Tools are known to requests by their exposed name, but the server's own name fits as well.
    pub fn leaves(&self, subject: &Subject<'_>) -> bool {
        let fits = |patterns: &PatternSet| patterns.fits(subject.exposed) || patterns.fits(subject.name);
        let server_is_left = self.servers.as_ref().is_none_or(|servers| servers.fits(subject.server));
        if subject.kind != Kind::Tool {
            return server_is_left;
        }
        server_is_left && self.allowed_tools.as_ref().is_none_or(fits) && !fits(&self.denied_tools)
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
    }
}
