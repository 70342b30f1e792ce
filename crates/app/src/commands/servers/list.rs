//! `toolgate servers list`: the servers of the configuration, and how the running gateway finds them.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use toolgate_config::Loaded;

use super::{target, transport_word};
use crate::cli::ConfigArgs;
use crate::connection::{self, block_on};
use crate::failure::Failure;
use crate::output::{Cell, Output, Paint};
use crate::startup::files;

const AFTER_HELP: &str = "\
The state is told by the running gateway; without one, `toolgate servers test` connects.

Example:
  toolgate servers list --json | jq -r '.servers[] | select(.state == \"down\") | .name'";

/// Which servers are listed.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ListArgs {
    /// List the well-known servers that `servers add` knows by name
    #[arg(long)]
    known: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Lists servers.
pub(super) fn run(args: &ListArgs, output: &Output) -> Result<ExitCode, Failure> {
    if args.known {
        list_known(output);
        return Ok(ExitCode::SUCCESS);
    }
    let loaded = files::load_sound(&args.config)?;
    let status = block_on(async {
        Ok(connection::running(&args.config, &loaded).await.map_or(Value::Null, |(_, status)| status))
    })?;
    let configured = loaded.config.servers.keys();
    let elsewhere = loaded.disabled.keys().filter(|name| !loaded.config.servers.contains_key(*name));
    let servers: Vec<Value> =
        configured.chain(elsewhere).map(|name| described(name, &loaded, &status)).collect();
    if output.json {
        output.value(&json!({"gateway": !status.is_null(), "servers": servers}));
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<Cell>> = servers.iter().map(row).collect();
    output.table(&["NAME", "STATE", "TRANSPORT", "TOOLS", "TARGET", "CAUSE"], &rows);
    Ok(ExitCode::SUCCESS)
}

/// A server as it is: as the running gateway sees it, which may have other variables than we have here.
fn described(name: &str, loaded: &Loaded, status: &Value) -> Value {
    let server = loaded.config.servers.get(name);
    let seen = seen(status, name);
    let told = |key: &str| seen.and_then(|seen| seen.get(key)).cloned().unwrap_or(Value::Null);
    let disabled = connection::disabled(loaded, Some(status));
    let (state, cause) = match (disabled.get(name), seen) {
        (Some(reason), _) => ("disabled".into(), reason.as_str().into()),
        (None, Some(_)) => (told("state"), told("cause")),
        (None, None) if server.is_some_and(|server| !server.enabled) => ("off".into(), Value::Null),
        (None, None) => ("unknown".into(), Value::Null),
    };
    json!({
        "name": name,
        "display_name": server.and_then(|server| server.display_name.as_deref()),
        "transport": server.map(transport_word),
        "target": server.map(target),
        "state": state,
        "cause": cause,
        "version": told("version"),
        "tools": told("tools"),
        "prompts": told("prompts"),
        "resources": told("resources"),
    })
}

fn seen<'a>(status: &'a Value, name: &str) -> Option<&'a Value> {
    let servers = status.get("servers")?.as_array()?;
    servers.iter().find(|server| server.get("name").and_then(Value::as_str) == Some(name))
}

/// A server as cells.
pub(super) fn row(server: &Value) -> Vec<Cell> {
    let text = |key: &str| match server.get(key) {
        Some(Value::String(text)) => text.clone(),
        None | Some(Value::Null) => "-".into(),
        Some(other) => other.to_string(),
    };
    let state = text("state");
    let paint = match state.as_str() {
        "ready" => Paint::Good,
        "down" | "disabled" => Paint::Bad,
        "degraded" | "draining" => Paint::Doubtful,
        _ => Paint::Plain,
    };
    let plain = |key| Cell(text(key), Paint::Plain);
    let name = match server.get("display_name").and_then(Value::as_str) {
        Some(for_people) => format!("{} ({for_people})", text("name")),
        None => text("name"),
    };
    vec![
        Cell(name, Paint::Plain),
        Cell(state, paint),
        plain("transport"),
        plain("tools"),
        plain("target"),
        plain("cause"),
    ]
}

fn list_known(output: &Output) {
    let catalogue = toolgate_config::well_known::CATALOGUE;
    if output.json {
        output.value(&json!({"known": catalogue}));
        return;
    }
    let rows: Vec<Vec<Cell>> = catalogue
        .iter()
        .map(|known| {
            let variables: Vec<&str> = known.variables.iter().map(|variable| variable.name).collect();
            let needs = [known.needs_arguments].into_iter().chain(variables).filter(|need| !need.is_empty());
            let needs = needs.collect::<Vec<_>>().join(", ");
            vec![known.name.into(), needs.into(), known.about.into()]
        })
        .collect();
    output.table(&["NAME", "NEEDS", "ABOUT"], &rows);
}
