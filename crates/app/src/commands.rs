//! The commands, one file each.

mod start;

use std::process::ExitCode;

use crate::cli::{Cli, Command};

/// Runs a command.
pub(crate) fn run(cli: Cli) -> ExitCode {
    match cli.command {
        Command::Start(args) => start::run(&args),
    }
}
