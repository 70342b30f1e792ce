//! The public keys of an issuer (RFC 7517), ready to check signatures.
//!
//! Only keys whose signatures we could check are kept: symmetric keys and unknown kinds are left out, so a token can never choose
//! them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, EcdsaVerificationAlgorithm,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512,
    RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters,
    RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use thiserror::Error;

/// The largest document that is read, in bytes.
const MAX_DOCUMENT_BYTES: usize = 1024 * 1024;

/// The most keys of one issuer that are kept.
const MAX_KEYS: usize = 64;

/// A document that is not a set of keys.
#[derive(Debug, Error)]
pub enum JwksError {
    /// Too large.
    #[error("the key set has {0} bytes, at most {MAX_DOCUMENT_BYTES} are accepted")]
    TooLarge(usize),
    /// Not a set of keys.
    #[error("the document is not a JSON Web Key Set: {0}")]
    Syntax(#[from] serde_json::Error),
    /// No key in it can be used.
    #[error("the key set has no RSA, EC or Ed25519 key that can check signatures")]
    NoUsableKey,
}

/// The keys of an issuer.
#[derive(Clone, Debug, Default)]
pub struct Jwks {
    keys: Vec<Key>,
}

/// The algorithms a token may be signed with. `none` and those with a shared secret are not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Algorithm {
    RS256,
    RS384,
    RS512,
    PS256,
    PS384,
    PS512,
    ES256,
    ES384,
    EdDSA,
}

#[derive(Clone, Debug)]
struct Key {
    id: Option<String>,
    /// The algorithm the issuer wants this key to be used with.
    algorithm: Option<Algorithm>,
    public: PublicKey,
}

#[derive(Clone, Debug)]
enum PublicKey {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// What came of looking for a signature's key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SignatureCheck {
    Valid,
    Wrong,
    NoSuchKey,
}

#[derive(Deserialize)]
struct RawSet {
    keys: Vec<serde_json::Value>,
}

#[derive(Deserialize)]
struct RawKey {
    kty: String,
    kid: Option<String>,
    alg: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

impl Jwks {
    /// Reads a key set.
    pub fn parse(bytes: &[u8]) -> Result<Jwks, JwksError> {
        if bytes.len() > MAX_DOCUMENT_BYTES {
            return Err(JwksError::TooLarge(bytes.len()));
        }
        let raw: RawSet = serde_json::from_slice(bytes)?;
        // A key that we cannot read is the business of other readers of the set.
        let readable = raw.keys.into_iter().filter_map(|key| serde_json::from_value(key).ok());
        let keys: Vec<Key> = readable.filter_map(Key::from_raw).take(MAX_KEYS).collect();
        if keys.is_empty() { Err(JwksError::NoUsableKey) } else { Ok(Jwks { keys }) }
    }

    /// How many usable keys there are.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether no keys have been given yet.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Checks a signature with the key that the token names, or, if it names none, with every key of the right kind.
    pub(crate) fn check(
        &self,
        key_id: Option<&str>,
        algorithm: Algorithm,
        message: &[u8],
        signature: &[u8],
    ) -> SignatureCheck {
        let named = |key: &&Key| key_id.is_none() || key.id.as_deref() == key_id;
        let mut candidates = self.keys.iter().filter(named).filter(|key| key.fits(algorithm)).peekable();
        if candidates.peek().is_none() {
            return SignatureCheck::NoSuchKey;
        }
        if candidates.any(|key| key.public.verifies(algorithm, message, signature)) {
            SignatureCheck::Valid
        } else {
            SignatureCheck::Wrong
        }
    }
}

impl Key {
    fn from_raw(raw: RawKey) -> Option<Key> {
        if raw.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        let algorithm = match raw.alg.as_deref() {
            None => None,
            Some(name) => Some(Algorithm::from_name(name)?),
        };
        let bytes = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let coordinate = |text, length| bytes(text).filter(|bytes| bytes.len() == length);
        let point = |length| {
            let (x, y) = (coordinate(raw.x.clone(), length)?, coordinate(raw.y.clone(), length)?);
            Some([&[4][..], &x, &y].concat())
        };
        let public = match (raw.kty.as_str(), raw.crv.as_deref()) {
            ("RSA", _) => PublicKey::Rsa {
                modulus: without_leading_zeros(bytes(raw.n)?),
                exponent: without_leading_zeros(bytes(raw.e)?),
            },
            ("EC", Some("P-256")) => PublicKey::P256(point(32)?),
            ("EC", Some("P-384")) => PublicKey::P384(point(48)?),
            ("OKP", Some("Ed25519")) => PublicKey::Ed25519(coordinate(raw.x, 32)?),
            _ => return None,
        };
        Some(Key { id: raw.kid, algorithm, public })
    }

    fn fits(&self, algorithm: Algorithm) -> bool {
        let kind_fits = match self.public {
            PublicKey::Rsa { .. } => algorithm.rsa_parameters().is_some(),
            PublicKey::P256(_) => algorithm == Algorithm::ES256,
            PublicKey::P384(_) => algorithm == Algorithm::ES384,
            PublicKey::Ed25519(_) => algorithm == Algorithm::EdDSA,
        };
        kind_fits && self.algorithm.is_none_or(|wanted| wanted == algorithm)
    }
}

impl PublicKey {
    fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        let on_curve = |curve: &'static EcdsaVerificationAlgorithm, point: &[u8]| {
            UnparsedPublicKey::new(curve, point).verify(message, signature).is_ok()
        };
        match self {
            PublicKey::Rsa { modulus, exponent } => algorithm.rsa_parameters().is_some_and(|parameters| {
                let key = RsaPublicKeyComponents { n: modulus, e: exponent };
                key.verify(parameters, message, signature).is_ok()
            }),
            PublicKey::P256(point) => on_curve(&ECDSA_P256_SHA256_FIXED, point),
            PublicKey::P384(point) => on_curve(&ECDSA_P384_SHA384_FIXED, point),
            PublicKey::Ed25519(key) => {
                UnparsedPublicKey::new(&ED25519, key).verify(message, signature).is_ok()
            }
        }
    }
}

impl Algorithm {
    pub(crate) fn from_name(name: &str) -> Option<Algorithm> {
        Some(match name {
            "RS256" => Algorithm::RS256,
            "RS384" => Algorithm::RS384,
            "RS512" => Algorithm::RS512,
            "PS256" => Algorithm::PS256,
            "PS384" => Algorithm::PS384,
            "PS512" => Algorithm::PS512,
            "ES256" => Algorithm::ES256,
            "ES384" => Algorithm::ES384,
            "EdDSA" => Algorithm::EdDSA,
            _ => return None,
        })
    }

    fn rsa_parameters(self) -> Option<&'static RsaParameters> {
        match self {
            Algorithm::RS256 => Some(&RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Some(&RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Some(&RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Some(&RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Some(&RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Some(&RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 | Algorithm::ES384 | Algorithm::EdDSA => None,
        }
    }
}

/// Some issuers write a sign byte; the signature check refuses it.
fn without_leading_zeros(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_cannot_check_signatures_are_left_out() {
        let x = URL_SAFE_NO_PAD.encode([7; 32]);
        for (key, usable) in [
            (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"}}"#), true),
            (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","use":"enc"}}"#), false),
            (format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","alg":"HS256"}}"#), false),
            (format!(r#"{{"kty":"OKP","crv":"X25519","x":"{x}"}}"#), false),
            (r#"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#.to_owned(), false),
            (format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}","y":"{x}"}}"#), true),
            (format!(r#"{{"kty":"EC","crv":"P-256","x":"{x}"}}"#), false),
            (format!(r#"{{"kty":"EC","crv":"P-384","x":"{x}","y":"{x}"}}"#), false),
            (format!(r#"{{"kty":"oct","k":"{x}"}}"#), false),
            ("17".to_owned(), false),
        ] {
            let parsed = Jwks::parse(format!(r#"{{"keys":[{key}]}}"#).as_bytes());
            assert_eq!(parsed.is_ok(), usable, "{key}");
        }
        assert!(matches!(Jwks::parse(b"{}"), Err(JwksError::Syntax(_))));
        assert!(matches!(Jwks::parse(&vec![b' '; MAX_DOCUMENT_BYTES + 1]), Err(JwksError::TooLarge(_))));
    }
}
