//! What is taken out: keys by name anywhere, values by path.

use memchr::memmem::Finder;
use serde::{Deserialize, Serialize};

/// Path segments deeper than this are not matched; the scanner refuses deeper bodies anyway.
const MAXIMUM_DEPTH: usize = toolgate_protocol::scan::MAX_DEPTH as usize;

/// Most keys of a body are shorter than this.
pub(super) const SHORT: usize = 8;

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
    /// Keys whose end is known, by their last byte: of dozens only a few are compared with a key.
    by_end: Vec<Vec<KnownEnd>>,
    /// The last two letters of those, the last one as the index: few keys of a body end with any of them.
    ends: [Letters; 32],
    /// Keys that may end with anything.
    others: Vec<OpenEnd>,
    /// How short a key of those can be: most keys of a body are shorter.
    shortest_other: usize,
    pub(super) paths: Vec<Vec<Segment>>,
    /// The replacement as a JSON string.
    pub(super) replacement: Vec<u8>,
    pub(super) is_empty: bool,
}

/// A key that ends with a word, which is lower case and without separators.
#[derive(Debug, Clone)]
struct KnownEnd {
    word: Box<[u8]>,
    /// Whether the key is this word and nothing more.
    is_all: bool,
}

/// A key that may end with anything, also lower case and without separators.
#[derive(Debug, Clone)]
struct OpenEnd {
    /// The letters that a key must have.
    letters: Letters,
    pattern: OpenPattern,
}

#[derive(Debug, Clone)]
enum OpenPattern {
    Contains(Box<Finder<'static>>),
    Glob(Box<[u8]>),
}

/// A set of letters, whatever their case. Other characters count as some letter, so it may have more than are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Letters(u32);

impl Letters {
    const NONE: Self = Self(0);
    const ALL: Self = Self(u32::MAX);

    fn of(text: &[u8]) -> Self {
        Self(text.iter().fold(0, |letters, byte| letters | 1 << (byte & 31)))
    }

    fn has(self, byte: u8) -> bool {
        self.0 >> (byte & 31) & 1 == 1
    }

    fn has_all(self, others: Self) -> bool {
        others.0 & !self.0 == 0
    }

    fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Segment {
    Any,
    Named(Box<str>),
}

impl CompiledRules {
    pub(super) fn new(rules: &RedactionRules) -> Result<Self, RuleError> {
        let mut compiled = Self {
            by_end: vec![Vec::new(); 256],
            ends: [Letters::NONE; 32],
            others: Vec::new(),
            shortest_other: usize::MAX,
            paths: Vec::new(),
            replacement: serde_json::Value::from(rules.replacement.as_str()).to_string().into_bytes(),
            is_empty: rules.keys.is_empty() && rules.paths.is_empty(),
        };
        for key in &rules.keys {
            compiled.add_key(key)?;
        }
        for path in &rules.paths {
            compiled.paths.push(parse_pointer(path)?);
        }
        Ok(compiled)
    }

    fn add_key(&mut self, key: &str) -> Result<(), RuleError> {
        let mut folded = Vec::new();
        fold(key.as_bytes(), &mut folded);
        let (start, word) = match folded.as_slice() {
            [] => return Err(RuleError::EmptyKey(key.to_owned())),
            [b'*', word @ ..] => (Some(b'*'), word),
            word => (None, word),
        };
        if !word.contains(&b'*')
            && let [before @ .., last] = word
            && let Some(same_end) = self.by_end.get_mut(usize::from(*last))
            && let Some(ends) = self.ends.get_mut(usize::from(last & 31))
        {
            same_end.push(KnownEnd { word: word.into(), is_all: start.is_none() });
            let second = before.last().map_or(Letters::ALL, |byte| Letters::of(&[*byte]));
            *ends = ends.and(second);
            return Ok(());
        }
        let pattern = match word {
            [word @ .., b'*'] if start.is_some() && !word.is_empty() && !word.contains(&b'*') => {
                OpenPattern::Contains(Box::new(Finder::new(word).into_owned()))
            }
            _ => OpenPattern::Glob(folded.as_slice().into()),
        };
        folded.retain(|byte| *byte != b'*');
        self.shortest_other = self.shortest_other.min(folded.len());
        self.others.push(OpenEnd { letters: Letters::of(&folded), pattern });
        Ok(())
    }

    /// Whether a key, as it reads after unescaping, is to be taken out.
    pub(super) fn matches_key(&self, key: &[u8]) -> bool {
        self.may_end_like(key) && self.matches_known_end(key) || self.matches_other(key)
    }

    /// Whether no key that is shorter than [`SHORT`] and ends like `text` is to be taken out.
    pub(super) fn spare_short_keys_like(&self, text: &[u8]) -> bool {
        self.shortest_other >= SHORT && !self.may_end_like(text)
    }

    /// Whether a known end can be the key's, judged by its last two characters.
    fn may_end_like(&self, key: &[u8]) -> bool {
        match key {
            [.., second, last] if !is_separator(*second) && !is_separator(*last) => {
                self.ends.get(usize::from(last & 31)).is_none_or(|seconds| seconds.has(*second))
            }
            _ => true,
        }
    }

    fn matches_known_end(&self, key: &[u8]) -> bool {
        let Some(last) = folded_from_end(key).next() else { return false };
        self.by_end.get(usize::from(last)).is_some_and(|words| words.iter().any(|word| word.matches(key)))
    }

    fn matches_other(&self, key: &[u8]) -> bool {
        if key.len() < self.shortest_other {
            return false;
        }
        let letters = Letters::of(key);
        let mut others = self.others.iter().filter(|other| letters.has_all(other.letters)).peekable();
        if others.peek().is_none() {
            return false;
        }
        let mut folded = Vec::with_capacity(key.len());
        fold(key, &mut folded);
        others.any(|other| other.pattern.matches(&folded))
    }
}

impl KnownEnd {
    /// Compared from the end, where most keys differ at once.
    fn matches(&self, key: &[u8]) -> bool {
        let mut key = folded_from_end(key);
        self.word.iter().rev().all(|byte| key.next() == Some(*byte)) && (!self.is_all || key.next().is_none())
    }
}

impl OpenPattern {
    fn matches(&self, key: &[u8]) -> bool {
        match self {
            Self::Contains(finder) => finder.find(key).is_some(),
            Self::Glob(pattern) => matches_glob(pattern, key),
        }
    }
}

fn folded_from_end(key: &[u8]) -> impl Iterator<Item = u8> {
    key.iter().rev().filter(|byte| !is_separator(**byte)).map(u8::to_ascii_lowercase)
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
            name => Segment::Named(name.replace("~1", "/").replace("~0", "~").into()),
        })
        .collect();
    if segments.len() > MAXIMUM_DEPTH {
        return Err(RuleError::TooDeep(path.to_owned()));
    }
    Ok(segments)
}
