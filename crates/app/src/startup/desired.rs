//! From the servers of a configuration to those that the gateway shall have.

use std::time::Duration;

use toolgate_client::Nursery;
use toolgate_client::manager::server_spec;
use toolgate_config::{Config, Isolation, LongOutput, NameStyle, ServerConfig};
use toolgate_gateway::Desired;
use toolgate_gateway::catalog::Naming;
use toolgate_governance::Pattern;

use super::python_files;

/// All servers that are switched on. Those that are programs are among the children of `nursery`.
pub(crate) fn servers(config: &Config, nursery: &Nursery) -> Vec<Desired> {
    let enabled = config.servers.iter().filter(|(_, server)| server.enabled);
    let desired = enabled.filter_map(|(name, server)| {
        let isolated = server.isolation == Isolation::Client;
        let mut spec = server_spec(name, server, &config.runtime, nursery)?;
        if isolated {
            // Each client has one to itself, and the one that lists needs no help.
            spec.processes = 1;
        }
        Some(Desired {
            spec,
            isolated,
            max_output_bytes: server.max_output_bytes,
            keeps_long_output: server.long_output == LongOutput::Spill,
            tool_timeouts: timeouts(server),
            trusts_prices: server.trust_prices,
            // Only handlers have sources.
            is_worker: server.sources.is_some(),
            namespace: server
                .tool_namespace
                .as_deref()
                .filter(|namespace| !namespace.is_empty())
                .map(Into::into),
            files: server.sources.as_ref().and_then(python_files::version),
        })
    });
    desired.collect()
}

/// How their tools are named.
pub(crate) fn naming(config: &Config) -> Naming {
    match config.names {
        NameStyle::Prefixed => Naming::Prefixed,
        NameStyle::Plain => Naming::Plain,
        NameStyle::Mcp => Naming::Mcp,
    }
}

/// The longest pattern first, because the first that fits decides. Patterns that cannot be read are left out: they would
/// fit nothing.
fn timeouts(server: &ServerConfig) -> Vec<(Pattern, Duration)> {
    let mut stated: Vec<_> = server.tool_timeouts.iter().collect();
    stated.sort_by_key(|(pattern, _)| std::cmp::Reverse(pattern.len()));
    stated
        .into_iter()
        .filter_map(|(pattern, timeout)| Some((Pattern::parse(pattern).ok()?, *timeout)))
        .collect()
}
