//! `toolgate config validate`: everything that is wrong, each with its place and what would be right.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;

use crate::cli::ConfigArgs;
use crate::output::{Output, Paint};
use crate::startup::bindings::check;
use crate::startup::files;

const AFTER_HELP: &str = "\
Examples:
  toolgate config validate
  toolgate config validate --config servers.d --strict
  toolgate config validate --json | jq '.problems[].what'

Exits with 0 if the configuration can be used, with 2 if not.";

/// Which configuration is checked.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ValidateArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

/// Checks a configuration.
pub(super) fn run(args: &ValidateArgs, output: &Output) -> ExitCode {
    let paths = files::paths(&args.config);
    let mut loaded = files::load(&args.config, args.config.overrides());
    check::tools(&mut loaded);
    let valid = loaded.problems.is_empty();
    if output.json {
        output.value(&json!({
            "valid": valid,
            "files": paths,
            "servers": loaded.config.servers.keys().collect::<Vec<_>>(),
            "disabled": loaded.disabled,
            "problems": loaded.problems,
            "warnings": loaded.warnings,
        }));
    } else {
        for problem in &loaded.problems {
            output.line(&format!("{}: {problem}", output.painted("error", Paint::Bad)));
        }
        for warning in &loaded.warnings {
            output.line(&format!("{}: {warning}", output.painted("warning", Paint::Doubtful)));
        }
        if paths.is_empty() && loaded.config.servers.is_empty() {
            output.line("no configuration was found; `toolgate init` writes one");
        } else if valid {
            let count = loaded.config.servers.len();
            let servers = if count == 1 { "server" } else { "servers" };
            output.line(&format!("{}: {count} {servers}", output.painted("valid", Paint::Good)));
        } else {
            let count = loaded.problems.len();
            let problems = if count == 1 { "problem" } else { "problems" };
            output.line(&format!("{}: {count} {problems}", output.painted("not valid", Paint::Bad)));
        }
    }
    ExitCode::from(if valid { 0 } else { 2 })
}
