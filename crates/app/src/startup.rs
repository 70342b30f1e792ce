//! From a configuration to a running gateway.

pub(crate) mod admin;
pub(crate) mod bindings;
pub(crate) mod callers;
pub(crate) mod desired;
pub(crate) mod files;
mod fresh_keys;
pub(crate) mod gate;
pub(crate) mod key;
pub(crate) mod python_files;
pub(crate) mod rules;
pub(crate) mod skills;
pub(crate) mod tls;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolgate_bindings::Courier;
use toolgate_client::Nursery;
use toolgate_config::{Config, CorsConfig};
use toolgate_gateway::downstream::cors::Cors;
use toolgate_gateway::downstream::origin::Origins;
use toolgate_gateway::results::Limits;
use toolgate_gateway::seal::{Seal, SealError};
use toolgate_gateway::{Desired, Gateway, Settings};

use bindings::Bindings;

/// How long the first clients wait for servers that are starting.
const START_PATIENCE: Duration = Duration::from_secs(20);

/// A gateway, and what in this process follows its configuration.
#[derive(Debug)]
pub(crate) struct Running {
    /// The gateway.
    pub(crate) gateway: Arc<Gateway>,
    /// The server of skills, which stays as it was at the start.
    skills: Option<Desired>,
    bindings: Bindings,
    /// The bounds of all child processes, which stay as they were at the start.
    nursery: Nursery,
}

/// Why there is no gateway.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("cannot listen on {address}: {cause}; choose another with --port or listen.port")]
    Listen { address: String, cause: std::io::Error },
    #[error("cannot listen on {address} for operators: {cause}; choose another with admin.listen")]
    AdminListen { address: String, cause: std::io::Error },
    #[error("the threads that serve clients cannot be started: {0}")]
    Threads(std::io::Error),
    #[error("the key of sessions in {} cannot be used: {cause}", path.display())]
    Key { path: PathBuf, cause: std::io::Error },
    #[error("the keys of token issuers in {} cannot be used: {cause}", path.display())]
    Jwks { path: PathBuf, cause: String },
    #[error("the operators' token is not there: {0}")]
    Token(String),
    #[error(transparent)]
    Keys(#[from] toolgate_identity::KeyFileError),
    #[error(transparent)]
    Ledger(#[from] toolgate_ledger::OpenError),
    #[error(transparent)]
    Redaction(#[from] toolgate_ledger::redact::RuleError),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error(transparent)]
    Tls(#[from] tls::TlsError),
    #[error("listen.cors: {0}; methods and headers must be names")]
    Cors(#[from] http::header::InvalidHeaderValue),
}

/// A gateway as the configuration wants it, which remembers in `state_dir`, or nothing without one.
pub(crate) fn start(config: &Config, state_dir: Option<PathBuf>) -> Result<Running, StartError> {
    let listen = &config.listen;
    let key = match (&listen.session_key, &state_dir) {
        (Some(text), _) => Seal::key_of(text.expose()),
        (None, Some(folder)) => key::kept(folder)?,
        (None, None) => Seal::new_key()?,
    };
    let loopback = listen.host == "localhost"
        || listen.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
    let origins = listen.allowed_origins.iter().chain(&listen.cors.allowed_origins).cloned().collect();
    let gate = gate::open(config, state_dir.as_deref())?;
    let authenticator = callers::authenticator(config, state_dir.as_deref())?;
    let settings = Settings {
        origins: Origins {
            loopback_only: loopback || !listen.allowed_hosts.is_empty(),
            hosts: listen.allowed_hosts.clone(),
            origins,
        },
        cors: listen.cors.enabled.then(|| cors(&listen.cors)).transpose()?,
        max_body_bytes: listen.max_body_bytes,
        max_sessions: config.runtime.max_sessions,
        max_concurrency: config.runtime.max_concurrency,
        progress_after: config.runtime.progress_after,
        lists_trusted_for: config.runtime.tools_cache_ttl,
        start_patience: START_PATIENCE,
        skills_of_tools: config.skills.links.clone(),
        state_dir,
        results: Limits {
            max_bytes: config.results.max_bytes as u64,
            max_count: config.results.max_count,
            keep_for: config.results.keep_for,
        },
        key,
    };
    let gateway = Gateway::start(settings, gate)?;
    gateway.door.store(Arc::new(Box::new(callers::door(&gateway, config, authenticator))));
    let courier = Courier::new(bindings::egress(&config.egress));
    let (skills, tools) = skills::begin(&gateway, &config.skills, &courier).unzip();
    let mut bindings = Bindings::new(courier, tools);
    bindings.apply(&gateway, config);
    let nursery = Nursery::new(config.runtime.max_children, config.runtime.max_cold_starts);
    let running = Running { gateway, skills, bindings, nursery };
    apply_servers(&running, config);
    Ok(running)
}

/// What pages in browsers are told.
fn cors(cors: &CorsConfig) -> Result<Cors, StartError> {
    Ok(Cors::new(&cors.allowed_methods, &cors.allowed_headers, cors.max_age)?)
}

/// Puts a new configuration into effect, as far as it can change while the gateway runs. Everything that can fail comes
/// first, so that a failure changes nothing; the rules come before the servers, so that nothing new is seen without them.
pub(crate) fn apply(running: &mut Running, config: &Config) -> Result<(), StartError> {
    let gateway = &running.gateway;
    let authenticator = callers::authenticator(config, gateway.settings.state_dir.as_deref())?;
    let annex = admin::annex(gateway, config)?;
    gateway.door.store(Arc::new(Box::new(callers::door(gateway, config, authenticator))));
    gateway.annex.store(annex);
    gate::replace_policy(gateway, config);
    running.bindings.apply(gateway, config);
    apply_servers(running, config);
    Ok(())
}

/// Makes the servers those of a configuration, with their files as they are now.
pub(crate) fn apply_servers(running: &Running, config: &Config) {
    let mut servers = desired::servers(config, &running.nursery);
    servers.extend(running.skills.clone());
    servers.extend(running.bindings.servers(config));
    running.gateway.apply(distinct(servers), desired::naming(config));
}

/// Of servers with the same name the first counts: those of the operator's list come before those in this process.
fn distinct(servers: Vec<Desired>) -> Vec<Desired> {
    let mut names = BTreeSet::new();
    let mut servers = servers;
    servers.retain(|server| {
        let is_new = names.insert(Arc::clone(&server.spec.name));
        if !is_new {
            tracing::error!(name = %server.spec.name, "two servers have this name; the second is left out");
        }
        is_new
    });
    servers
}
