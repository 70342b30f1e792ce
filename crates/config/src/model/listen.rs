//! Section `listen`: where clients connect and which of them the browser rules let in.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::byte_size::{self, ByteSizeText};
use crate::duration::{self, DurationText};
use crate::secret::Secret;

/// Where clients connect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ListenConfig {
    /// `stdio` serves the one client that started the process, `http` serves many.
    pub transport: ListenTransport,
    /// Address to listen on. Anything but a loopback address is reachable by others.
    pub host: String,
    /// Port to listen on; 0 takes a free one.
    pub port: u16,
    /// Values of `Origin` that may connect besides local ones. Guards against web pages that call a local server.
    pub allowed_origins: Vec<String>,
    /// Values of `Host` that may connect besides local ones. Guards against DNS rebinding.
    pub allowed_hosts: Vec<String>,
    /// Cross-origin answers for web pages.
    pub cors: CorsConfig,
    /// Serve HTTPS with this certificate.
    pub tls: Option<TlsConfig>,
    /// At least 32 characters from which the key of sessions is made, as a reference: `${ENV:NAME}`, `${file:…}`. Gateways
    /// with the same one serve each other's sessions. Without it, a key is made at the first start and kept in `state_dir`.
    pub session_key: Option<Secret>,
    /// A request body larger than this is refused.
    #[serde(with = "byte_size::plain")]
    #[schemars(with = "ByteSizeText")]
    pub max_body_bytes: usize,
}

impl Default for ListenConfig {
    fn default() -> Self {
        Self {
            transport: ListenTransport::default(),
            host: "127.0.0.1".into(),
            port: 8080,
            allowed_origins: Vec::new(),
            allowed_hosts: Vec::new(),
            cors: CorsConfig::default(),
            tls: None,
            session_key: None,
            max_body_bytes: 10 << 20,
        }
    }
}

/// How clients reach the gateway.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ListenTransport {
    /// One client over standard input and output.
    #[default]
    Stdio,
    /// Many clients over HTTP.
    Http,
}

/// Cross-origin answers for web pages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CorsConfig {
    /// Whether cross-origin headers are sent at all.
    pub enabled: bool,
    /// Origins that may read answers; `*` means any.
    pub allowed_origins: Vec<String>,
    /// Methods a page may use.
    pub allowed_methods: Vec<String>,
    /// Request headers a page may send besides those of MCP.
    pub allowed_headers: Vec<String>,
    /// How long a browser may remember the answer to its preflight question.
    #[serde(with = "duration::plain")]
    #[schemars(with = "DurationText")]
    pub max_age: Duration,
}

impl Default for CorsConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            allowed_origins: Vec::new(),
            allowed_methods: ["GET", "POST", "DELETE", "OPTIONS"].map(String::from).to_vec(),
            allowed_headers: ["Content-Type", "Authorization", "X-MCP-Client-ID"].map(String::from).to_vec(),
            max_age: Duration::from_secs(3600),
        }
    }
}

/// The certificate for HTTPS, and optionally whose certificates clients must show.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// Certificate chain, PEM.
    pub cert_file: PathBuf,
    /// Private key, PEM.
    pub key_file: PathBuf,
    /// Authorities whose client certificates are accepted, PEM.
    #[serde(default)]
    pub client_ca_file: Option<PathBuf>,
    /// Refuse clients without a certificate from `client_ca_file`.
    #[serde(default)]
    pub verify_client: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_but_this_machine_reaches_a_gateway_of_which_nothing_is_said() {
        let listen = ListenConfig::default();
        assert_eq!((listen.host.as_str(), listen.port), ("127.0.0.1", 8080));
        assert_eq!(listen.transport, ListenTransport::Stdio);
    }
}
