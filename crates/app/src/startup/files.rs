//! Which files are read, and what is said of them.

use std::path::PathBuf;

use toolgate_config::discover::{self, Search};
use toolgate_config::{Loaded, Overrides, Request, ServerOverride};

use crate::cli::StartArgs;

/// Loads what the flags name, or what is found in the usual places.
pub(crate) fn load(args: &StartArgs) -> Loaded {
    let environment = |name: &str| std::env::var(name).ok();
    let overrides = overrides(args);
    let paths = if args.config.is_empty() && overrides.servers.is_empty() {
        let workspace = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
        discover::find(&Search { argument: None, workspace, environment: &environment }).into_iter().collect()
    } else {
        args.config.clone()
    };
    toolgate_config::load(&Request { paths, overrides, strict: args.strict, environment: &environment })
}

/// Logs what is wrong and what was left out. False where the configuration should not be used.
pub(crate) fn report(loaded: &Loaded) -> bool {
    for warning in &loaded.warnings {
        tracing::warn!(problem = %warning, "configuration");
    }
    for (server, reason) in &loaded.disabled {
        tracing::warn!(server, reason, "the server is disabled");
    }
    for problem in &loaded.problems {
        tracing::error!(problem = %problem, "configuration");
    }
    loaded.problems.is_empty()
}

/// Where state is kept unless the configuration says otherwise.
pub(crate) fn usual_state_dir() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local").join("state")))?;
    Some(base.join("toolgate"))
}

fn overrides(args: &StartArgs) -> Overrides {
    let servers = args
        .server
        .iter()
        .map(|(name, target)| ServerOverride { name: name.clone(), target: target.clone() });
    Overrides {
        transport: args.transport.map(|transport| transport.word().to_owned()),
        host: args.host.clone(),
        port: args.port,
        names: args.names.map(|names| names.word().to_owned()),
        skills_dir: args.skills_dir.clone(),
        state_dir: args.state_dir.clone(),
        log_level: args.log_level.clone(),
        log_format: args.log_format.clone(),
        servers: servers.collect(),
        set: args.set.clone(),
    }
}
