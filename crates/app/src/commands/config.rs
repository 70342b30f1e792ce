//! `toolgate config …`

mod schema;
mod show;
mod validate;

use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;
use crate::output::Output;

/// Check and look at the configuration.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Say everything that is wrong with the configuration, and where
    Validate(validate::ValidateArgs),
    /// Show the values in effect and where each came from, secrets masked
    Show(show::ShowArgs),
    /// Print the JSON Schema of toolgate.yaml
    Schema(schema::SchemaArgs),
}

/// Runs a command of the group.
pub(crate) fn run(command: &ConfigCommand, output: &Output) -> Result<ExitCode, Failure> {
    match command {
        ConfigCommand::Validate(args) => Ok(validate::run(args, output)),
        ConfigCommand::Show(args) => show::run(args, output),
        ConfigCommand::Schema(args) => Ok(schema::run(args, output)),
    }
}
