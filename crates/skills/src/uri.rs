//! `skill://category/name/file`: the address of a file, and nothing else.
//!
//! Every file has one URI and no other spelling of it: rules and records name files by their URIs, and a second spelling
//! would be a way around them. A URI is taken apart before anything is looked up, and only whole, plain names come out of it: no empty ones, no
//! `..`, no separator that was hidden by percent-encoding. What is looked up is looked up in a library in memory,
//! so a path that gets past this finds nothing rather than a file elsewhere.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// What all these URIs begin with.
pub const SCHEME: &str = "skill://";

/// The name of the file that makes a folder a skill.
pub const DOCUMENT: &str = "SKILL.md";

/// The longest URI that is looked at.
const MAX_URI_BYTES: usize = 2048;

/// All but the unreserved characters of RFC 3986, so that every name is one segment, and a host where it comes first.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Why a URI leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UriError {
    /// It is not for us.
    #[error("the URI does not begin with 'skill://'")]
    OtherScheme,
    /// It is too long to be looked at.
    #[error("the URI is longer than {MAX_URI_BYTES} bytes")]
    TooLong,
    /// It has a query or a fragment.
    #[error("the URI has a '?' or '#'; a skill's URI is only a path")]
    NotOnlyAPath,
    /// It can be written in another way. Rules about URIs compare texts, so each file has just one.
    #[error("the URI must be written '{0}'")]
    NotNormal(String),
    /// One of its segments is no name of a file or folder.
    #[error("the URI has the segment '{0}', which is no name")]
    NoName(String),
}

/// A path of plain names with `/` between them: what a `skill://` URI says, decoded.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SkillPath(Box<str>);

impl SkillPath {
    /// Takes a URI apart.
    pub fn parse(uri: &str) -> Result<SkillPath, UriError> {
        if uri.len() > MAX_URI_BYTES {
            return Err(UriError::TooLong);
        }
        let scheme = uri.get(..SCHEME.len()).filter(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
        let rest = scheme.and_then(|scheme| uri.get(scheme.len()..)).ok_or(UriError::OtherScheme)?;
        if rest.contains(['?', '#']) {
            return Err(UriError::NotOnlyAPath);
        }
        let no_name = |segment: &str| UriError::NoName(segment.to_owned());
        let decoded = rest.split('/').map(|segment| {
            let name = percent_decode_str(segment).decode_utf8().map_err(|_| no_name(segment))?;
            is_name(&name).then(|| name.into_owned()).ok_or_else(|| no_name(segment))
        });
        let names: Vec<String> = decoded.collect::<Result<_, _>>()?;
        let path = SkillPath(names.join("/").into());
        let normal = path.uri();
        if normal == uri { Ok(path) } else { Err(UriError::NotNormal(normal)) }
    }

    /// The path of these names, if each is one.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<SkillPath> {
        let names: Vec<&str> = names.into_iter().collect();
        let usable = !names.is_empty() && names.iter().all(|name| is_name(name));
        usable.then(|| SkillPath(names.join("/").into()))
    }

    /// The path with `/` between its names.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its names, outermost first.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The innermost name.
    pub fn last(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The path without its last name.
    pub fn parent(&self) -> Option<SkillPath> {
        self.0.rsplit_once('/').map(|(parent, _)| SkillPath(parent.into()))
    }

    /// This path and one name more, if it is one.
    pub fn join(&self, name: &str) -> Option<SkillPath> {
        is_name(name).then(|| SkillPath(format!("{}/{name}", self.0).into()))
    }

    /// Whether this path is inside of the folder `other`, or is it.
    pub fn is_within(&self, other: &SkillPath) -> bool {
        self.0.strip_prefix(&*other.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The URI of this path, in its one normal form.
    pub fn uri(&self) -> String {
        let names: Vec<String> =
            self.names().map(|name| utf8_percent_encode(name, &ENCODED).to_string()).collect();
        format!("{SCHEME}{}", names.join("/"))
    }
}

impl fmt::Display for SkillPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Debug for SkillPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

/// Whether this can be the name of one file or folder anywhere.
pub fn is_name(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && !name.contains(|char: char| matches!(char, '/' | '\\') || char.is_control())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn uris_are_taken_apart() {
        let check = |uri: &str, expected: Result<&str, UriError>| {
            assert_eq!(
                SkillPath::parse(uri).map(|path| path.to_string()),
                expected.map(str::to_owned),
                "{uri}"
            );
        };
        let no_name = |segment: &str| Err(UriError::NoName(segment.to_owned()));
        let not_normal = |normal: &str| Err(UriError::NotNormal(normal.to_owned()));
        check("skill://trading/entry-monitor", Ok("trading/entry-monitor"));
        check("SKILL://trading/entry", not_normal("skill://trading/entry"));
        check("skill://%74rading/entry", not_normal("skill://trading/entry"));
        check("skill://a/%e4%ba%a4", not_normal("skill://a/%E4%BA%A4"));
        check("skill://a/%E4%BA%A4%E6%98%93/x%20y.md", Ok("a/交易/x y.md"));
        check("skill://a/交", not_normal("skill://a/%E4%BA%A4"));
        check("https://a/b", Err(UriError::OtherScheme));
        check("skill:/a/b", Err(UriError::OtherScheme));
        check("skill://a/b?x", Err(UriError::NotOnlyAPath));
        check("skill://a/b#x", Err(UriError::NotOnlyAPath));
        check("skill://", no_name(""));
        check("skill://a/", no_name(""));
        check("skill:///a", no_name(""));
        check("skill://a/../b", no_name(".."));
        check("skill://a/%2e%2E/b", no_name("%2e%2E"));
        check("skill://a/b%2Fc", no_name("b%2Fc"));
        check("skill://a/b%5Cc", no_name("b%5Cc"));
        check("skill://a/%00", no_name("%00"));
        check("skill://a/%ff", no_name("%ff"));
        check(&format!("skill://{}", "a".repeat(3000)), Err(UriError::TooLong));
    }

    #[test]
    fn a_path_is_within_a_folder_only_by_whole_names() {
        let path = |text: &str| SkillPath::from_names(text.split('/')).unwrap();
        assert!(path("a/b/c").is_within(&path("a/b")));
        assert!(path("a/b").is_within(&path("a/b")));
        assert!(!path("a/bc").is_within(&path("a/b")));
        assert!(!path("a").is_within(&path("a/b")));
    }

    proptest! {
        /// The seeds' third property: category and name survive the way into a URI and back.
        #[test]
        fn a_path_survives_its_uri(names in proptest::collection::vec("\\PC{1,12}", 1..6)) {
            if let Some(path) = SkillPath::from_names(names.iter().map(String::as_str)) {
                prop_assert_eq!(SkillPath::parse(&path.uri()), Ok(path));
            }
        }

        #[test]
        fn no_uri_gives_a_path_that_climbs(uri in "skill://([a-c./\\\\%]|%2e|%2f|%5c|%00){0,40}") {
            if let Ok(path) = SkillPath::parse(&uri) {
                prop_assert!(path.names().all(is_name), "{:?}", path);
            }
        }
    }
}
