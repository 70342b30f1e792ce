//! Patterns over names: `*` stands for any run of characters, `?` for one. Nothing else is special, and matching takes at
//! most pattern length times name length steps, so that no name from outside can make it slow.

use thiserror::Error;

/// The longest pattern that is accepted, in bytes.
const MAX_PATTERN_BYTES: usize = 1024;

/// A pattern that cannot be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum PatternError {
    /// An empty pattern fits nothing, which nobody means.
    #[error("the pattern is empty; write `*` for everything")]
    Empty,
    /// The pattern is too long.
    #[error("the pattern has {0} bytes, at most {MAX_PATTERN_BYTES} are accepted; use `*`")]
    TooLong(usize),
}

/// One compiled pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Fits every name.
    Any,
    /// Fits this name only.
    Literal(Box<str>),
    /// Has wild characters.
    Glob(Box<[char]>),
}

/// Several patterns; a name fits if it fits one of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternSet {
    patterns: Box<[Pattern]>,
}

impl Pattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        match text {
            "" => Err(PatternError::Empty),
            _ if text.len() > MAX_PATTERN_BYTES => Err(PatternError::TooLong(text.len())),
            _ if text.bytes().all(|byte| byte == b'*') => Ok(Pattern::Any),
            _ if text.contains(['*', '?']) => Ok(Pattern::Glob(text.chars().collect())),
            _ => Ok(Pattern::Literal(text.into())),
        }
    }

    /// Whether the name fits.
    pub fn fits(&self, name: &str) -> bool {
        match self {
            Pattern::Any => true,
            Pattern::Literal(literal) => **literal == *name,
            Pattern::Glob(glob) => glob_fits(glob, name),
        }
    }
}

impl PatternSet {
    /// Reads every pattern of a list. The first bad one makes the list unreadable.
    pub(crate) fn parse(texts: &[String]) -> Result<PatternSet, PatternError> {
        let patterns = texts.iter().map(|text| Pattern::parse(text)).collect::<Result<_, _>>()?;
        Ok(PatternSet { patterns })
    }

    /// Whether there is no pattern at all; what that means is for the owner to say.
    pub(crate) fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Whether the name fits one of the patterns.
    pub(crate) fn fits(&self, name: &str) -> bool {
        self.patterns.iter().any(|pattern| pattern.fits(name))
    }

    /// The names this set stands for, if it stands for a few named ones only: then it can be looked up instead of tried.
    pub(crate) fn literals(&self) -> Option<Vec<&str>> {
        self.patterns
            .iter()
            .map(|pattern| match pattern {
                Pattern::Literal(literal) => Some(&**literal),
                Pattern::Any | Pattern::Glob(_) => None,
            })
            .collect()
    }
}

/// Greedy match with one step back to the last star: the classic way without recursion.
fn glob_fits(glob: &[char], name: &str) -> bool {
    let mut rest = name.chars();
    let mut at = 0;
    let mut last_star: Option<(usize, std::str::Chars<'_>)> = None;
    loop {
        match glob.get(at) {
            Some('*') => {
                at += 1;
                last_star = Some((at, rest.clone()));
                continue;
            }
            Some(wanted) => {
                let mut ahead = rest.clone();
                if let Some(found) = ahead.next()
                    && (*wanted == '?' || *wanted == found)
                {
                    rest = ahead;
                    at += 1;
                    continue;
                }
            }
            None if rest.as_str().is_empty() => return true,
            None => {}
        }
        // A dead end: let the last star swallow one more character.
        let Some((after_star, swallowed)) = &mut last_star else { return false };
        if swallowed.next().is_none() {
            return false;
        }
        at = *after_star;
        rest = swallowed.clone();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_fit_patterns_as_people_expect() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "anything", true),
            ("echo", "echo", true),
            ("echo", "echos", false),
            ("read_*", "read_file", true),
            ("read_*", "reread_file", false),
            ("*_file", "read_file", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("get_?", "get_x", true),
            ("get_?", "get_xy", false),
            ("get_?", "get_", false),
            ("?", "é", true),
            ("a*b*c", "abcbc", true),
            ("a*b*c", "abcb", false),
            ("skill://trading/*", "skill://trading/entry", true),
            ("**", "x", true),
            ("[a]", "a", false),
        ] {
            assert_eq!(Pattern::parse(pattern).unwrap().fits(name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn empty_and_endless_patterns_are_refused() {
        assert_eq!(Pattern::parse(""), Err(PatternError::Empty));
        assert_eq!(Pattern::parse(&"x".repeat(1025)), Err(PatternError::TooLong(1025)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn a_pattern_made_from_a_name_fits_it(name in "[a-c]{0,12}", from in 0_usize..12, length in 0_usize..12) {
            let (from, length) = (from.min(name.len()), length.min(name.len().saturating_sub(from.min(name.len()))));
            let pattern = format!("{}*{}", &name[..from], &name[from + length..]);
            prop_assert!(Pattern::parse(&pattern).unwrap().fits(&name), "{pattern} on {name}");
        }

        #[test]
        fn matching_agrees_with_the_obvious_definition(glob in "[ab*?]{1,6}", name in "[ab]{0,6}") {
            let glob_characters: Vec<char> = glob.chars().collect();
            let name_characters: Vec<char> = name.chars().collect();
            prop_assert_eq!(Pattern::parse(&glob).unwrap().fits(&name), obvious(&glob_characters, &name_characters));
        }
    }

    fn obvious(glob: &[char], name: &[char]) -> bool {
        match glob.split_first() {
            None => name.is_empty(),
            Some(('*', rest)) => (0..=name.len()).any(|skipped| obvious(rest, &name[skipped..])),
            Some((wanted, rest)) => {
                name.first().is_some_and(|found| *wanted == '?' || wanted == found)
                    && obvious(rest, &name[1..])
            }
        }
    }
}
