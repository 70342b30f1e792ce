//! `toolgate resources …`

mod list;
mod read;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

/// Look at resources and read them.
#[derive(Debug, Subcommand)]
pub(crate) enum ResourcesCommand {
    /// List the resources and resource templates of all servers
    List(list::ListArgs),
    /// Print a resource
    Read(read::ReadArgs),
}

/// Runs a command of the group.
pub(crate) fn run(command: &ResourcesCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        ResourcesCommand::List(args) => list::run(args, output),
        ResourcesCommand::Read(args) => read::run(args, output),
    }
}
