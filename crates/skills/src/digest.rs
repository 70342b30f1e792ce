//! What a file's content is known by.

use std::fmt;

use ring::digest::{SHA256, SHA256_OUTPUT_LEN, digest};

/// The SHA-256 of a file's bytes, written `sha256:` and 64 hexadecimal digits, as the skills extension writes it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; SHA256_OUTPUT_LEN]);

impl Digest {
    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Digest {
        let mut sum = [0; SHA256_OUTPUT_LEN];
        sum.iter_mut().zip(digest(&SHA256, bytes).as_ref()).for_each(|(to, from)| *to = *from);
        Digest(sum)
    }

    /// The digest as an HTTP entity tag, with its quotes.
    pub fn etag(&self) -> String {
        format!("\"{self}\"")
    }

    /// Whether the value of an `If-None-Match` header names this content: a list of tags, weak ones too, or `*`.
    /// The bare digest counts as well, since that is what the entries of skills carry.
    pub fn is_among(&self, tags: &str) -> bool {
        let own = self.to_string();
        tags.split(',').map(str::trim).any(|tag| {
            let tag = tag.strip_prefix("W/").unwrap_or(tag);
            tag == "*" || tag.trim_matches('"') == own
        })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_written_as_the_extension_writes_it() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), empty);
        assert_eq!(Digest::of(b"").etag(), format!("\"{empty}\""));
    }

    #[test]
    fn tags_are_compared_as_http_does() {
        let digest = Digest::of(b"a");
        let check = |tags: String, expected: bool| assert_eq!(digest.is_among(&tags), expected, "{tags}");
        check(digest.etag(), true);
        check(digest.to_string(), true);
        check(format!("W/{}", digest.etag()), true);
        check(format!("\"other\", {}", digest.etag()), true);
        check("*".to_owned(), true);
        check("\"other\"".to_owned(), false);
        check(String::new(), false);
        check(Digest::of(b"b").etag(), false);
    }
}
