//! `toolgate servers remove`: a server less in the configuration file, everything else in it as it was.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use toolgate_config::write::edit::{self, EditError};

use super::file;
use crate::cli::ConfigArgs;
use crate::failure::Failure;
use crate::output::Output;

/// The server.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolgate servers remove github")]
pub(crate) struct RemoveArgs {
    /// Its name
    name: String,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Removes a server.
pub(super) fn run(args: &RemoveArgs, output: &Output) -> Result<ExitCode, Failure> {
    let (path, text) = file::editable(&args.config)?;
    let changed = edit::remove_server(&text, &args.name).map_err(|error| {
        let message = format!("{}: {error}", path.display());
        match error {
            EditError::Absent(_) => {
                Failure::not_found(message).help("`toolgate servers list` lists the servers")
            }
            _ => Failure::failed(message),
        }
    })?;
    file::replace(&path, &changed)?;
    if output.json {
        output.value(&json!({"file": path, "removed": args.name}));
    } else {
        output.line(&format!("removed {} from {}", args.name, path.display()));
    }
    Ok(ExitCode::SUCCESS)
}
