//! The token that operators show.

use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use ring::digest::{SHA256, digest};

/// The token that operators show. Only its hash is kept, and that prints as `***`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    hash: [u8; 32],
}

impl Token {
    /// The token in a text, without the white space around it; nothing where there is none.
    pub fn new(text: &str) -> Option<Token> {
        let text = text.trim();
        (!text.is_empty()).then(|| Token { hash: hash(text.as_bytes()) })
    }

    /// Whether a request shows it, as `Authorization: Bearer TOKEN`.
    pub fn is_shown_in(&self, headers: &HeaderMap) -> bool {
        headers.get(AUTHORIZATION).and_then(|value| bearer(value.as_bytes())).is_some_and(|shown| {
            // Hashes have one length and are compared to their ends, so the time it takes says nothing of the token.
            let difference = hash(shown)
                .iter()
                .zip(&self.hash)
                .fold(0, |difference, (one, other)| difference | (one ^ other));
            std::hint::black_box(difference) == 0
        })
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = value.split_at_checked("Bearer ".len())?;
    scheme.eq_ignore_ascii_case(b"Bearer ").then(|| token.trim_ascii())
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_the_token_itself_opens() {
        let token = Token::new(" open sesame\n").unwrap();
        let check = |shown: Option<&'static str>, expected: bool| {
            let mut headers = HeaderMap::new();
            if let Some(shown) = shown {
                headers.insert(AUTHORIZATION, HeaderValue::from_static(shown));
            }
            assert_eq!(token.is_shown_in(&headers), expected, "{shown:?}");
        };
        check(Some("Bearer open sesame"), true);
        check(Some("bearer  open sesame"), true);
        check(Some("Basic open sesame"), false);
        check(Some("Bearer open sesam"), false);
        check(Some("Bearer open sesame!"), false);
        check(Some("Bearer "), false);
        check(Some("Bear"), false);
        check(None, false);
        assert_eq!(Token::new(" \n"), None);
        assert_eq!(format!("{token:?}"), "***");
    }
}
