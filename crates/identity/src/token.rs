//! Bearer tokens (RFC 7519) of issuers the operator trusts.
//!
//! Nothing a token says is believed before its signature is checked, except which issuer to ask. The algorithm is chosen by what
//! the issuer's keys can do, not by the token alone.

mod claims;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;

use self::claims::Claims;
use crate::caller::{Caller, How};
use crate::denied::{Denied, Reason};
use crate::jwks::{Algorithm, Jwks, SignatureCheck};

/// The largest token that is looked at, in bytes.
const MAX_TOKEN_BYTES: usize = 16 * 1024;

/// The clocks of issuers may differ from ours by this many seconds.
const LEEWAY_SECONDS: u64 = 60;

/// Keys are fetched anew for an unknown signer at most this often, so that nobody can make us flood the issuer.
const REFRESH_PAUSE_SECONDS: u64 = 30;

/// An issuer as the operator describes it.
#[derive(Clone, Debug)]
pub struct IssuerSettings {
    /// The exact value of the `iss` claim.
    pub issuer: String,
    /// The values of the `aud` claim of which one must be there. With none, tokens for any audience are accepted.
    pub audiences: Vec<String>,
    /// The claim that names the caller; a path with dots reaches into objects.
    pub caller_claim: String,
    /// The claim that lists the groups, as an array or as words in one string.
    pub groups_claim: Option<String>,
}

/// An issuer and its keys.
#[derive(Debug)]
pub struct Issuer {
    settings: IssuerSettings,
    name: Arc<str>,
    keys: ArcSwap<Jwks>,
    next_refresh: AtomicU64,
}

/// A token taken apart, not yet believed.
pub(crate) struct Parts<'a> {
    header: Header,
    claims: Claims,
    signed: &'a [u8],
    signature: Vec<u8>,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
    #[serde(default)]
    crit: Option<serde_json::Value>,
}

impl IssuerSettings {
    /// An issuer whose tokens name the caller in `sub` and the groups in `groups`.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> IssuerSettings {
        IssuerSettings {
            issuer: issuer.into(),
            audiences: vec![audience.into()],
            caller_claim: "sub".to_owned(),
            groups_claim: Some("groups".to_owned()),
        }
    }
}

impl Issuer {
    /// An issuer without keys: every token is refused until [`Issuer::replace_keys`].
    pub fn new(settings: IssuerSettings) -> Issuer {
        let name = settings.issuer.as_str().into();
        Issuer { settings, name, keys: ArcSwap::default(), next_refresh: AtomicU64::new(0) }
    }

    /// The value of its `iss` claim.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Whether the keys should be fetched because a token was signed with one we do not have. Says yes to one asker only, and not
    /// again for a while.
    pub fn needs_refresh(&self, now: u64) -> bool {
        let due = |next: u64| (now >= next).then_some(now.saturating_add(REFRESH_PAUSE_SECONDS));
        self.next_refresh.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).is_ok()
    }

    pub(crate) fn replace_keys(&self, keys: Jwks) {
        self.keys.store(Arc::new(keys));
    }

    /// Checks everything: signature, times, audience, and that the token names a caller.
    pub(crate) fn verify(&self, parts: &Parts<'_>, now: u64) -> Result<Caller, Denied> {
        let Parts { header, claims, signed, signature } = parts;
        // An extension that must be understood is not: RFC 7515, 4.1.11.
        if header.crit.is_some() {
            return Err(Reason::UnacceptableToken.into());
        }
        let algorithm = Algorithm::from_name(&header.alg).ok_or(Reason::UnacceptableToken)?;
        match self.keys.load().check(header.kid.as_deref(), algorithm, signed, signature) {
            SignatureCheck::Valid => {}
            SignatureCheck::Wrong => return Err(Reason::BadSignature.into()),
            SignatureCheck::NoSuchKey => {
                let refresh = self.needs_refresh(now).then(|| Arc::clone(&self.name));
                return Err(Denied { reason: Reason::UnknownSigner, refresh });
            }
        }
        let valid_until = check_times(claims, now)?;
        let wanted = &self.settings.audiences;
        if !wanted.is_empty() && !claims.audiences().any(|audience| wanted.iter().any(|one| one == audience))
        {
            return Err(Reason::WrongAudience.into());
        }
        let id = claims.caller(&self.settings.caller_claim).ok_or(Reason::NoCaller)?;
        let groups = match &self.settings.groups_claim {
            Some(claim) => claims.groups(claim).ok_or(Reason::UnacceptableToken)?,
            None => Vec::new(),
        };
        let how = How::Token(Arc::clone(&self.name));
        let caller = Caller { id: id.into(), groups: Arc::default(), how, valid_until: Some(valid_until) };
        Ok(caller.in_groups(&groups))
    }
}

impl<'a> Parts<'a> {
    /// Takes a token apart without believing it.
    pub(crate) fn of(token: &'a [u8]) -> Result<Parts<'a>, Reason> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Reason::MalformedToken);
        }
        let mut dots = token.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(place, _)| place);
        let (Some(first), Some(second), None) = (dots.next(), dots.next(), dots.next()) else {
            return Err(Reason::MalformedToken);
        };
        let part = |range: std::ops::Range<usize>| token.get(range).ok_or(Reason::MalformedToken);
        let decoded = |part: &[u8]| URL_SAFE_NO_PAD.decode(part).map_err(|_| Reason::MalformedToken);
        let header = decoded(part(0..first)?)?;
        let claims = decoded(part(first + 1..second)?)?;
        Ok(Parts {
            header: serde_json::from_slice(&header).map_err(|_| Reason::MalformedToken)?,
            claims: Claims::parse(&claims).ok_or(Reason::MalformedToken)?,
            signed: part(0..second)?,
            signature: decoded(part(second + 1..token.len())?)?,
        })
    }

    /// The issuer that the token claims to be from.
    pub(crate) fn claimed_issuer(&self) -> Option<&str> {
        self.claims.text("iss")
    }
}

/// A token must end; until then, and from its beginning if it names one, it counts. Says when it ends.
fn check_times(claims: &Claims, now: u64) -> Result<u64, Reason> {
    let end = claims.seconds("exp")?.ok_or(Reason::MalformedToken)?.saturating_add(LEEWAY_SECONDS);
    if now >= end {
        return Err(Reason::ExpiredToken);
    }
    let latest_start = now.saturating_add(LEEWAY_SECONDS);
    for claim in ["nbf", "iat"] {
        if claims.seconds(claim)?.is_some_and(|start| start > latest_start) {
            return Err(Reason::EarlyToken);
        }
    }
    Ok(end)
}

#[cfg(test)]
mod tests;
