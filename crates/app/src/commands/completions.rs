//! `toolgate completions`: what a shell needs to complete our command line.

use std::process::ExitCode;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::cli::Cli;
use crate::failure::Failure;
use crate::output::Output;

const AFTER_HELP: &str = "\
Examples:
  toolgate completions bash > ~/.local/share/bash-completion/completions/toolgate
  toolgate completions zsh > \"${fpath[1]}/_toolgate\"
  toolgate completions fish > ~/.config/fish/completions/toolgate.fish";

/// For which shell.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the completions.
pub(crate) fn run(args: &CompletionsArgs, output: &Output) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "toolgate", &mut script);
    output.raw(&script);
    Ok(ExitCode::SUCCESS)
}
