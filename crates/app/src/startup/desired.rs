//! From the servers of a configuration to those that the gateway shall have.

use toolgate_client::manager::server_spec;
use toolgate_config::{Config, Isolation};
use toolgate_gateway::Desired;

/// All servers that are switched on.
pub(crate) fn servers(config: &Config) -> Vec<Desired> {
    let enabled = config.servers.iter().filter(|(_, server)| server.enabled);
    let desired = enabled.filter_map(|(name, server)| {
        Some(Desired {
            spec: server_spec(name, server)?,
            isolated: server.isolation == Isolation::Client,
            max_output_bytes: server.max_output_bytes,
        })
    });
    desired.collect()
}
