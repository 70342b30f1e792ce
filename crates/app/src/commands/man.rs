//! `toolgate man`: a manual page for every command.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory};
use serde_json::json;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Output;

/// Where to.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  toolgate man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder; it is made where there is none
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes the pages.
pub(crate) fn run(args: &ManArgs, output: &Output) -> Result<ExitCode, Failure> {
    let folder = args.folder.display();
    std::fs::create_dir_all(&args.folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.folder))
        .map_err(|error| Failure::failed(format!("the pages cannot be written into {folder}: {error}")))?;
    if output.json {
        output.value(&json!({"folder": args.folder}));
    } else {
        output.line(&format!("written into {folder}"));
    }
    Ok(ExitCode::SUCCESS)
}
