//! `toolgate config schema`: the JSON Schema of the native file, for editors.

use std::process::ExitCode;

use clap::Args;

use crate::output::Output;

const AFTER_HELP: &str = "\
Example:
  toolgate config schema > toolgate.schema.json
  # and as the first line of toolgate.yaml:
  # yaml-language-server: $schema=toolgate.schema.json";

/// Nothing to choose.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SchemaArgs {}

/// Prints the schema.
pub(super) fn run(_: &SchemaArgs, output: &Output) -> ExitCode {
    output.raw(toolgate_config::schema::json_schema_text().as_bytes());
    ExitCode::SUCCESS
}
