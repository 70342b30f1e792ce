//! From a record of the configuration to what is needed to reach its server.

use std::collections::BTreeMap;

use toolgate_config::{EraChoice, RuntimeConfig, Secret, ServerConfig, StartMode};
use toolgate_protocol::Era;

use crate::child::nursery::Nursery;
use crate::spec::{ServerSpec, Transport};

/// How many calls may wait for one place at a server.
const WAITING_PER_PLACE: usize = 16;

/// How a server is reached, if it is a program as one of the children in `nursery`. Nothing where the record lacks what its
/// transport needs; loading has said so already.
pub fn server_spec(
    name: &str,
    server: &ServerConfig,
    runtime: &RuntimeConfig,
    nursery: &Nursery,
) -> Option<ServerSpec> {
    Some(ServerSpec {
        name: name.into(),
        transport: transport(server)?,
        era: match server.era {
            EraChoice::Auto => None,
            EraChoice::Legacy => Some(Era::Legacy),
            EraChoice::Modern => Some(Era::Modern),
        },
        on_demand: server.start == StartMode::OnDemand,
        idle_stop: server.idle_stop,
        call_timeout: server.call_timeout,
        longest_tool_timeout: server.tool_timeouts.values().max().copied(),
        health_interval: Some(runtime.health_check_interval).filter(|interval| !interval.is_zero()),
        connect_timeout: server.connect_timeout,
        max_concurrency: server.max_concurrency,
        max_waiting: server.max_concurrency.saturating_mul(WAITING_PER_PLACE),
        max_message_bytes: server.max_message_bytes,
        processes: server.processes,
        nursery: nursery.clone(),
    })
}

fn transport(server: &ServerConfig) -> Option<Transport> {
    match server.transport {
        toolgate_config::Transport::Stdio => Some(Transport::Stdio {
            command: server.command.clone()?,
            args: server.args.clone(),
            env: exposed(&server.env),
            cwd: server.cwd.clone(),
        }),
        toolgate_config::Transport::Http => {
            Some(Transport::Http { url: server.url.clone()?, headers: headers(server) })
        }
        toolgate_config::Transport::Sse => {
            Some(Transport::Sse { url: server.url.clone()?, headers: headers(server) })
        }
    }
}

fn headers(server: &ServerConfig) -> BTreeMap<String, String> {
    let mut headers = exposed(&server.headers);
    if let Some(credential) = &server.credential
        && !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"))
    {
        headers.insert("Authorization".into(), format!("Bearer {}", credential.expose()));
    }
    headers
}

fn exposed(secrets: &BTreeMap<String, Secret>) -> BTreeMap<String, String> {
    secrets.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect()
}
