//! `toolgate servers test`: connect, and say what each server offers or why it does not answer.

use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::{Value, json};

use super::{target, transport_word};
use crate::cli::ConfigArgs;
use crate::connection::{Connection, Purpose, block_on};
use crate::failure::Failure;
use crate::logs;
use crate::output::{Cell, Output};
use crate::startup::files;

const AFTER_HELP: &str = "\
Examples:
  toolgate servers test              all servers of the configuration
  toolgate servers test github time

Exits with 3 if a server cannot be reached.";

/// Which servers.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct TestArgs {
    /// Their names; all where none is given
    #[arg(value_name = "NAME")]
    servers: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Connects to servers.
pub(super) fn run(args: &TestArgs, output: &Output) -> Result<ExitCode, Failure> {
    let mut loaded = files::load_sound(&args.config)?;
    logs::begin_quietly(args.config.log_level.as_deref(), &loaded.config.log);
    for name in &args.servers {
        if let Some(reason) = loaded.disabled.get(name) {
            return Err(Failure::not_found(format!("server '{name}' is disabled: {reason}")));
        }
        if !loaded.config.servers.contains_key(name) {
            return Err(Failure::not_found(format!("there is no server '{name}'"))
                .help("`toolgate servers list` lists the servers"));
        }
    }
    if !args.servers.is_empty() {
        loaded.config.servers.retain(|name, _| args.servers.contains(name));
        loaded.config.servers.values_mut().for_each(|server| server.enabled = true);
    }
    let began = Instant::now();
    let status = block_on(async {
        let mut connection = Connection::own(&loaded, Purpose::Look)?;
        let status = connection.status().await;
        connection.close().await;
        status
    })?;
    let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut servers: Vec<Value> =
        status.get("servers").and_then(Value::as_array).cloned().unwrap_or_default();
    for server in &mut servers {
        let name = server.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        if let (Some(members), Some(record)) = (server.as_object_mut(), loaded.config.servers.get(&name)) {
            members.insert("transport".into(), transport_word(record).into());
            members.insert("target".into(), target(record).into());
            members.remove("since_seconds");
        }
    }
    let is_ready = |server: &Value| server.get("state").and_then(Value::as_str) == Some("ready");
    let reached = servers.iter().all(is_ready);
    if output.json {
        output.value(&json!({"reached": reached, "milliseconds": milliseconds, "servers": servers}));
    } else {
        let rows: Vec<Vec<Cell>> = servers.iter().map(super::list::row).collect();
        output.table(&["NAME", "STATE", "TRANSPORT", "TOOLS", "TARGET", "CAUSE"], &rows);
    }
    Ok(ExitCode::from(if reached { 0 } else { 3 }))
}
