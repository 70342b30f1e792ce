//! `toolgate tools …`

mod call;
mod describe;
mod list;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

/// Look at tools and call them.
#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools of all servers
    List(list::ListArgs),
    /// Show a tool: what it does and which arguments it takes
    Describe(describe::DescribeArgs),
    /// Call a tool and print what it answers
    Call(call::CallArgs),
}

/// Runs a command of the group.
pub(crate) fn run(command: &ToolsCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        ToolsCommand::List(args) => list::run(args, output),
        ToolsCommand::Describe(args) => describe::run(args, output),
        ToolsCommand::Call(args) => call::run(args, output),
    }
}
