//! `toolgate reload`: the running gateway reads its configuration again.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::cli::ConfigArgs;
use crate::connection::{self, block_on};
use crate::failure::Failure;
use crate::output::Output;
use crate::startup::files;

const AFTER_HELP: &str = "\
A configuration that is not valid changes nothing: the command says why and exits with 2.";

/// Which gateway is meant.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ReloadArgs {
    /// Only say what would change
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Asks for a reload.
pub(crate) fn run(args: &ReloadArgs, output: &Output) -> Result<ExitCode, Failure> {
    // The gateway says what is wrong with the files; here they only tell where its socket is.
    let loaded = files::load(&args.config, args.config.overrides());
    let difference = block_on(async {
        let Some((mut client, _)) = connection::running(&args.config, &loaded).await else {
            return Err(Failure::not_found("no gateway is running with this configuration").help(
                "start one with `toolgate start`; --state-dir names the folder of one that runs elsewhere",
            ));
        };
        client.reload(args.dry_run).await.map_err(|error| Failure::invalid(error.to_string()))
    })?;
    if output.json {
        output.value(&difference);
    } else {
        tell(&difference, output);
    }
    Ok(ExitCode::SUCCESS)
}

fn tell(difference: &Value, output: &Output) {
    let mut quiet = true;
    let groups = [
        ("added", "added"),
        ("removed", "removed"),
        ("changed", "changed"),
        ("settings", "now in effect"),
        ("needs_restart", "in effect after a restart"),
        ("kept", "kept as they were, because they cannot be read"),
    ];
    for (key, words) in groups {
        let names: Vec<&str> = match difference.get(key) {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            Some(Value::Object(members)) => members.keys().map(String::as_str).collect(),
            _ => Vec::new(),
        };
        if !names.is_empty() {
            quiet = false;
            output.line(&format!("{words}: {}", names.join(", ")));
        }
    }
    if quiet {
        output.line("nothing has changed");
    }
}
