//! How callers are told apart, as the configuration wants it.

use std::collections::BTreeMap;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::HashMap;
use foldhash::fast::RandomState;
use http::header::AUTHORIZATION;
use http::{HeaderName, HeaderValue};
use toolgate_config::Config;
use toolgate_gateway::downstream::door::{Authenticate, Unknown};
use toolgate_gateway::downstream::headers::Headers;
use toolgate_gateway::{Gateway, Principal};
use toolgate_identity::{
    Anonymous, Authenticator, Caller, IssuerSettings, Jwks, KeyFile, Presented, Settings,
};

use crate::clock::seconds_since_1970;
use crate::startup::StartError;
use crate::startup::fresh_keys::{self, Upkeep};

static API_KEY: HeaderName = HeaderName::from_static("x-api-key");
static CLIENT_ID: HeaderName = HeaderName::from_static("x-mcp-client-id");

/// How many tables the callers are spread over.
const SHARDS: usize = 16;
/// How many callers are remembered in each. Beyond it all are forgotten, which costs only time.
const MAX_PER_SHARD: usize = 4096;

/// Recognises callers and remembers them, with what the rules have in store for them.
#[derive(Debug)]
pub(crate) struct Door {
    authenticator: Arc<Authenticator>,
    upkeep: Upkeep,
    known: BTreeMap<String, Vec<String>>,
    keys_file: Option<KeyFile>,
    principals: [Mutex<HashMap<Arc<str>, Arc<Principal>>>; SHARDS],
    /// Those who bring nothing but their address. What they are does not change while the door is there.
    by_address: [Mutex<HashMap<IpAddr, Arc<Principal>>>; SHARDS],
    hasher: RandomState,
}

/// What recognises callers, with the keys that are at hand.
pub(crate) fn authenticator(config: &Config, state_dir: Option<&Path>) -> Result<Authenticator, StartError> {
    let callers = &config.callers;
    let keys = match keys_file(config, state_dir) {
        Some(file) => file.load()?,
        None => toolgate_identity::Keys::new(&[]),
    };
    let issuers = callers.jwt.iter().map(|issuer| IssuerSettings {
        issuer: issuer.issuer.clone(),
        audiences: vec![issuer.audience.clone()],
        caller_claim: issuer.caller_claim.clone(),
        groups_claim: issuer.groups_claim.clone(),
    });
    let settings = Settings {
        anonymous: match callers.anonymous {
            None => Anonymous::FromLoopback,
            Some(toolgate_config::Anonymous::Allow) => Anonymous::Allow,
            Some(toolgate_config::Anonymous::Deny) => Anonymous::Deny,
        },
        trust_client_id_header: callers.trust_client_id_header,
        known: known(config),
        issuers: issuers.collect(),
    };
    let authenticator = Authenticator::new(settings, keys);
    for issuer in &callers.jwt {
        let Some(path) = &issuer.jwks_file else {
            // Keys from an address were remembered, so that a restart or reload refuses nobody while they are fetched.
            if let Some(keys) = fresh_keys::remembered(issuer, state_dir) {
                authenticator.replace_issuer_keys(&issuer.issuer, keys);
            }
            continue;
        };
        let failed = |cause: String| StartError::Jwks { path: path.clone(), cause };
        let bytes = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
        let keys = Jwks::parse(&bytes).map_err(|error| failed(error.to_string()))?;
        authenticator.replace_issuer_keys(&issuer.issuer, keys);
    }
    Ok(authenticator)
}

/// The door of a gateway. Its keys are kept fresh as long as it is there.
pub(crate) fn door(gateway: &Gateway, config: &Config, authenticator: Authenticator) -> Door {
    let authenticator = Arc::new(authenticator);
    let keys_file = keys_file(config, gateway.settings.state_dir.as_deref());
    Door {
        upkeep: Upkeep::begin(gateway, config, &authenticator, keys_file.clone()),
        authenticator,
        known: known(config),
        keys_file,
        principals: Default::default(),
        by_address: Default::default(),
        hasher: RandomState::default(),
    }
}

fn known(config: &Config) -> BTreeMap<String, Vec<String>> {
    config.callers.known.iter().map(|(name, known)| (name.clone(), known.groups.clone())).collect()
}

/// Where the hashes of API keys are.
pub(crate) fn keys_file(config: &Config, state_dir: Option<&Path>) -> Option<KeyFile> {
    let path = config.callers.keys_file.clone().or_else(|| Some(state_dir?.join("keys.json")))?;
    Some(KeyFile::at(path))
}

impl Door {
    fn remembered(&self, address: IpAddr) -> Option<Arc<Principal>> {
        self.addresses(address).get(&address).cloned()
    }

    fn remember(&self, address: IpAddr, principal: &Arc<Principal>) {
        let mut known = self.addresses(address);
        if known.len() >= MAX_PER_SHARD {
            known.clear();
        }
        known.insert(address, Arc::clone(principal));
    }

    fn addresses(&self, address: IpAddr) -> MutexGuard<'_, HashMap<IpAddr, Arc<Principal>>> {
        let shard = self.hasher.hash_one(address) as usize % SHARDS;
        self.by_address[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn principal(&self, caller: Caller) -> Arc<Principal> {
        let shard = self.hasher.hash_one(&caller.id) as usize % SHARDS;
        let mut known = self.principals[shard].lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(principal) = known.get(&caller.id)
            && principal.groups == caller.groups
        {
            return Arc::clone(principal);
        }
        if known.len() >= MAX_PER_SHARD {
            known.clear();
        }
        let principal = Arc::new(Principal::new(Arc::clone(&caller.id), caller.groups));
        known.insert(caller.id, Arc::clone(&principal));
        principal
    }
}

impl Authenticate for Door {
    fn authenticate(&self, headers: Headers<'_>, peer: IpAddr) -> Result<Arc<Principal>, Unknown> {
        let presented = Presented {
            authorization: headers.get(&AUTHORIZATION),
            api_key: headers.get(&API_KEY),
            client_id: headers.get(&CLIENT_ID),
            peer: Some(peer),
        };
        let only_address =
            presented.authorization.or(presented.api_key).or(presented.client_id).is_none().then_some(peer);
        if let Some(principal) = only_address.and_then(|address| self.remembered(address)) {
            return Ok(principal);
        }
        match self.authenticator.authenticate(&presented, seconds_since_1970()) {
            Ok(caller) => {
                let principal = self.principal(caller);
                if let Some(address) = only_address {
                    self.remember(address, &principal);
                }
                Ok(principal)
            }
            Err(denied) => {
                if let Some(issuer) = &denied.refresh {
                    self.upkeep.want(issuer);
                }
                let challenge = HeaderValue::from_str(&denied.challenge(None));
                Err(Unknown {
                    why: denied.to_string(),
                    challenge: challenge.unwrap_or(HeaderValue::from_static("Bearer")),
                })
            }
        }
    }

    fn groups_of(&self, caller: &str) -> Vec<String> {
        let mut groups = self.known.get(caller).cloned().unwrap_or_default();
        // A file that cannot be read gives nobody a key, so it gives nobody groups either.
        let keys = self.keys_file.as_ref().and_then(|file| file.list().ok()).unwrap_or_default();
        let now = seconds_since_1970();
        let valid = keys.into_iter().filter(|key| key.caller == caller && key.is_valid_at(now));
        groups.extend(valid.flat_map(|key| key.groups));
        groups.sort_unstable();
        groups.dedup();
        groups
    }
}
