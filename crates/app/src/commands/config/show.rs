//! `toolgate config show`: the values in effect, and where each came from.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Value, json};
use toolgate_config::Origin;
use toolgate_config::show;

use crate::cli::ConfigArgs;
use crate::failure::Failure;
use crate::output::{Cell, Output};
use crate::startup::files;

const AFTER_HELP: &str = "\
Examples:
  toolgate config show              what somebody wrote: in files, variables and flags
  toolgate config show --all        defaults too
  toolgate config show listen       only what is below listen";

/// What is shown.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ShowArgs {
    /// Show only this value and those below it, such as servers.github
    #[arg(value_name = "PATH")]
    path: Option<String>,
    /// Show defaults too
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

/// Shows a configuration.
pub(super) fn run(args: &ShowArgs, output: &Output) -> Result<ExitCode, Failure> {
    let loaded = files::load_sound(&args.config)?;
    let mut settings = show::settings(&loaded);
    if let Some(path) = &args.path {
        settings.retain(|setting| is_below(&setting.path, path));
        if settings.is_empty() {
            return Err(Failure::not_found(format!("there is no value {path}"))
                .help("`toolgate config show --all` lists the values there are"));
        }
    } else if !args.all {
        settings.retain(|setting| setting.origin != Origin::Default);
    }
    if output.json {
        output.value(&json!({"settings": settings, "disabled": loaded.disabled}));
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Vec<Vec<Cell>> = settings
        .into_iter()
        .map(|setting| {
            let value = match setting.value {
                Value::String(text) => text,
                other => other.to_string(),
            };
            vec![setting.path.into(), value.into(), setting.origin.to_string().into()]
        })
        .collect();
    output.table(&["SETTING", "VALUE", "FROM"], &rows);
    for (server, reason) in &loaded.disabled {
        output.note(&format!("note: server '{server}' is disabled: {reason}"));
    }
    Ok(ExitCode::SUCCESS)
}

fn is_below(path: &str, wanted: &str) -> bool {
    path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_value_is_below_whole_names_only() {
        let check = |path, wanted, expected| assert_eq!(is_below(path, wanted), expected, "{path} {wanted}");
        check("listen.port", "listen", true);
        check("listen.port", "listen.port", true);
        check("quotas[0].limit", "quotas", true);
        check("listeners.port", "listen", false);
    }
}
