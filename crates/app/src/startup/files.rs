//! Which files are read, and what is said of them.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use toolgate_config::discover::{self, Search};
use toolgate_config::{Config, Loaded, Overrides, Request};

use super::{bindings, rules};
use crate::cli::ConfigArgs;
use crate::failure::Failure;

/// The files and folders that the flags name, or what is found in the usual places.
pub(crate) fn paths(args: &ConfigArgs) -> Vec<PathBuf> {
    if args.is_named() {
        return args.config.clone();
    }
    let workspace = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    discover::find(&Search { argument: None, workspace, environment: &variable }).into_iter().collect()
}

/// Loads what the flags name, or what is found in the usual places. `overrides` are all flags together.
pub(crate) fn load(args: &ConfigArgs, overrides: Overrides) -> Loaded {
    let request = Request { paths: paths(args), overrides, strict: args.strict, environment: &variable };
    let mut loaded = toolgate_config::load(&request);
    bindings::check::sections(&mut loaded);
    rules::check::rules(&mut loaded);
    loaded
}

/// Loads for a command that needs a configuration without problems.
pub(crate) fn load_sound(args: &ConfigArgs) -> Result<Loaded, Failure> {
    let loaded = load(args, args.overrides());
    require_sound(&loaded)?;
    Ok(loaded)
}

/// Fails where a configuration has problems, and tells them.
pub(crate) fn require_sound(loaded: &Loaded) -> Result<(), Failure> {
    if loaded.problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    Err(Failure::invalid(format!("the configuration is not valid\n{}", lines.join("\n")))
        .help("`toolgate config validate` shows this too, with warnings"))
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

/// Where state is kept.
pub(crate) fn state_dir(config: &Config) -> Option<PathBuf> {
    config.state_dir.clone().or_else(usual_state_dir)
}

/// Makes a state folder that only its owner can look into, where there is none.
pub(crate) fn make_state_dir(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// How variables are looked up.
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn usual_state_dir() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local").join("state")))?;
    Some(base.join("toolgate"))
}
