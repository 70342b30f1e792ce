//! From what a request presents to a [`Caller`].
//!
//! The first credential that is there decides: a bearer token, an API key, a claimed name, the address. One that is wrong ends the
//! matter; falling back to a weaker one would let a revoked caller carry on under another name.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;

use crate::caller::{Caller, How, is_name};
use crate::denied::{Denied, Reason};
use crate::jwks::Jwks;
use crate::keys::{ApiKey, Keys};
use crate::token::{Issuer, IssuerSettings, Parts};

/// What precedes claimed names where there are tokens, whose names nobody may claim.
const CLAIMED: &str = "claimed:";

/// Whether callers without credentials are let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Anonymous {
    /// Only from this machine.
    #[default]
    FromLoopback,
    /// From everywhere.
    Allow,
    /// From nowhere.
    Deny,
}

/// What the operator says about callers.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether callers without credentials are let in.
    pub anonymous: Anonymous,
    /// Whether such callers may name themselves with `X-MCP-Client-ID`.
    pub trust_client_id_header: bool,
    /// Groups of callers by name, added to those that keys and tokens state.
    pub known: BTreeMap<String, Vec<String>>,
    /// The issuers whose tokens are accepted.
    pub issuers: Vec<IssuerSettings>,
}

/// What a request presents.
#[derive(Clone, Copy, Default)]
pub struct Presented<'a> {
    /// The value of the `Authorization` header.
    pub authorization: Option<&'a [u8]>,
    /// The value of the `X-API-Key` header.
    pub api_key: Option<&'a [u8]>,
    /// The value of the `X-MCP-Client-ID` header.
    pub client_id: Option<&'a [u8]>,
    /// Where the request comes from.
    pub peer: Option<IpAddr>,
}

/// Recognises callers. Shared by all connections; keys are replaced under it while it works.
#[derive(Debug)]
pub struct Authenticator {
    anonymous: Anonymous,
    trust_client_id_header: bool,
    known: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    issuers: Vec<Issuer>,
    keys: ArcSwap<Keys>,
    revision: AtomicU64,
}

impl Authenticator {
    /// An authenticator with these keys. Issuers have none until [`Authenticator::replace_issuer_keys`].
    pub fn new(settings: Settings, keys: Keys) -> Authenticator {
        let shared = |names: Vec<String>| names.into_iter().map(Arc::from).collect();
        Authenticator {
            anonymous: settings.anonymous,
            trust_client_id_header: settings.trust_client_id_header,
            known: settings.known.into_iter().map(|(name, groups)| (name.into(), shared(groups))).collect(),
            issuers: settings.issuers.into_iter().map(Issuer::new).collect(),
            keys: ArcSwap::from_pointee(keys),
            revision: AtomicU64::new(1),
        }
    }

    /// Changes whenever a caller who was recognised might not be any more. A caller may be remembered, with what it presented, while
    /// this stays the same and [`Caller::valid_until`] has not come.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Puts other API keys in place.
    pub fn replace_keys(&self, keys: Keys) {
        self.keys.store(Arc::new(keys));
        self.revision.fetch_add(1, Ordering::Release);
    }

    /// Puts other keys of an issuer in place. Says whether the issuer is known.
    pub fn replace_issuer_keys(&self, issuer: &str, keys: Jwks) -> bool {
        let Some(known) = self.issuer(issuer) else { return false };
        known.replace_keys(keys);
        self.revision.fetch_add(1, Ordering::Release);
        true
    }

    /// The issuer with this `iss` claim.
    pub fn issuer(&self, name: &str) -> Option<&Issuer> {
        self.issuers.iter().find(|issuer| &**issuer.name() == name)
    }

    /// Recognises the caller. `now` is in seconds since 1970.
    pub fn authenticate(&self, presented: &Presented<'_>, now: u64) -> Result<Caller, Denied> {
        let caller = match (presented.authorization, presented.api_key) {
            (Some(authorization), _) => self.by_bearer(bearer_token(authorization)?, now)?,
            (None, Some(key)) => self.keys.load().look_up(key, now)?,
            (None, None) => self.without_credentials(presented)?,
        };
        // Groups belong to a caller that proved its name; a name that is merely claimed gets none.
        match (&caller.how, self.known.get(&caller.id)) {
            (How::ClaimedName, _) | (_, None) => Ok(caller),
            (_, Some(groups)) => Ok(caller.in_groups(groups)),
        }
    }

    fn by_bearer(&self, token: &[u8], now: u64) -> Result<Caller, Denied> {
        if ApiKey::is_one(token) {
            return Ok(self.keys.load().look_up(token, now)?);
        }
        if !token.contains(&b'.') {
            return Err(Reason::Unrecognised.into());
        }
        let parts = Parts::of(token)?;
        let issuer = parts.claimed_issuer().and_then(|name| self.issuer(name)).ok_or(Reason::Unrecognised)?;
        let caller = issuer.verify(&parts, now)?;
        if self.issuers.len() == 1 {
            return Ok(caller);
        }
        // Issuers give out names without asking each other, so with several of them a name alone says too little.
        Ok(Caller { id: format!("{}#{}", issuer.name(), caller.id).into(), ..caller })
    }

    fn without_credentials(&self, presented: &Presented<'_>) -> Result<Caller, Denied> {
        let peer = presented.peer.map(|address| address.to_canonical());
        let let_in = match self.anonymous {
            Anonymous::Allow => true,
            Anonymous::FromLoopback => peer.is_some_and(|address| address.is_loopback()),
            Anonymous::Deny => false,
        };
        if !let_in {
            return Err(Reason::Missing.into());
        }
        let nameless = |id: Arc<str>, how| Caller { id, groups: Arc::default(), how, valid_until: None };
        if let Some(claimed) = presented.client_id.filter(|_| self.trust_client_id_header) {
            return Ok(nameless(self.claimed_name(claimed)?, How::ClaimedName));
        }
        let address = peer.map_or_else(|| Arc::from("unknown-address"), |address| address.to_string().into());
        Ok(nameless(address, How::Address))
    }

    /// A name may be claimed unless it belongs to someone who can prove it, or stands for an address.
    fn claimed_name(&self, claimed: &[u8]) -> Result<Arc<str>, Reason> {
        let name = std::str::from_utf8(claimed).ok().filter(|name| is_name(name.as_bytes()));
        let name = name.ok_or(Reason::BadClaimedName)?;
        let is_taken = self.keys.load().has_caller(name)
            || self.known.contains_key(name)
            || name.parse::<IpAddr>().is_ok();
        match (is_taken, self.issuers.is_empty()) {
            (true, _) => Err(Reason::BadClaimedName),
            (false, true) => Ok(name.into()),
            // Nobody knows which names the tokens of tomorrow will have.
            (false, false) => Ok(format!("{CLAIMED}{name}").into()),
        }
    }
}

/// The token of `Bearer <token>`; the scheme is not case sensitive.
fn bearer_token(authorization: &[u8]) -> Result<&[u8], Reason> {
    let (scheme, token) = authorization.split_at_checked(7).ok_or(Reason::NotBearer)?;
    let token = token.trim_ascii();
    let one_word = !token.is_empty() && token.iter().all(u8::is_ascii_graphic);
    if scheme.eq_ignore_ascii_case(b"bearer ") && one_word { Ok(token) } else { Err(Reason::NotBearer) }
}

impl std::fmt::Debug for Presented<'_> {
    /// Credentials are left out.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Presented").field("peer", &self.peer).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
