//! From a configuration to a running gateway.

pub(crate) mod desired;
pub(crate) mod files;
pub(crate) mod key;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolgate_config::{Config, NameStyle};
use toolgate_gateway::catalog::Naming;
use toolgate_gateway::downstream::origin::Origins;
use toolgate_gateway::seal::SealError;
use toolgate_gateway::{Gateway, Settings};

/// How long the first clients wait for servers that are starting.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// Why there is no gateway.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("cannot listen on {address}: {cause}; choose another with --port or listen.port")]
    Listen { address: String, cause: std::io::Error },
    #[error("the key of sessions in {} cannot be used: {cause}", path.display())]
    Key { path: PathBuf, cause: std::io::Error },
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// A gateway as the configuration wants it, which remembers in `state_dir`, or nothing without one.
pub(crate) fn start(config: &Config, state_dir: Option<PathBuf>) -> Result<Arc<Gateway>, StartError> {
    let key = match &state_dir {
        Some(folder) => key::kept(folder)?,
        None => toolgate_gateway::seal::Seal::new_key()?,
    };
    let listen = &config.listen;
    let loopback = listen.host == "localhost"
        || listen.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let origins = listen.allowed_origins.iter().chain(&listen.cors.allowed_origins).cloned().collect();
    let gateway = Gateway::start(Settings {
        origins: Origins {
            loopback_only: loopback || !listen.allowed_hosts.is_empty(),
            hosts: listen.allowed_hosts.clone(),
            origins,
        },
        naming: match config.names {
            NameStyle::Prefixed => Naming::Prefixed,
            NameStyle::Plain => Naming::Plain,
            NameStyle::Mcp => Naming::Mcp,
        },
        max_body_bytes: listen.max_body_bytes,
        max_sessions: config.runtime.max_sessions,
        start_patience: START_PATIENCE,
        state_dir,
        key,
    })?;
    apply(&gateway, config);
    Ok(gateway)
}

/// Puts into effect what can change while the gateway runs: at the start, and at each reload.
pub(crate) fn apply(gateway: &Arc<Gateway>, config: &Config) {
    gateway.apply(desired::servers(config));
}
