//! What is taken out: keys by name anywhere, values by path.

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

/// Path segments deeper than this are not matched; the scanner refuses deeper bodies anyway.
pub(super) const MAXIMUM_DEPTH: usize = 128;

/// Redaction as an operator writes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RedactionRules {
    /// Names of object keys whose values are taken out wherever they stand. Case, `_` and `-` do not count, so
    /// `api_key` is also `apiKey` and `API-Key`. A `*` stands for any characters.
    pub keys: Vec<String>,
    /// JSON pointers (`/user/ssn`) of values to take out. A segment `*` stands for any key or index.
    pub paths: Vec<String>,
    /// The text put in their place.
    pub replacement: String,
}

impl Default for RedactionRules {
    fn default() -> Self {
        let keys = [
            "*password*",
            "passwd",
            "pwd",
            "passphrase",
            "secret",
            "*_secret",
            "*secret_key",
            "token",
            "*_token",
            "*api_key",
            "*access_key",
            "*private_key",
            "*signing_key",
            "*encryption_key",
            "authorization",
            "proxy_authorization",
            "cookie",
            "set_cookie",
            "credential",
            "credentials",
            "connection_string",
        ];
        Self {
            keys: keys.map(str::to_owned).to_vec(),
            paths: Vec::new(),
            replacement: "[redacted]".to_owned(),
        }
    }
}

/// A rule that cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum RuleError {
    /// A pointer does not begin with a slash.
    #[error("redaction path {0:?} does not begin with '/'; write a JSON pointer such as /user/password")]
    NoPointer(String),
    /// A pointer is too deep to ever match.
    #[error("redaction path {0:?} has more than {MAXIMUM_DEPTH} segments")]
    TooDeep(String),
    /// A key pattern has nothing but separators.
    #[error("redaction key {0:?} names nothing; write a key such as api_key, or * for every key")]
    EmptyKey(String),
}

/// Rules in the form the scanner uses.
#[derive(Debug, Clone)]
pub(super) struct CompiledRules {
    /// Keys whose last byte is known, by that byte: of dozens of patterns only a few are compared with a key.
    keys_by_end: Vec<KeyPatterns>,
    /// Keys that may end with anything.
    other_keys: KeyPatterns,
    pub(super) paths: Vec<Vec<Segment>>,
    /// The replacement as a JSON string.
    pub(super) replacement: Vec<u8>,
}

/// Keys to look for, and how short one can be: most keys of a body are shorter than any secret's.
#[derive(Debug, Clone, Default)]
struct KeyPatterns {
    patterns: Vec<KeyPattern>,
    shortest: usize,
}

/// A key to look for, lower case and without separators. Most patterns are one word and are compared as such.
#[derive(Debug, Clone)]
enum KeyPattern {
    Is(Box<[u8]>),
    EndsWith(Box<[u8]>),
    Contains(Box<Finder<'static>>),
    Glob(Box<[u8]>),
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Any,
    Named(Box<[u8]>),
}

impl CompiledRules {
    pub(super) fn new(rules: &RedactionRules) -> Result<Self, RuleError> {
        let mut compiled = Self {
            keys_by_end: vec![KeyPatterns::default(); 256],
            other_keys: KeyPatterns::default(),
            paths: Vec::new(),
            replacement: serde_json::Value::from(rules.replacement.as_str()).to_string().into_bytes(),
        };
        for key in &rules.keys {
            let pattern = KeyPattern::new(key)?;
            match pattern.last_byte().and_then(|last| compiled.keys_by_end.get_mut(usize::from(last))) {
                Some(patterns) => patterns.push(pattern),
                None => compiled.other_keys.push(pattern),
            }
        }
        for path in &rules.paths {
            compiled.paths.push(parse_pointer(path)?);
        }
        Ok(compiled)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.paths.is_empty()
            && self.keys_by_end.iter().chain([&self.other_keys]).all(|keys| keys.patterns.is_empty())
    }

    /// Whether a key, as it reads after unescaping, is to be taken out. `scratch` is working space.
    pub(super) fn matches_key(&self, key: &[u8], scratch: &mut Vec<u8>) -> bool {
        let last = key.iter().rfind(|byte| !is_separator(**byte)).map(u8::to_ascii_lowercase);
        let by_end = last.and_then(|last| self.keys_by_end.get(usize::from(last)));
        let candidates = by_end.into_iter().chain([&self.other_keys]);
        let mut candidates = candidates.filter(|keys| keys.may_match(key)).peekable();
        if candidates.peek().is_none() {
            return false;
        }
        scratch.clear();
        fold(key, scratch);
        candidates.any(|keys| keys.patterns.iter().any(|pattern| pattern.matches(scratch)))
    }
}

impl KeyPatterns {
    fn push(&mut self, pattern: KeyPattern) {
        let length = pattern.shortest();
        self.shortest = if self.patterns.is_empty() { length } else { self.shortest.min(length) };
        self.patterns.push(pattern);
    }

    fn may_match(&self, key: &[u8]) -> bool {
        !self.patterns.is_empty() && key.len() >= self.shortest
    }
}

impl KeyPattern {
    fn new(key: &str) -> Result<Self, RuleError> {
        let mut folded = Vec::new();
        fold(key.as_bytes(), &mut folded);
        let has_star = |text: &[u8]| text.contains(&b'*');
        Ok(match folded.as_slice() {
            [] => return Err(RuleError::EmptyKey(key.to_owned())),
            word if !has_star(word) => Self::Is(word.into()),
            [b'*', end @ ..] if !has_star(end) => Self::EndsWith(end.into()),
            [b'*', word @ .., b'*'] if !has_star(word) => {
                Self::Contains(Box::new(Finder::new(word).into_owned()))
            }
            pattern => Self::Glob(pattern.into()),
        })
    }

    /// The byte with which every key ends that it matches, where there is one.
    fn last_byte(&self) -> Option<u8> {
        match self {
            Self::Is(word) | Self::EndsWith(word) => word.last().copied(),
            Self::Contains(_) | Self::Glob(_) => None,
        }
    }

    /// How short a key can be that it matches.
    fn shortest(&self) -> usize {
        match self {
            Self::Is(word) | Self::EndsWith(word) => word.len(),
            Self::Contains(finder) => finder.needle().len(),
            Self::Glob(pattern) => pattern.iter().filter(|byte| **byte != b'*').count(),
        }
    }

    fn matches(&self, key: &[u8]) -> bool {
        match self {
            Self::Is(word) => **word == *key,
            Self::EndsWith(end) => key.ends_with(end),
            Self::Contains(finder) => finder.find(key).is_some(),
            Self::Glob(pattern) => matches_glob(pattern, key),
        }
    }
}

/// Lower case without separators.
fn fold(key: &[u8], out: &mut Vec<u8>) {
    out.extend(key.iter().filter(|byte| !is_separator(**byte)).map(u8::to_ascii_lowercase));
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b'_' | b'-')
}

/// Whether `text` matches `pattern`, in which `*` stands for any bytes. Steps back only to the last star.
fn matches_glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at_pattern, mut at_text) = (0, 0);
    let mut last_star = None;
    while at_text < text.len() {
        match pattern.get(at_pattern) {
            Some(b'*') => {
                last_star = Some((at_pattern, at_text));
                at_pattern += 1;
            }
            Some(byte) if text.get(at_text) == Some(byte) => {
                at_pattern += 1;
                at_text += 1;
            }
            _ => match &mut last_star {
                Some((star, covered)) => {
                    *covered += 1;
                    (at_pattern, at_text) = (*star + 1, *covered);
                }
                None => return false,
            },
        }
    }
    pattern.get(at_pattern..).is_some_and(|rest| rest.iter().all(|byte| *byte == b'*'))
}

fn parse_pointer(path: &str) -> Result<Vec<Segment>, RuleError> {
    let Some(rest) = path.strip_prefix('/') else { return Err(RuleError::NoPointer(path.to_owned())) };
    let segments: Vec<_> = rest
        .split('/')
        .map(|segment| match segment {
            "*" => Segment::Any,
            name => Segment::Named(name.replace("~1", "/").replace("~0", "~").into_bytes().into()),
        })
        .collect();
    if segments.len() > MAXIMUM_DEPTH {
        return Err(RuleError::TooDeep(path.to_owned()));
    }
    Ok(segments)
}
