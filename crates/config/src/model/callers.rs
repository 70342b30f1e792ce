//! Section `callers`: who may connect, and how a caller is recognised.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who may connect, and how callers are recognised.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CallersConfig {
    /// Whether a client without credentials may connect. Without it: yes from this machine, no from others.
    pub anonymous: Option<Anonymous>,
    /// Believe the caller's name in the header `X-MCP-Client-ID`. Only behind something that sets it.
    pub trust_client_id_header: bool,
    /// File with the hashes of API keys, kept by `toolgate keys`.
    pub keys_file: Option<PathBuf>,
    /// Issuers of JSON Web Tokens that are accepted.
    pub jwt: Vec<JwtIssuer>,
    /// Callers known by name, and the groups each belongs to.
    pub known: BTreeMap<String, KnownCaller>,
}

/// What happens to a client without credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Anonymous {
    /// It may connect. The caller is then its address, or what `X-MCP-Client-ID` says where that is believed.
    Allow,
    /// It is refused.
    Deny,
}

/// An issuer of JSON Web Tokens. Exactly one of `jwks_file` and `jwks_url` is needed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtIssuer {
    /// The claim `iss` must be exactly this.
    pub issuer: String,
    /// The claim `aud` must contain this.
    pub audience: String,
    /// File with the issuer's public keys.
    #[serde(default)]
    pub jwks_file: Option<PathBuf>,
    /// Address of the issuer's public keys.
    #[serde(default)]
    pub jwks_url: Option<String>,
    /// Claim that names the caller.
    #[serde(default = "default_caller_claim")]
    pub caller_claim: String,
    /// Claim that lists the caller's groups.
    #[serde(default)]
    pub groups_claim: Option<String>,
}

/// A caller known by name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct KnownCaller {
    /// Groups the caller belongs to.
    pub groups: Vec<String>,
}

fn default_caller_claim() -> String {
    "sub".into()
}
