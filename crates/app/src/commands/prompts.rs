//! `toolgate prompts …`

mod get;
mod list;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

/// Look at prompts and get them.
#[derive(Debug, Subcommand)]
pub(crate) enum PromptsCommand {
    /// List the prompts of all servers
    List(list::ListArgs),
    /// Print a prompt, filled in with arguments
    Get(get::GetArgs),
}

/// Runs a command of the group.
pub(crate) fn run(command: &PromptsCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        PromptsCommand::List(args) => list::run(args, output),
        PromptsCommand::Get(args) => get::run(args, output),
    }
}
