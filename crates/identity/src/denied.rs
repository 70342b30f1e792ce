//! Why nobody was recognised, in words that never repeat what was presented.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

/// A request whose caller was not recognised.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{reason}")]
pub struct Denied {
    /// What was wrong.
    pub reason: Reason,
    /// The issuer whose keys should be fetched before trying once more: the token was signed with a key we have not seen.
    pub refresh: Option<Arc<str>>,
}

/// What was wrong with the credentials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There are none, and anonymous callers are not allowed.
    Missing,
    /// The `Authorization` header is not `Bearer` with one token.
    NotBearer,
    /// Neither a key of ours nor a token of an issuer we know.
    Unrecognised,
    /// An API key that does not exist.
    UnknownKey,
    /// An API key that was revoked.
    RevokedKey,
    /// An API key whose time is over.
    ExpiredKey,
    /// A token that is not well formed or too large.
    MalformedToken,
    /// A token with an algorithm, a critical extension or a kind of key that is not accepted.
    UnacceptableToken,
    /// A token signed with a key that its issuer does not publish, as far as we know.
    UnknownSigner,
    /// A token whose signature is wrong.
    BadSignature,
    /// A token that is over.
    ExpiredToken,
    /// A token that is not valid yet.
    EarlyToken,
    /// A token for someone else.
    WrongAudience,
    /// A token that does not say who is calling.
    NoCaller,
    /// The claimed name is not one, or belongs to a caller that has a key.
    BadClaimedName,
}

impl Denied {
    /// The HTTP status that fits.
    pub fn status(&self) -> u16 {
        match self.reason {
            Reason::BadClaimedName => 403,
            _ => 401,
        }
    }

    /// The value of the `WWW-Authenticate` header. `resource_metadata` is the address of our protected resource metadata, if we
    /// have any.
    pub fn challenge(&self, resource_metadata: Option<&str>) -> String {
        let mut challenge = "Bearer realm=\"toolgate\"".to_owned();
        // RFC 6750, 3.1: a request without credentials gets no error code.
        if self.reason != Reason::Missing {
            let error = if self.reason == Reason::NotBearer { "invalid_request" } else { "invalid_token" };
            challenge.push_str(&format!(", error=\"{error}\", error_description=\"{}\"", self.reason));
        }
        let quotable = |address: &&str| {
            address.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
        };
        if let Some(address) = resource_metadata.filter(quotable) {
            challenge.push_str(&format!(", resource_metadata=\"{address}\""));
        }
        challenge
    }
}

impl fmt::Display for Reason {
    /// Plain ASCII without quotes, because it stands inside a quoted header parameter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Missing => "no credentials were sent; send an API key or a bearer token",
            Reason::NotBearer => "the Authorization header must be Bearer and one token",
            Reason::Unrecognised => {
                "the token is neither a key of this gateway nor a token of an issuer it knows"
            }
            Reason::UnknownKey => "the API key does not exist",
            Reason::RevokedKey => "the API key was revoked",
            Reason::ExpiredKey => "the API key has expired",
            Reason::MalformedToken => "the token is malformed",
            Reason::UnacceptableToken => "the token uses an algorithm or extension that is not accepted",
            Reason::UnknownSigner => "the token is signed with a key that its issuer does not publish",
            Reason::BadSignature => "the signature of the token is wrong",
            Reason::ExpiredToken => "the token has expired",
            Reason::EarlyToken => "the token is not valid yet",
            Reason::WrongAudience => "the token was issued for another audience",
            Reason::NoCaller => "the token does not say who is calling",
            Reason::BadClaimedName => "the claimed client id cannot be used",
        })
    }
}

impl From<Reason> for Denied {
    fn from(reason: Reason) -> Denied {
        Denied { reason, refresh: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_say_what_to_do() {
        for (reason, metadata, expected) in [
            (Reason::Missing, None, "Bearer realm=\"toolgate\""),
            (
                Reason::ExpiredToken,
                None,
                "Bearer realm=\"toolgate\", error=\"invalid_token\", error_description=\"the token has expired\"",
            ),
            (
                Reason::Missing,
                Some("https://gate.example/.well-known/oauth-protected-resource"),
                "Bearer realm=\"toolgate\", resource_metadata=\"https://gate.example/.well-known/oauth-protected-resource\"",
            ),
            (Reason::Missing, Some("x\"\r\ny"), "Bearer realm=\"toolgate\""),
        ] {
            assert_eq!(Denied::from(reason).challenge(metadata), expected);
        }
    }
}
